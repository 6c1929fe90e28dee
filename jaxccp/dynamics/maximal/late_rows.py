"""Where mechanisms are when they are hit within a step: the rows of joints answer from there."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.answering import hits_of
from jaxccp.dynamics.impact import Action
from jaxccp.dynamics.inertia import InverseRoot
from jaxccp.dynamics.maximal.equalities import Equalities, equalities
from jaxccp.dynamics.maximal.forest import Forest
from jaxccp.dynamics.rows.row import Rows
from jaxccp.math import quaternion, safe
from jaxccp.model.model import Topology
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Answers:
    """The eliminated rows when mechanisms are hit."""

    felt: Equalities
    """As bodies feel them, at the orientations that they have then."""
    pushing: Equalities
    """With what their impulses do to the momenta of bodies, in velocities at the orientations of
    the start of the step."""

    @staticmethod
    def of(
        rows: Rows, rigid: int, forest: Forest, root: InverseRoot, there: InverseRoot
    ) -> "Answers":
        """Factorise the rows of then.

        Args:
            rows: at the poses of then.
            rigid: how many of them, the first, are not compliant.
            forest: of these rows.
            root: L at the start of the step.
            there: L at the orientations of then.
        """
        felt = equalities(rows, rows.whitened(there), rigid, forest)
        return Answers(felt, replace(felt, rows=rows.whitened(root)))

    def moved(
        self, felt: Float[Array, "nb 6"], push: Float[Array, "nb 6"]
    ) -> tuple[Float[Array, "nb 6"], Float[Array, " m"]]:
        """Whitened velocities that impulses add, which alone are felt as ``felt`` and do ``push``;
        and the impulses that answer."""
        _, lam = self.felt.solve(felt, jnp.zeros_like(self.felt.compliance))
        return push + self.pushing.spread(lam), lam


def mechanisms(topology: Topology) -> np.ndarray:
    """Return the mechanism of each body [nb]: the first of all moving bodies that joints and
    tendons connect, directly or through others; itself where none does."""
    linkage = topology.linkage
    first = np.arange(len(topology.bodies))
    for bodies in (*linkage.bodies, *linkage.routing.bodies):
        connected = first[bodies[topology.free[bodies]]]
        if len(connected):
            first[np.isin(first, connected)] = connected.min()
    return first


def at_hit(
    topology: Topology,
    state: State,
    contacts: Contacts,
    action: Action,
    free_velocity: Float[Array, "nb 6"],
    h: Float[Array, ""] | float,
) -> State:
    """The state with all bodies where the twists ``free_velocity`` have led them to when their
    mechanism is hit within a step of ``h`` [s]: at the mean time of its impacts; at the start of
    the step where there are none.

    An impulse λ on a mechanism at the time τ is answered by impulses along the rows that joints
    have then. With those of the start of the step velocities would jump by an error of the order of
    h as an impact moves through the step, once per h of time.
    """
    mechanism = jnp.asarray(mechanisms(topology))
    hits = hits_of(action.timed, action.delay, mechanism[contacts.bodies], len(mechanism))
    delay = safe.divide(hits[:, 1], hits[:, 0])[mechanism]
    time = jnp.where(jnp.asarray(topology.free), h * delay, 0.0)[:, None]
    turn = quaternion.exp(time * free_velocity[:, 3:])
    return replace(
        state,
        position=state.position + time * free_velocity[:, :3],
        quaternion=quaternion.normalize(quaternion.multiply(turn, state.quaternion)),
    )
