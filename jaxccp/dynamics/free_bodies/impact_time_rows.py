"""Rows of joints at the time at which their mechanism is hit within a step."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.contact.impact import Action
from jaxccp.dynamics.contact.simultaneous_impact import count_impacts
from jaxccp.dynamics.free_bodies.equalities import Equalities, equalities
from jaxccp.dynamics.free_bodies.forest import Forest
from jaxccp.dynamics.free_bodies.partition import Partition
from jaxccp.dynamics.inertia import InverseRoot
from jaxccp.dynamics.rows.row import Rows
from jaxccp.math import quaternion, safe
from jaxccp.model.state import State
from jaxccp.model.topology import Topology


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ImpactTimeEqualities:
    """The eliminated equality rows at the time at which each mechanism is hit."""

    response: Equalities
    """The rows at the impact and their factors, whitened at the orientations at the impact."""
    impulse_map: Equalities
    """The rows at the impact, whitened at the orientations at the start of the step; they map
    impulses to the momenta of bodies."""

    @staticmethod
    def of(
        rows: Rows, rigid: int, forest: Forest, root: InverseRoot, root_at_impact: InverseRoot
    ) -> "ImpactTimeEqualities":
        """Factorise the equality rows at the impact.

        Args:
            rows: rows at the poses at the impact.
            rigid: number of rigid rows, which come first.
            forest: order of these rows.
            root: L at the start of the step.
            root_at_impact: L at the orientations at the impact.
        """
        response = equalities(rows, rows.whitened(root_at_impact), rigid, forest)
        return ImpactTimeEqualities(response, replace(response, rows=rows.whitened(root)))

    def velocity_change(
        self, row_impulse: Float[Array, "nb 6"], impulse: Float[Array, "nb 6"]
    ) -> tuple[Float[Array, "nb 6"], Float[Array, " m"]]:
        """Return the whitened velocities that impulses add under the equality rows, and the
        multipliers of these rows.

        Args:
            row_impulse: impulses on the bodies, whitened by L at the impact; they load the rows.
            impulse: the same impulses, whitened by L at the start of the step: the whitened
                velocities that they alone would add.
        """
        _, lam = self.response.solve(row_impulse, jnp.zeros_like(self.response.compliance))
        return impulse + self.impulse_map.spread(lam), lam


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ImpactTimeRows:
    """The scalar rows of a model, evaluated at the time at which each mechanism is hit."""

    rows: Rows
    """The rows at the poses at the impact."""
    root: InverseRoot
    """L at the orientations at the impact."""
    equalities: ImpactTimeEqualities | None
    """The eliminated rows there; None if none are eliminated."""

    @staticmethod
    def of(
        rows: Rows,
        rigid: int,
        partition: Partition | None,
        root: InverseRoot,
        root_at_impact: InverseRoot,
    ) -> "ImpactTimeRows":
        """Return the rows at the impact, with factors of those that are eliminated.

        Args:
            rows: rows at the poses at the impact.
            rigid: number of rigid rows, which come first.
            partition: partition into eliminated and remaining rows; None if none are eliminated.
            root: L at the start of the step.
            root_at_impact: L at the orientations at the impact.
        """
        if partition is None:
            return ImpactTimeRows(rows, root_at_impact, None)
        eliminated = rows.select(partition.eliminated)
        factors = ImpactTimeEqualities.of(eliminated, rigid, partition.forest, root, root_at_impact)
        return ImpactTimeRows(rows, root_at_impact, factors)


def mechanisms(topology: Topology) -> np.ndarray:
    """Return the mechanism of each body, as the index of its first moving body [nb].

    Bodies that joints or tendons connect, directly or through others, are one mechanism. A body
    without any is its own.
    """
    linkage = topology.linkage
    first = np.arange(len(topology.bodies))
    for bodies in (*linkage.bodies, *linkage.routing.bodies):
        connected = first[bodies[topology.free[bodies]]]
        if len(connected):
            first[np.isin(first, connected)] = connected.min()
    return first


def state_at_impact(
    topology: Topology,
    state: State,
    contacts: Contacts,
    action: Action,
    free_velocity: Float[Array, "nb 6"],
    h: Float[Array, ""] | float,
) -> State:
    """Return the state with each mechanism moved to the time at which it is hit.

    That time is the mean over the impacts on the mechanism, and the start of the step without any.
    An impulse λ on a mechanism at the time τ causes impulses along the rows of its joints at that
    time. With the rows at the start of the step velocities would jump by an error of order h each
    time an impact moves from one step to the next.

    Args:
        topology: bodies and joints.
        state: the state at the start of the step.
        contacts: the contacts there.
        action: times of impact of the contacts.
        free_velocity: twists at which bodies move until then.
        h: length of the step [s].
    """
    mechanism = jnp.asarray(mechanisms(topology))
    hits = count_impacts(action.timed, action.delay, mechanism[contacts.bodies], len(mechanism))
    delay = safe.divide(hits[:, 1], hits[:, 0])[mechanism]
    time = jnp.where(jnp.asarray(topology.free), h * delay, 0.0)[:, None]
    rotation = quaternion.exp(time * free_velocity[:, 3:])
    return replace(
        state,
        position=state.position + time * free_velocity[:, :3],
        quaternion=quaternion.normalize(quaternion.multiply(rotation, state.quaternion)),
    )
