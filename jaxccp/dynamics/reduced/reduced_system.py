"""The problem of a step over generalised velocities, most of which share a mass matrix."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.operators import RepeatedDelassus, WhitenedDelassus
from jaxccp.ccp.problem import Problem
from jaxccp.dynamics.contact.contact_units import ContactUnits
from jaxccp.dynamics.contact.impact import Action
from jaxccp.dynamics.outcome import Outcome
from jaxccp.dynamics.reduced.advance import advance
from jaxccp.dynamics.reduced.body_mass import BodyMass
from jaxccp.dynamics.reduced.constraint_projection import correct_loop_errors
from jaxccp.dynamics.reduced.free_bodies import FreeBodies
from jaxccp.dynamics.reduced.impact_time_linearisation import ImpactTimeLinearisation
from jaxccp.dynamics.reduced.loop_constraints import LoopConstraints
from jaxccp.dynamics.reduced.tree_reaction import tree_reactions
from jaxccp.dynamics.reduced.velocities import Velocities
from jaxccp.dynamics.reduced.velocity_rows import row_parts
from jaxccp.dynamics.rows.row import Rows
from jaxccp.model.kinematics.configuration import integrate_configuration
from jaxccp.model.model import Model, Topology
from jaxccp.model.row_order import row_order
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ReducedSystem:
    """The problem of one step over the velocities v of the degrees of freedom, and the effect of
    its solution.

    M̂ = Σ_b J_bᵀ M_b J_b + Σ α_r J_rᵀ J_r over bodies b and compliant rows r without bounds
    (springs, dampers, rotors, servos without a force limit), which then need no multiplier. With M̂
    = C Cᵀ and L = C⁻ᵀ the remaining rows are W = J L, and N = W Wᵀ + E.
    """

    problem: Problem
    """The problem of the remaining rows."""
    r_without_impacts: Float[Array, " n"] | None
    """The problem's r without impacts [m/s]; None if no closed contact is simultaneous with an
    impact."""
    impulse_map: WhitenedDelassus | RepeatedDelassus
    """W and E as a map from impulses to velocities: bodies rotate until their time of impact."""
    velocities: Velocities
    """J and L of the trees, of each family, and of free bodies if smooth contacts couple them."""
    whitened_free: Float[Array, " nv"]
    """L⁻¹ v of the velocities v without impulses of the remaining rows."""
    free_bodies: FreeBodies | None
    """Free bodies whose masses are apart; None if there are none, or ``velocities`` has them."""
    mass: BodyMass
    """Mass operator of the bodies."""
    momentum: Float[Array, "nb 6"]
    """Momenta of the bodies before the step, plus those of all forces that are neither rows nor
    joint reactions: gravity, fluid, motors and applied forces [N s, N m s]."""
    half_step_bias: Float[Array, "nb 6"]
    """Velocity-product momentum of jointed bodies over half a step [N s, N m s]."""
    action: Action
    """When and where the contacts' impulses act."""
    units: ContactUnits
    """Conversion of the contacts' multipliers to world axes."""
    recovery: Float[Array, ""]
    """Largest speed at which this step undoes penetration [m/s]."""
    h: Float[Array, ""] | float
    """Length of the step [s]."""
    compliant: Rows
    """Scalar rows that are in M̂."""
    loop_and_tendon_rows: Rows | None
    """All scalar rows of joints that close loops and of tendons, over the twists of bodies; None
    without any."""
    impact_linearisation: ImpactTimeLinearisation | None
    """Motion of the trees until they are hit. None if no impulse on them is late, or if rows of
    loops are eliminated; then J and M̂ are those at the start of the step."""
    loop_constraints: LoopConstraints | None
    """Loop and tendon rows, which are eliminated: the velocities of all other rows satisfy them.
    None if there are none, or they are not eliminated."""
    topology: Topology = field(metadata={"static": True})
    """Topology of the model."""
    eliminate: bool = field(metadata={"static": True})
    """Whether the rows of loops and tendons are eliminated."""

    def after(self, lam: Float[Array, " n"]) -> Outcome:
        """Return velocities and impulses of the step for the multipliers ``lam`` of its problem."""
        scalars, blocks = self.problem.cones.split(lam)
        velocity = transport_velocity = self._velocity(lam)
        lever_velocity = late_momentum = None
        if self.action.late:
            transport_velocity = self._velocity(
                self.action.weight_by_remaining_time(self.problem, lam)
            )
            lever_velocity = self._velocity(self.action.weight_by_lever_time(self.problem, lam))
            if self.impact_linearisation is not None:
                late = self.h * (velocity - transport_velocity)
                late_momentum = self.impact_linearisation.late_momentum_change(
                    self.mass, self.twists(late), late
                )
        twist = self.twists(velocity)
        velocity = velocity[: self.velocities.count]
        compliant = self.compliant
        compliant_impulses = (
            compliant.stiffness * (compliant.jacobian[:, 0] @ velocity) + compliant.offset
        )
        soft, remaining = row_parts(self.topology, self.eliminate)
        linkage = self.topology.linkage
        all_scalars = jnp.zeros(row_order(linkage).count, lam.dtype).at[remaining].set(scalars)
        all_scalars = all_scalars.at[soft].set(-compliant_impulses)
        if self.loop_constraints is not None:
            loop_impulses = self.loop_constraints.impulses(lam)
            all_scalars = all_scalars.at[row_order(linkage).loop_rows].set(loop_impulses)
        families = self.velocities.families(velocity)
        return Outcome(
            twist,
            transport_velocity,
            all_scalars,
            self.units.to_world(blocks),
            lever_velocity,
            families,
            late_momentum,
        )

    def loop_and_tendon_wrenches(self, scalars: Float[Array, " s"]) -> Float[Array, "nb 6"]:
        """Return the impulses on the bodies of loop and tendon rows, given those along all scalar
        rows."""
        if self.loop_and_tendon_rows is None:
            return jnp.zeros_like(self.momentum)
        return self.loop_and_tendon_rows.wrenches(
            scalars[row_order(self.topology.linkage).loop_and_tendon_rows], len(self.momentum)
        )

    def twists(self, velocity: Float[Array, " nv+6*l"]) -> Float[Array, "nb 6"]:
        """Return the twists of all bodies; ``velocity`` has those of trees, families, then free
        bodies."""
        count = self.velocities.count
        twist = self.velocities.twists(velocity[:count])
        if self.free_bodies is None:
            return twist
        return twist + self.free_bodies.velocities.twists(velocity[count:])

    def velocities_without_impulses(self) -> Float[Array, " nv+6*l"]:
        """Return the velocities without impulses of the remaining rows, those of free bodies
        last."""
        velocity = self.velocities.unwhiten(self.whitened_free)
        if self.free_bodies is None:
            return velocity
        return jnp.concatenate(
            [velocity, self.free_bodies.velocities.pull(self.free_bodies.free_velocity)]
        )

    def _velocity(self, lam: Float[Array, " n"]) -> Float[Array, " nv+6*l"]:
        whitened = self.whitened_free + self.impulse_map.impulse(lam)
        velocity = self.velocities.unwhiten(whitened)
        if self.free_bodies is None:
            return velocity
        return jnp.concatenate([velocity, self.free_bodies.after(lam)])

    def guess(self, scalars: Float[Array, " s"], world: Float[Array, "c w"]) -> Float[Array, " n"]:
        """Return the multipliers of the problem for given impulses, to start a solve.

        Args:
            scalars: impulses of all scalar rows.
            world: impulses of contacts in world axes: linear, then angular where contacts roll.
        """
        remaining = row_parts(self.topology, self.eliminate)[1]
        return self.problem.cones.join(scalars[remaining], self.units.to_local(world))

    def advance(self, model: Model, state: State, outcome: Outcome) -> State:
        """Return the state after the step; see :func:`jaxccp.dynamics.reduced.advance.advance`.

        Args:
            model: the model.
            state: the state before the step.
            outcome: velocities and impulses of the step.
        """
        return advance(model, state, self, outcome)

    def displace(self, model: Model, state: State, outcome: Outcome) -> State:
        """Return the state with its poses moved along the velocities of an outcome for 1 s.

        Args:
            model: the model.
            state: the state before.
            outcome: displacements, as velocities [m/s, rad/s].
        """
        return integrate_configuration(model, state, outcome.transport_velocity)

    def close_joints(
        self, model: Model, state: State, outcome: Outcome, corrections: int
    ) -> Outcome:
        """Correct the velocities so that loops are closed and tendons have their length after the
        step; see :meth:`jaxccp.dynamics.system.System.close_joints`.

        Args:
            model: the model.
            state: the state before the step.
            outcome: velocities and impulses of the step.
            corrections: number of corrections.
        """
        return correct_loop_errors(model, state, self, outcome, corrections)

    def joint_reactions(
        self, model: Model, state: State, outcome: Outcome, wrench: Float[Array, "nb 6"]
    ) -> Float[Array, "nj 6"]:
        """Return the force [N] and torque [N m] of each joint on its second body, mean over a step,
        world axes.

        Args:
            model: the model.
            state: the state before the step.
            outcome: velocities and impulses of the step.
            wrench: wrenches of the contacts on the bodies [N, N m].
        """
        momentum_change = self.mass.apply(outcome.twist) + self.half_step_bias - self.momentum
        needed = (momentum_change - self.loop_and_tendon_wrenches(outcome.scalars)) / self.h
        forces = outcome.scalars / self.h
        return tree_reactions(model, state, needed - wrench, self.loop_and_tendon_rows, forces)
