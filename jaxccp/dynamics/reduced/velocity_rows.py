"""Rows of contacts and coordinates over the velocities of trees and families."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.contact.contact_jacobian import rows_on_bodies
from jaxccp.dynamics.reduced.velocities import Velocities
from jaxccp.model.kinematics.joint_motion import JointMotion
from jaxccp.model.model import Model, Topology
from jaxccp.model.row_order import row_order, rows_on


def rows_of_contacts(
    velocities: Velocities, contacts: Contacts, jacobian: tuple[Array, Array]
) -> Float[Array, "c w nv"]:
    """Return the rows of contacts over the velocities of trees and families.

    Args:
        velocities: J.
        contacts: the contacts.
        jacobian: linear and angular parts of the rows.
    """
    return velocities.project_rows(rows_on_bodies(jacobian), contacts.bodies)


def row_parts(topology: Topology) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the scalar rows that are in M̂, and of those that remain in the
    problem: rows with bounds or between families."""
    order = row_order(topology.linkage)
    soft = order.equalities & ~rows_on(topology.linkage, topology.family_frames)
    not_bilateral = np.arange(order.count) >= order.n_bilateral
    return np.flatnonzero(soft & not_bilateral), np.flatnonzero(~soft & not_bilateral)


def coordinate_rates(
    model: Model, motion: JointMotion, velocities: Velocities
) -> Float[Array, "k nv"]:
    """Return the Jacobian of all axes, then of all tendons: their rates per unit velocity.

    Args:
        model: the model.
        motion: motion of the joints.
        velocities: J.
    """
    dofs, linkage = model.topology.dofs, model.topology.linkage
    table = np.zeros((len(linkage.axes), velocities.count))
    table[dofs.axes, np.arange(dofs.first_axis, dofs.count)] = 1.0
    axes = jnp.asarray(table, motion.axis.dtype)
    if len(linkage.loops):
        remaining = np.setdiff1d(np.arange(len(table)), dofs.axes)
        bodies = linkage.bodies[linkage.owner[remaining]]
        axes = axes.at[remaining].set(
            velocities.project_rows(motion.axis[remaining][:, :, None], bodies)[:, 0]
        )
    tendons = velocities.project_rows(motion.tendon.row[:, :, None], linkage.routing.bodies)[:, 0]
    return jnp.concatenate([axes, tendons])
