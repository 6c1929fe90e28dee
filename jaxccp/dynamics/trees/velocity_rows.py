"""Scalar rows over the velocities of trees and families."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.ccp.operators import Repetition
from jaxccp.dynamics.rows.row import Rows
from jaxccp.dynamics.trees.velocity_space import VelocitySpace
from jaxccp.model.kinematics.joint_motion import JointMotion
from jaxccp.model.model import Model
from jaxccp.model.row_order import row_order, rows_on
from jaxccp.model.topology import Topology


def add_loop_rows(space: VelocitySpace, loop_rows: Rows, rows: Rows) -> Rows:
    """Return the rows of loops and tendons, followed by other rows, all over the velocities.

    Args:
        space: generalised velocities, with J.
        loop_rows: rows of loops and tendons, on the bodies.
        rows: the other rows.
    """
    jacobian = space.project_rows(loop_rows.jacobian[:, :, None], loop_rows.bodies)
    nowhere = jnp.zeros((len(jacobian), 1), jnp.int32)
    loop_rows = replace(loop_rows, jacobian=jacobian, bodies=nowhere)
    return jax.tree.map(lambda *parts: jnp.concatenate(parts), loop_rows, rows)


def row_parts(topology: Topology, eliminate: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the scalar rows that are in M̂, and of those that remain in the
    problem: rows with bounds or on frames of families.

    Args:
        topology: structure of the model.
        eliminate: whether the rows of loops and tendons are eliminated; if not, they come first
            among those that remain.
    """
    order = row_order(topology.linkage)
    soft = order.equalities & ~rows_on(topology.linkage, topology.family_frames)
    not_bilateral = np.arange(order.count) >= order.n_bilateral
    remaining = np.flatnonzero(~soft & not_bilateral)
    if not eliminate:
        remaining = np.concatenate([order.loop_rows, remaining])
    return np.flatnonzero(soft & not_bilateral), remaining


def lone_velocities(topology: Topology, rows: np.ndarray) -> np.ndarray:
    """Return the index of the only velocity that each scalar row acts on, that of an axis of a
    tree; −1 for rows that act on several.

    Args:
        topology: structure of the model.
        rows: indices of scalar rows along coordinates.
    """
    order, dofs = row_order(topology.linkage), topology.dofs
    coordinate = np.where(np.isin(rows, order.of("ball")), -1, order.coordinate[rows])
    place = np.searchsorted(dofs.axes, coordinate)
    place = np.minimum(place, max(len(dofs.axes) - 1, 0))
    found = np.append(dofs.axes, -2)[place] == coordinate
    return np.where(found, dofs.first_axis + place, -1)


@dataclass(frozen=True, eq=False)
class SharedCoordinates:
    """The coordinates of the trees that scalar rows of a problem share."""

    velocity: np.ndarray
    """Velocity along which each of the s scalar rows acts alone; −1 for a row of its own."""

    @staticmethod
    def of(topology: Topology, rows: np.ndarray) -> "SharedCoordinates | None":
        """Return the shared coordinates of scalar rows, or None if no two of them share one.

        Args:
            topology: structure of the model.
            rows: indices of the scalar rows that remain in the problem (:func:`row_parts`).
        """
        velocity = lone_velocities(topology, rows)
        shared = SharedCoordinates(velocity)
        return shared if shared.repetition.count < len(velocity) else None

    @property
    def repetition(self) -> Repetition:
        """The row of :meth:`whiten` that each scalar row is a multiple of."""
        own = self.velocity < 0
        distinct, index = np.unique(self.velocity[~own], return_inverse=True)
        rows = np.empty(len(self.velocity), int)
        rows[~own], rows[own] = index, len(distinct) + np.arange(np.count_nonzero(own))
        return Repetition(rows)

    def whiten(self, space: VelocitySpace, rows: Float[Array, "s nv"]) -> Float[Array, "k nv"]:
        """Return the whitened distinct rows: the unit rows of the shared coordinates, then those
        of ``rows`` that act along others.

        Args:
            space: generalised velocities, with L.
            rows: all scalar rows over the velocities.
        """
        own = self.velocity < 0
        units = space.whiten_units(np.unique(self.velocity[~own]))
        if not own.any():
            return units
        return jnp.concatenate([units, space.whiten(rows[np.flatnonzero(own)])])

    def factors(self, rows: Float[Array, "s nv"]) -> Float[Array, " s"]:
        """Return the multiple that each row is of a row of :meth:`whiten`; 1 of its own.

        Args:
            rows: all scalar rows over the velocities.
        """
        entries = rows[np.arange(len(self.velocity)), np.maximum(self.velocity, 0)]
        return jnp.where(self.velocity < 0, 1.0, entries)


def coordinate_jacobian(
    model: Model, motion: JointMotion, space: VelocitySpace
) -> Float[Array, "k nv"]:
    """Return the Jacobian of all axes, then of all tendons: their rates per unit velocity.

    Args:
        model: the model.
        motion: motion of the joints.
        space: generalised velocities, with J.
    """
    dofs, linkage = model.topology.dofs, model.topology.linkage
    table = np.zeros((len(linkage.axes), space.count))
    table[dofs.axes, np.arange(dofs.first_axis, dofs.count)] = 1.0
    axes = jnp.asarray(table, motion.axis.dtype)
    if len(linkage.loops):
        remaining = np.setdiff1d(np.arange(len(table)), dofs.axes)
        bodies = linkage.bodies[linkage.owner[remaining]]
        axes = axes.at[remaining].set(
            space.project_rows(motion.axis[remaining][:, :, None], bodies)[:, 0]
        )
    if not len(linkage.routing.bodies):
        return axes  # constant without loops, which it would not be beside an array that is traced
    tendons = space.project_rows(motion.tendon.row[:, :, None], linkage.routing.bodies)[:, 0]
    return jnp.concatenate([axes, tendons])
