"""The problem of one step, and the effect of its solution on the bodies."""

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.dynamics.body_mass import BodyMass
from jaxccp.dynamics.free_bodies.free_bodies import FreeBodies
from jaxccp.dynamics.free_bodies.joint_rows import JointRows
from jaxccp.dynamics.outcome import Outcome
from jaxccp.dynamics.reaction import row_reactions
from jaxccp.dynamics.step.advance import advance
from jaxccp.dynamics.step.joint_correction import correct_joint_errors
from jaxccp.dynamics.step.step_problem import StepProblem
from jaxccp.dynamics.trees.shared_mass import SharedMass
from jaxccp.dynamics.trees.tree_reaction import tree_reactions
from jaxccp.dynamics.trees.velocity_rows import row_parts
from jaxccp.math import safe
from jaxccp.math.linear3 import cross
from jaxccp.model.model import Model
from jaxccp.model.row_order import row_order
from jaxccp.model.state import State
from jaxccp.model.topology import Topology


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class StepSystem(StepProblem[Outcome]):
    """The problem of one step on velocities, and the effect of its solution on the bodies.

    Generalised velocities are those of two blocks: trees and families, which share a mass matrix,
    and free bodies, which have one each. Scalar rows act on the first block, or on the second if
    there is no other; contacts act on both.
    """

    r_without_impacts: Float[Array, " n"] | None
    """The problem's r without impacts [m/s]; None unless all impacts act at their time
    (``impact_times`` "all")."""
    shared: SharedMass | None
    """Trees and families; None if the mass matrix is block diagonal."""
    free_bodies: FreeBodies | None
    """Bodies outside the mass matrix of ``shared``; None if there are none."""
    mass: BodyMass
    """Mass operator of the bodies."""
    recovery: Float[Array, ""]
    """Largest speed at which this step undoes penetration [m/s]."""
    topology: Topology = field(metadata={"static": True})
    """Topology of the model."""
    eliminate: bool = field(metadata={"static": True})
    """Whether equality rows are eliminated."""

    @property
    def remaining(self) -> np.ndarray:
        """Indices of the scalar rows in the problem."""
        if self.shared is not None:
            return row_parts(self.topology, self.eliminate)[1]
        parts = None if self._joints is None else self._joints.partition
        every = np.arange(row_order(self.topology.linkage).count)
        return every if parts is None else parts.rest

    @property
    def eliminated(self) -> np.ndarray:
        """Indices of the scalar rows that are eliminated."""
        none = np.zeros(0, int)
        if self.shared is not None:
            return row_order(self.topology.linkage).loop_rows if self.eliminate else none
        parts = None if self._joints is None else self._joints.partition
        return none if parts is None else parts.eliminated

    @property
    def _joints(self) -> JointRows | None:
        return None if self.free_bodies is None else self.free_bodies.joints

    def after(self, lam: Float[Array, " n"]) -> Outcome:
        scalars, blocks = self.problem.cones.split(lam)
        lever_velocity = late_momentum = None
        if self.action.late:
            early = self.action.weight_by_remaining_time(self.problem, lam)
            lever = self.action.weight_by_lever_time(self.problem, lam)
            velocities, impulses = jax.vmap(self._respond)(jnp.stack([lam, early, lever]))
            (velocity, transport_velocity, lever_velocity), eliminated = velocities, impulses[0]
            linearisation = None if self.shared is None else self.shared.linearisation
            if linearisation is not None:
                late = self.h * (velocity - transport_velocity)
                late_momentum = linearisation.late_momentum_change(
                    self.mass, self.twists(late), late
                )
        else:
            velocity, eliminated = self._respond(lam)
            transport_velocity = velocity
        families = ()
        all_scalars = jnp.zeros(row_order(self.topology.linkage).count, lam.dtype)
        all_scalars = all_scalars.at[self.remaining].set(scalars)
        if self.shared is not None:
            of_shared = velocity[: self.shared.count]
            families = self.shared.motion.space.families(of_shared)
            soft = row_parts(self.topology, self.eliminate)[0]
            all_scalars = all_scalars.at[soft].set(self.shared.compliant_impulses(of_shared))
        if len(self.eliminated):
            all_scalars = all_scalars.at[self.eliminated].set(eliminated)
        return Outcome(
            twist=self.twists(velocity),
            transport_velocity=transport_velocity,
            scalars=all_scalars,
            contacts=self.units.to_world(blocks),
            lever_velocity=lever_velocity,
            families=families,
            late_momentum_change=late_momentum,
        )

    def _respond(self, lam: Float[Array, " n"]) -> tuple[Array, Array]:
        """Return the velocities after the impulses ``lam``, and the impulses of the eliminated
        rows."""
        blocks = [block for block in (self.shared, self.free_bodies) if block is not None]
        velocities, eliminated = zip(*(block.respond(lam) for block in blocks), strict=True)
        if len(blocks) == 1:
            return velocities[0], eliminated[0]
        return jnp.concatenate(velocities), jnp.concatenate(eliminated)

    def twists(self, velocity: Float[Array, " nv"]) -> Float[Array, "nb 6"]:
        """Return the twists of all bodies; ``velocity`` has those of trees, families, then free
        bodies."""
        if self.shared is None:
            assert self.free_bodies is not None
            return self.free_bodies.map.twists(velocity)
        count = self.shared.count
        twist = self.shared.motion.space.twists(velocity[:count])
        if self.free_bodies is None:
            return twist
        return twist + self.free_bodies.map.twists(velocity[count:])

    def velocities_without_impulses(self) -> Float[Array, " nv"]:
        """Return the velocities without impulses of the problem's rows."""
        parts = []
        if self.shared is not None:
            parts.append(self.shared.motion.space.unwhiten(self.shared.motion.whitened))
        if self.free_bodies is not None:
            parts.append(self.free_bodies.map.pull(self.free_bodies.free_velocity))
        return parts[0] if len(parts) == 1 else jnp.concatenate(parts)

    def advance(self, model: Model, state: State, outcome: Outcome) -> State:
        """Return the state after the step: its velocities, and the poses to which they lead. Time,
        activations and rates of rotors stay as they were.

        Args:
            model: the model.
            state: the state before the step.
            outcome: velocities and impulses of the step.
        """
        velocity, spin = outcome.twist[:, :3], self.mass.apply(outcome.twist)[:, 3:]
        free_flight = self.twists(outcome.transport_velocity)[:, :3]
        mass = self.mass.mass[:, None]
        if self.shared is not None:
            bias = self.shared.motion.half_step_bias
            spin = spin + bias[:, 3:]
            bias_velocity = safe.divide(bias[:, :3], mass)
            velocity, free_flight = velocity + bias_velocity, free_flight + bias_velocity
        if self.action.late:
            spin = spin + self._late_angular_momentum(outcome)
        if outcome.late_momentum_change is not None:
            spin = spin + outcome.late_momentum_change[:, 3:]
            velocity = velocity + safe.divide(outcome.late_momentum_change[:, :3], mass)
        return advance(model, state, outcome, self.h, spin, velocity, free_flight)

    def _late_angular_momentum(self, outcome: Outcome) -> Float[Array, "nb 3"]:
        """Return the angular momentum [N m s] that levers omit if a body without joints is hit more
        than once in a step.

        Levers do not include the displacement of a body by an earlier impulse, nor the delay of a
        simultaneous contact. Orbital momentum therefore changes by h m (Δc × Δv + v × (Δc_lever −
        Δc)). Here v is the free velocity, Δv is the velocity that impulses add, Δc the part of Δv
        that moves the poses, and Δc_lever the same with the levers' delays. The angular velocity of
        the body compensates for it, unless a joint determines the angular velocity.
        """
        assert outcome.lever_velocity is not None
        without_impulses = self.velocities_without_impulses()
        free_flight = self.twists(without_impulses)
        change = (outcome.twist - free_flight)[:, :3]
        transport_change = self.twists(outcome.transport_velocity - without_impulses)[:, :3]
        late = self.twists(outcome.lever_velocity - outcome.transport_velocity)[:, :3]
        missing = cross(change, transport_change) - cross(free_flight[:, :3], late)
        missing = self.h * self.mass.mass[:, None] * missing
        in_trees = self.topology.dofs.jointed
        free = self.topology.unjointed if self.topology.block_diagonal_mass else ~in_trees
        return jnp.where(jnp.asarray(free)[:, None], missing, 0.0)

    def close_joints(
        self, model: Model, state: State, outcome: Outcome, corrections: int
    ) -> Outcome:
        """Correct the velocities so that joints are closed and tendons have their length after the
        step.

        Impulses act along the rows at the start of the step. Each correction reduces the errors by
        a factor of about h ω, ω being the angular velocity (SHAKE, Ryckaert, Ciccotti & Berendsen,
        J. Comput. Phys. 23, 1977). Nothing changes if the rows are not eliminated.

        Args:
            model: the model.
            state: the state before the step.
            outcome: velocities and impulses of the step.
            corrections: number of corrections.
        """
        block = self.free_bodies if self.shared is None else self.shared
        if block is None or not len(self.eliminated):
            return outcome
        before = outcome.transport_velocity

        def undo_rates(rates: Array) -> tuple[Array, Array]:
            change, impulses = block.undo_rates(rates)
            return jnp.pad(change, (0, len(before) - len(change))), impulses

        change, impulses = correct_joint_errors(
            model, state, before, self.h, undo_rates, corrections
        )
        families = outcome.families
        if self.shared is not None:
            added = self.shared.motion.space.families(change[: self.shared.count])
            families = tuple(old + new for old, new in zip(families, added, strict=True))
        return replace(
            outcome,
            twist=outcome.twist + self.twists(change),
            transport_velocity=before + change,
            scalars=outcome.scalars.at[self.eliminated].add(impulses),
            families=families,
        )

    def joint_reactions(
        self, model: Model, state: State, outcome: Outcome, wrench: Float[Array, "nb 6"]
    ) -> Float[Array, "nj 6"]:
        """Return the force [N] and torque [N m] of each joint on its second body, mean over a step,
        world axes.

        :func:`jaxccp.dynamics.reaction.row_reactions` defines them.

        Args:
            model: the model.
            state: the state before the step.
            outcome: velocities and impulses of the step.
            wrench: mean wrenches on the bodies of contacts, and of smooth contacts beyond those
                that are applied forces of the step [N, N m].
        """
        if self.shared is None:
            if self._joints is None:
                return jnp.zeros((0, 6), wrench.dtype)
            owner = row_order(model.topology.linkage).owner
            return row_reactions(model, state, self._joints.rows, owner, outcome.scalars, self.h)
        motion, scalars = self.shared.motion, outcome.scalars
        rows = motion.loop_and_tendon_rows
        change = self.mass.apply(outcome.twist) + motion.half_step_bias - motion.momentum
        if outcome.late_momentum_change is not None:
            change = change + outcome.late_momentum_change
        if rows is not None:
            indices = row_order(self.topology.linkage).loop_and_tendon_rows
            change = change - rows.wrenches(scalars[indices], len(change))
        return tree_reactions(model, state, change / self.h - wrench, rows, scalars / self.h)
