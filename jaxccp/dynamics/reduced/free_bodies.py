"""Many free bodies beside mechanisms: six velocities each, whose masses are in no matrix."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.operators import BodyDelassus
from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.contact.contact_jacobian import whiten_contacts
from jaxccp.dynamics.inertia import InverseRoot, inverse_root
from jaxccp.dynamics.reduced.free_body_velocities import FreeBodyMap
from jaxccp.math import quaternion
from jaxccp.model.model import Model
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FreeBodies:
    """Bodies without joints (:attr:`jaxccp.model.Topology.standalone`), if all rigid bodies
    together are too many for one mass matrix; they only interact through contacts."""

    root: InverseRoot
    """L of these bodies; zero for all others."""
    free_velocity: Float[Array, "nb 6"]
    """Twists of these bodies without impulses; zero for all others."""
    impulse_map: BodyDelassus | None
    """Map from impulses of all rows to the bodies; None before :meth:`with_contacts`."""
    velocities: FreeBodyMap
    """J of their velocities, their twists one after another."""

    @staticmethod
    def of(model: Model, state: State, momentum: Float[Array, "nb 6"]) -> "FreeBodies":
        """Return the free bodies of a step, without rows yet.

        Args:
            model: the model.
            state: the state at the start of the step.
            momentum: momenta of the bodies without impulses [N s, N m s].
        """
        topology = model.topology
        root_of_all = inverse_root(model, quaternion.to_matrix(state.quaternion))
        mask = jnp.asarray(topology.standalone, state.position.dtype)
        root = InverseRoot(mask * root_of_all.linear, mask[:, None, None] * root_of_all.angular)
        free_velocity = root.apply(root.transpose(momentum))
        return FreeBodies(root, free_velocity, None, FreeBodyMap(topology))

    def whiten(self, contacts: Contacts, jacobian: tuple[Array, Array]) -> Float[Array, "c w 12"]:
        """Return W = J L of contacts on free bodies.

        Args:
            contacts: the contacts.
            jacobian: linear and angular parts of the rows.
        """
        return whiten_contacts(self.root, contacts, jacobian)

    def with_contacts(
        self,
        scalars: int,
        contacts: Contacts,
        contact_rows: Float[Array, "c w 12"],
        impulse_rows: Float[Array, "c w 12"],
    ) -> tuple["FreeBodies", BodyDelassus]:
        """Return the free bodies with the rows of contacts, and their part of N; scalar rows do not
        act on them.

        Args:
            scalars: number of scalar rows.
            contacts: the contacts.
            contact_rows: whitened rows of contacts, as N has them.
            impulse_rows: the same rows as they map impulses to bodies.
        """
        delassus = BodyDelassus(
            jnp.zeros((scalars, 12), contact_rows.dtype),
            contact_rows,
            jnp.zeros((scalars, 2), jnp.int32),
            contacts.bodies,
            jnp.zeros(scalars + contact_rows.shape[0] * contact_rows.shape[1], contact_rows.dtype),
            len(self.free_velocity),
        )
        impulse_map = replace(delassus, contact_rows=impulse_rows)
        return replace(self, impulse_map=impulse_map), delassus

    def after(self, lam: Float[Array, " n"]) -> Float[Array, " 6*l"]:
        """Return the twists of the free bodies after the impulses ``lam``, in one vector."""
        assert self.impulse_map is not None
        change = self.root.apply(self.impulse_map.impulse(lam))
        return self.velocities.pull(self.free_velocity + change)
