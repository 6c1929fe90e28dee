"""Velocities of trees and families, which share a mass matrix, in one step."""

import math
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.operators import RepeatedDelassus, WhitenedDelassus
from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.contact.contact_jacobian import rows_on_moving_bodies
from jaxccp.dynamics.trees.free_motion import FreeMotion
from jaxccp.dynamics.trees.impact_time_linearisation import ImpactTimeLinearisation
from jaxccp.dynamics.trees.loop_constraints import LoopConstraints
from jaxccp.dynamics.trees.velocity_rows import SharedCoordinates, row_parts
from jaxccp.model.state import State
from jaxccp.model.topology import Topology


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SharedMass:
    """The degrees of freedom of trees and families in one step.

    M̂ = Σ_b J_bᵀ M_b J_b + Σ α_r J_rᵀ J_r over bodies b and compliant rows r without bounds
    (springs, dampers, rotors, servos without a force limit), which then need no multiplier. With M̂
    = C Cᵀ and L = C⁻ᵀ the remaining rows are W = J L, and N = W Wᵀ + E.
    """

    motion: FreeMotion
    """Motion without impulses of the problem's rows, with J and L."""
    linearisation: ImpactTimeLinearisation | None
    """Motion of the trees until they are hit. None if no impulse on them is late, or if rows of
    loops are eliminated; then J and M̂ are those at the start of the step."""
    loop_constraints: LoopConstraints | None
    """Loop and tendon rows, which are eliminated: the velocities of all other rows satisfy them.
    None if there are none, or they are not eliminated."""
    impulse_map: WhitenedDelassus | RepeatedDelassus | None = None
    """W and E as a map from impulses to velocities: bodies rotate until their time of impact. None
    before :meth:`with_contacts`."""

    @staticmethod
    def of(
        topology: Topology,
        state: State,
        motion: FreeMotion,
        loop_constraints: LoopConstraints | None,
        velocity: Float[Array, " nv"],
        h: Array | float,
    ) -> "SharedMass":
        """Return the degrees of freedom of a step, without contacts yet.

        Args:
            topology: structure of the model.
            state: the state at the start of the step.
            motion: their motion without impulses.
            loop_constraints: the eliminated rows that this motion satisfies.
            velocity: velocities of that motion.
            h: length of the step [s].
        """
        linearisation = None
        if topology.rebounds and topology.dofs.jointed.any() and loop_constraints is None:
            linearisation = ImpactTimeLinearisation.of(
                motion.screws, state.position, motion.mass, motion.space, velocity, h
            )
        return SharedMass(motion, linearisation, loop_constraints)

    @property
    def count(self) -> int:
        """Number of velocities nv."""
        return self.motion.space.count

    def whiten(
        self,
        topology: Topology,
        contacts: Contacts,
        jacobian: tuple[Array, Array],
        time: Float[Array, " c"],
        roots: int,
    ) -> Float[Array, "c w nv"]:
        """Return the whitened rows of contacts at their times of impact.

        Args:
            topology: structure of the model.
            contacts: the contacts.
            jacobian: linear and angular parts of the rows.
            time: time of each impact [s].
            roots: how often the factor 1 − ½ τ S of :class:`ImpactTimeLinearisation` is applied:
                once for the rows of N, twice for the rows that map impulses to velocities.
        """
        space = self.motion.space
        body_rows, bodies = rows_on_moving_bodies(topology, contacts, jacobian)
        rows = space.project_rows(body_rows, bodies)
        if self.linearisation is None:
            return space.whiten(rows)
        change = self.linearisation.project_row_change(body_rows, bodies, time)
        rows = space.whiten(rows + change)
        for _ in range(roots):
            rows = self.linearisation.whiten_at_impact(rows, time)
        return rows

    def with_contacts(
        self,
        topology: Topology,
        eliminate: bool,
        contact_rows: Float[Array, "c w nv"],
        impulse_rows: Float[Array, "c w nv"],
        compliance: Float[Array, " n"],
    ) -> tuple["SharedMass", WhitenedDelassus | RepeatedDelassus]:
        """Return the degrees of freedom with the rows of contacts, and their part of N.

        Args:
            topology: structure of the model.
            eliminate: whether the rows of loops and tendons are eliminated.
            contact_rows: whitened rows of contacts, as N has them.
            impulse_rows: the same rows as they map impulses to velocities.
            compliance: diagonal of E of all rows.
        """
        space, scalar_rows = self.motion.space, self.motion.rows.jacobian[:, 0]
        shape = math.prod(contact_rows.shape[:2]), self.count
        loop_constraints = self.loop_constraints
        # Loop constraints answer each row by itself.
        shared = None
        if loop_constraints is None:
            shared = SharedCoordinates.of(topology, row_parts(topology, eliminate)[1])
        whitened_rows = shared.whiten(space, scalar_rows) if shared else space.whiten(scalar_rows)
        whitened = jnp.concatenate([whitened_rows, contact_rows.reshape(shape)])
        if loop_constraints is not None:
            loop_constraints, whitened = loop_constraints.project_rows(whitened)

        def operator(whitened: Array) -> WhitenedDelassus | RepeatedDelassus:
            if shared is None:
                return WhitenedDelassus(whitened, compliance)
            rigid = WhitenedDelassus(whitened, jnp.zeros_like(whitened[:, 0]))
            factors = shared.factors(scalar_rows)
            factors = jnp.append(factors, jnp.ones_like(compliance[len(factors) :]))
            return RepeatedDelassus(rigid, factors, compliance, shared.repetition)

        delassus = impulse_map = operator(whitened)
        if impulse_rows is not contact_rows:
            # Loop constraints do not affect the part due to the rotation of the bodies.
            difference = (impulse_rows - contact_rows).reshape(shape)
            impulse_map = operator(whitened.at[len(whitened_rows) :].add(difference))
        return replace(self, impulse_map=impulse_map, loop_constraints=loop_constraints), delassus

    def respond(self, lam: Float[Array, " n"]) -> tuple[Float[Array, " nv"], Float[Array, " m"]]:
        """Return the velocities after the impulses ``lam``, and the impulses of the eliminated
        rows."""
        assert self.impulse_map is not None
        whitened = self.motion.whitened + self.impulse_map.impulse(lam)
        velocity = self.motion.space.unwhiten(whitened)
        if self.loop_constraints is None:
            return velocity, jnp.zeros(0, lam.dtype)
        return velocity, self.loop_constraints.impulses(lam)

    def compliant_impulses(self, velocity: Float[Array, " nv"]) -> Float[Array, " s"]:
        """Return the impulses of the rows that are in M̂, at the velocities after the step [N s, N m
        s]."""
        rows = self.motion.compliant
        return -(rows.stiffness * (rows.jacobian[:, 0] @ velocity) + rows.offset)

    def undo_rates(
        self, rates: Float[Array, " m"]
    ) -> tuple[Float[Array, " nv"], Float[Array, " m"]]:
        """Return the velocities that change the rates along the loop rows by −``rates``, and the
        impulses of these rows for that.

        Args:
            rates: rates along the rows of loops and tendons of given length [m/s, rad/s].
        """
        assert self.loop_constraints is not None
        none = jnp.zeros_like(self.motion.whitened)[:, None]
        change, impulses = self.loop_constraints.saddle.solve(none, rates[:, None])
        return self.motion.space.unwhiten(change[:, 0]), impulses[:, 0]
