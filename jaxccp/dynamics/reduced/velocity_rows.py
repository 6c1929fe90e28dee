"""Rows of contacts and coordinates on the velocities of trees and families."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.contact_rows import rows_on_bodies
from jaxccp.dynamics.reduced.velocities import Velocities
from jaxccp.model.kinematics import JointMotion
from jaxccp.model.model import Model, Topology


def rows_of_contacts(
    velocities: Velocities, contacts: Contacts, jacobian: tuple[Array, Array]
) -> Float[Array, "c w nv"]:
    """Rows of contacts on the velocities of trees and families."""
    return velocities.along(rows_on_bodies(jacobian), contacts.bodies)


def row_parts(topology: Topology) -> tuple[np.ndarray, np.ndarray]:
    """Scalar rows that are in M̂, and those that are left: with bounds, or between families."""
    linkage = topology.linkage
    soft = linkage.equalities & ~linkage.rows_on(topology.carried)
    acting = np.arange(linkage.rows) >= linkage.forbidden
    return np.flatnonzero(soft & acting), np.flatnonzero(~soft & acting)


def coordinate_rates(
    model: Model, motion: JointMotion, velocities: Velocities
) -> Float[Array, "k nv"]:
    """Rates of all axes, then of all tendons, per velocity."""
    dofs, linkage = model.topology.dofs, model.topology.linkage
    table = np.zeros((len(linkage.axes), velocities.count))
    table[dofs.axes, np.arange(dofs.first_axis, dofs.count)] = 1.0
    axes = jnp.asarray(table, motion.axis.dtype)
    if len(linkage.loops):
        others = np.setdiff1d(np.arange(len(table)), dofs.axes)
        bodies = linkage.bodies[linkage.owner[others]]
        axes = axes.at[others].set(velocities.along(motion.axis[others][:, :, None], bodies)[:, 0])
    tendons = velocities.along(motion.tendon.row[:, :, None], linkage.routing.bodies)[:, 0]
    return jnp.concatenate([axes, tendons])
