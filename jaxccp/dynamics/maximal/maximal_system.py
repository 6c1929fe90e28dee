"""The problem of a step over the twists of all bodies."""

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.ccp.operators import BodyDelassus
from jaxccp.ccp.problem import Problem
from jaxccp.dynamics.contact.contact_units import ContactUnits
from jaxccp.dynamics.contact.impact import Action
from jaxccp.dynamics.inertia import InverseRoot, carry_spin, rotate_freely
from jaxccp.dynamics.maximal.equalities import Equalities
from jaxccp.dynamics.maximal.impact_time_rows import ImpactTimeEqualities
from jaxccp.dynamics.maximal.partition import Partition
from jaxccp.dynamics.outcome import Outcome
from jaxccp.dynamics.reaction import row_reactions
from jaxccp.dynamics.rows.row import Rows
from jaxccp.math import quaternion
from jaxccp.math.linear3 import cross
from jaxccp.model.kinematics.joint_motion import joint_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class MaximalSystem:
    """One step's problem in maximal coordinates, and how its solution acts on the bodies."""

    problem: Problem
    """The problem of the rows that are not eliminated; of all rows if none are."""
    r_without_impacts: Float[Array, " n"] | None
    """The problem's r without impacts [m/s]; None if no closed contact is simultaneous with an
    impact."""
    delassus: BodyDelassus
    """Delassus operator of the problem's rows, as if no rows were eliminated."""
    impulse_map: BodyDelassus
    """The same rows as a map from impulses to the bodies, which rotate until their time of impact.
    """
    equalities: Equalities | None
    """The eliminated rows at the start of the step; None if none are eliminated."""
    impact_equalities: ImpactTimeEqualities | None
    """The eliminated rows at the time of impact; None if no impulse acts late."""
    root: InverseRoot
    """L of the bodies at the start of the step."""
    free_velocity: Float[Array, "nb 6"]
    """Twists (linear, angular; world) without contacts and other remaining rows: V + h M⁻¹ f and
    the impulses of the eliminated rows, which they satisfy."""
    rows: Rows
    """All scalar rows."""
    free_impulses: Float[Array, " m"]
    """Multipliers of the eliminated rows at ``free_velocity``."""
    action: Action
    """When and where the contacts' impulses act."""
    units: ContactUnits
    """Conversion of the contacts' multipliers to world axes."""
    recovery: Float[Array, ""]
    """Largest speed at which this step undoes penetration [m/s]."""
    h: Float[Array, ""] | float
    """Length of the step [s]."""
    partition: Partition | None = field(metadata={"static": True})
    """Partition into eliminated and remaining rows; None if no rows are eliminated."""

    def after(self, lam: Float[Array, " n"]) -> Outcome:
        """Return velocities and impulses of the step for the multipliers ``lam`` of its problem."""
        scalars, blocks = self.problem.cones.split(lam)
        if self.action.late:
            early, lever_change = (
                at(self.problem, lam)
                for at in (self.action.weight_by_remaining_time, self.action.weight_by_lever_time)
            )
            changes, equality_impulses = jax.vmap(self._velocity_change)(
                jnp.stack([lam, early, lever_change])
            )
            change, transport_change, lever_change = changes
            equality_impulse = equality_impulses[0]
            transport_velocity = self.free_velocity + self.root.apply(transport_change)
            twist = self.free_velocity + self.root.apply(change)
            twist = twist + self._angular_correction(change, transport_change, lever_change)
        else:
            change, equality_impulse = self._velocity_change(lam)
            twist = transport_velocity = self.free_velocity + self.root.apply(change)
        if self.partition is not None:
            all_scalars = jnp.zeros(self.rows.bias.shape[0], lam.dtype)
            all_scalars = all_scalars.at[self.partition.eliminated].set(
                self.free_impulses + equality_impulse
            )
            scalars = all_scalars.at[self.partition.rest].set(scalars)
        return Outcome(twist, transport_velocity, scalars, self.units.to_world(blocks))

    def _angular_correction(
        self,
        change: Float[Array, "nb 6"],
        transport_change: Float[Array, "nb 6"],
        lever_change: Float[Array, "nb 6"],
    ) -> Float[Array, "nb 6"]:
        """Return the correction of the twists of bodies that are hit more than once in a step.

        Levers do not include the displacement of a body by an earlier impulse, nor the delay of a
        simultaneous contact. Orbital momentum therefore changes by h m (Δc × Δv + v × (Δc_lever −
        Δc)). Here v is the free velocity, Δv is the velocity that impulses add, Δc the part of Δv
        that moves the poses, and Δc_lever the same with the levers' delays. The angular velocity of
        the body compensates for it, unless a joint determines the angular velocity.
        """
        root = jnp.where(self.root.linear > 0, self.root.linear, 1.0)[:, None]
        free = self.free_velocity[:, :3] / root
        missing = self.h * (
            cross(change[:, :3], transport_change[:, :3])
            - cross(free, (lever_change - transport_change)[:, :3])
        )
        missing = missing.at[self.rows.bodies.reshape(-1)].set(0.0)
        return self.root.apply(self.root.transpose(jnp.pad(missing, ((0, 0), (3, 0)))))

    def _velocity_change(self, lam: Float[Array, " n"]) -> tuple[Array, Array]:
        """Return the whitened velocities that impulses add, and the multipliers of the eliminated
        rows."""
        change = self.impulse_map.impulse(lam)
        no_residual = jnp.zeros_like(self.free_impulses)
        if self.equalities is None or not lam.shape[0]:
            return change, no_residual
        if self.impact_equalities is None:
            return self.equalities.solve(change, no_residual)
        return self.impact_equalities.velocity_change(self.delassus.impulse(lam), change)

    def guess(self, scalars: Float[Array, " s"], world: Float[Array, "c w"]) -> Float[Array, " n"]:
        """Return the multipliers of the problem for given impulses, to start a solve.

        Args:
            scalars: impulses of all scalar rows.
            world: impulses of contacts in world axes: linear, then angular where contacts roll.
        """
        scalars_ = scalars if self.partition is None else scalars[self.partition.rest]
        return self.problem.cones.join(scalars_, self.units.to_local(world))

    def advance(self, model: Model, state: State, outcome: Outcome) -> State:
        """Return the state after the step; see :meth:`jaxccp.dynamics.system.System.advance`.

        Args:
            model: the model.
            state: the state before the step.
            outcome: velocities and impulses of the step.
        """
        twist, transport_velocity, h = outcome.twist, outcome.transport_velocity, self.h
        free = jnp.asarray(model.topology.free)[:, None]
        orientation = rotate_freely(
            model.bodies.inertia, state.quaternion, transport_velocity[:, 3:], h
        )
        orientation = jnp.where(free, orientation, state.quaternion)
        return replace(
            state,
            position=state.position + h * transport_velocity[:, :3],
            quaternion=orientation,
            velocity=twist[:, :3],
            angular_velocity=carry_spin(model, state.quaternion, orientation, twist[:, 3:]),
        )

    def displace(self, model: Model, state: State, outcome: Outcome) -> State:
        """Return the state with every body moved by its twist in an outcome for 1 s.

        Args:
            model: the model.
            state: the state before.
            outcome: displacements, as velocities [m/s, rad/s].
        """
        free = jnp.asarray(model.topology.free)[:, None]
        turned = quaternion.multiply(quaternion.exp(outcome.twist[:, 3:]), state.quaternion)
        return replace(
            state,
            position=state.position + outcome.twist[:, :3],
            quaternion=jnp.where(free, quaternion.normalize(turned), state.quaternion),
        )

    def close_joints(
        self, model: Model, state: State, outcome: Outcome, corrections: int
    ) -> Outcome:
        """Correct the velocities so that joints are closed and tendons have their length after the
        step; see :meth:`jaxccp.dynamics.system.System.close_joints`.

        Args:
            model: the model.
            state: the state before the step.
            outcome: velocities and impulses of the step.
            corrections: number of corrections.
        """
        if self.equalities is None or self.partition is None:
            return outcome
        equalities, tendons_ = self.equalities, model.topology.linkage.routing.bilateral
        rows = self.partition.eliminated
        lengths = model.tendons.bilateral_length(state.time + self.h)
        none = jnp.zeros_like(outcome.twist)

        def added_to_outcome(twist_change: Array, impulses: Array) -> Outcome:
            return replace(
                outcome,
                twist=outcome.twist + twist_change,
                transport_velocity=outcome.transport_velocity + twist_change,
                scalars=outcome.scalars.at[rows].add(impulses),
            )

        def correct(added: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
            motion = joint_motion(model, self.advance(model, state, added_to_outcome(*added)))
            tendons = motion.tendon.length[tendons_] - lengths[tendons_]
            rates = jnp.concatenate([motion.error, tendons]) / self.h
            padding = equalities.compliance.shape[0] - rates.shape[0]
            change, impulses = equalities.solve(none, jnp.pad(rates, (0, padding)))
            return (added[0] + self.root.apply(change), added[1] + impulses), None

        start = (none, jnp.zeros_like(equalities.compliance))
        return added_to_outcome(*lax.scan(correct, start, None, length=corrections)[0])

    def joint_reactions(
        self, model: Model, state: State, outcome: Outcome, wrench: Float[Array, "nb 6"]
    ) -> Float[Array, "nj 6"]:
        """Return the force [N] and torque [N m] of each joint on its second body, mean over a step,
        world axes.

        Args:
            model: the model.
            state: the state before the step.
            outcome: velocities and impulses of the step.
            wrench: wrenches of the contacts on the bodies; not used.
        """
        return row_reactions(model, state, self.rows, outcome.scalars, self.h)
