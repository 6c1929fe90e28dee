"""Rows of joints and tendons between bodies with a block-diagonal mass matrix."""

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.operators import BodyDelassus, Delassus
from jaxccp.dynamics.free_bodies.eliminated_delassus import EliminatedDelassus
from jaxccp.dynamics.free_bodies.equalities import Equalities, equalities
from jaxccp.dynamics.free_bodies.impact_time_rows import ImpactTimeEqualities, ImpactTimeRows
from jaxccp.dynamics.free_bodies.partition import Partition, partition
from jaxccp.dynamics.inertia import InverseRoot
from jaxccp.dynamics.rows.row import Rows
from jaxccp.model.kinematics.joint_motion import joint_motion
from jaxccp.model.model import Model
from jaxccp.model.row_order import row_order
from jaxccp.model.state import State
from jaxccp.model.topology import Topology


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class JointRows:
    """The scalar rows of a model over the twists of its bodies.

    Equality rows may be eliminated, which leaves those with bounds to the problem.
    """

    rows: Rows
    """The rows at the start of the step."""
    equalities: Equalities | None
    """The eliminated rows and their factors; None if none are eliminated."""
    free_impulses: Float[Array, " m"]
    """Impulses of the eliminated rows without impulses of the others [N s, N m s]."""
    at_impact: ImpactTimeRows | None
    """The rows at the time of impact; None if no impulse acts late."""
    partition: Partition | None = field(metadata={"static": True})
    """Partition into eliminated and remaining rows; None if no rows are eliminated."""

    @staticmethod
    def of(
        topology: Topology,
        rows: Rows,
        root: InverseRoot,
        free_velocity: Float[Array, "nb 6"],
        eliminate: bool,
    ) -> tuple["JointRows", Float[Array, "nb 6"]]:
        """Return the rows of a step, and the twists of the bodies that satisfy the eliminated ones.

        Args:
            topology: structure of the model.
            rows: all scalar rows on the bodies.
            root: L of the bodies.
            free_velocity: twists of the bodies without these rows [m/s, rad/s].
            eliminate: whether to solve for the equality rows beforehand.
        """
        if not eliminate:
            return JointRows(rows, None, jnp.zeros(0, rows.bias.dtype), None, None), free_velocity
        parts, rigid = partition(topology), row_order(topology.linkage).n_bilateral
        eliminated = rows.select(parts.eliminated)
        factors = equalities(eliminated, eliminated.whitened(root), rigid, parts.forest)
        residual = eliminated.residual(eliminated.velocity(free_velocity), rigid)
        change, impulses = factors.solve(jnp.zeros_like(free_velocity), residual)
        return (
            JointRows(rows, factors, impulses, None, parts),
            free_velocity + root.apply(change),
        )

    def with_rows_at_impact(
        self, topology: Topology, rows: Rows, root: InverseRoot, root_at_impact: InverseRoot
    ) -> "JointRows":
        """Return these rows with those at the time at which each mechanism is hit.

        Args:
            topology: structure of the model.
            rows: all scalar rows at the poses at the impact.
            root: L at the start of the step.
            root_at_impact: L at the orientations at the impact.
        """
        rigid = row_order(topology.linkage).n_bilateral
        at_impact = ImpactTimeRows.of(rows, rigid, self.partition, root, root_at_impact)
        return replace(self, at_impact=at_impact)

    def remaining(self) -> Rows:
        """Return the rows that remain in the problem, at the start of the step."""
        return self._remaining_of(self.rows)

    def whitened(self, root: InverseRoot) -> tuple[Float[Array, "s 6*k"], Float[Array, "s 6*k"]]:
        """Return the remaining rows as the Delassus operator has them, and as they map impulses to
        bodies.

        Args:
            root: L of the bodies at the start of the step.
        """
        if self.at_impact is None:
            whitened = self.remaining().whitened(root)
            return whitened, whitened
        rows = self._remaining_of(self.at_impact.rows)
        return rows.whitened(self.at_impact.root), rows.whitened(root)

    def eliminate_from(self, delassus: BodyDelassus) -> Delassus:
        """Return the operator of the remaining rows if the eliminated ones hold.

        Args:
            delassus: operator of the remaining rows, as if no rows were eliminated.
        """
        if self.equalities is None:
            return delassus
        late = self._equalities_at_impact
        return EliminatedDelassus(delassus, self.equalities if late is None else late.response)

    def respond(
        self, change: Float[Array, "nb 6"], delassus: BodyDelassus, lam: Float[Array, " n"]
    ) -> tuple[Float[Array, "nb 6"], Float[Array, " m"]]:
        """Return the whitened velocities that impulses add, and the impulses of the eliminated
        rows that they cause.

        Args:
            change: whitened velocities that the impulses alone add.
            delassus: operator of the remaining rows, as if no rows were eliminated.
            lam: multipliers of the problem.
        """
        no_residual = jnp.zeros_like(self.free_impulses)
        if self.equalities is None or not lam.shape[0]:
            return change, no_residual
        late = self._equalities_at_impact
        if late is None:
            return self.equalities.solve(change, no_residual)
        return late.velocity_change(delassus.impulse(lam), change)

    @property
    def _equalities_at_impact(self) -> ImpactTimeEqualities | None:
        return None if self.at_impact is None else self.at_impact.equalities

    def _remaining_of(self, rows: Rows) -> Rows:
        return rows if self.partition is None else rows.select(self.partition.rest)


def bilateral_errors(model: Model, state: State, h: Array | float) -> Float[Array, " m"]:
    """Return the errors of all rows of joints and of tendons of given length [m, rad].

    Args:
        model: the model.
        state: the poses of the bodies.
        h: time from the clock of ``state`` to that at which tendons have their imposed length [s].
    """
    motion, routing = joint_motion(model, state), model.topology.linkage.routing
    stretch = motion.tendon.length - model.tendons.bilateral_length(state.time + h)
    return jnp.concatenate([motion.error, stretch[routing.bilateral]])
