"""Many rigid bodies that nothing is joined to, beside mechanisms: six velocities each, whose masses
are no part of a matrix."""

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.ccp.operators import BodyDelassus
from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.contact_rows import whiten_contacts
from jaxccp.dynamics.inertia import InverseRoot, inverse_root
from jaxccp.math import quaternion
from jaxccp.model.model import Model, Topology
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Loose:
    """The loose bodies of a step (:attr:`jaxccp.model.Topology.loose`): only contacts act between
    them and all else."""

    root: InverseRoot
    """L; zero for all other bodies."""
    free: Float[Array, "nb 6"]
    """Their twists without impulses; zero for all others."""
    delassus: BodyDelassus | None
    """What they contribute to N, once there are rows."""
    pushes: BodyDelassus | None
    """The same, with what impulses do to them."""
    topology: Topology = field(metadata={"static": True})

    @staticmethod
    def of(model: Model, state: State, momentum: Float[Array, "nb 6"]) -> "Loose":
        """Make it with the momenta that bodies have without impulses, as yet without rows."""
        topology = model.topology
        whole = inverse_root(model, quaternion.to_matrix(state.quaternion))
        mask = jnp.asarray(topology.loose, state.position.dtype)
        root = InverseRoot(mask * whole.linear, mask[:, None, None] * whole.angular)
        return Loose(root, root.apply(root.transpose(momentum)), None, None, topology)

    def whiten(self, contacts: Contacts, jacobian: tuple[Array, Array]) -> Float[Array, "c w 12"]:
        """Rows of contacts on them, times L."""
        return whiten_contacts(self.root, contacts, jacobian)

    def touched(
        self,
        scalars: int,
        contacts: Contacts,
        felt: Float[Array, "c w 12"],
        pushing: Float[Array, "c w 12"],
    ) -> "Loose":
        """Return it with the whitened rows of contacts, as N has them and as impulses push; scalar
        rows do not touch loose bodies."""
        delassus = BodyDelassus(
            jnp.zeros((scalars, 12), felt.dtype),
            felt,
            jnp.zeros((scalars, 2), jnp.int32),
            contacts.bodies,
            jnp.zeros(scalars + felt.shape[0] * felt.shape[1], felt.dtype),
            len(self.free),
        )
        pushes = replace(delassus, contact_rows=pushing)
        return replace(self, delassus=delassus, pushes=pushes)

    def after(self, lam: Float[Array, " n"]) -> Float[Array, " l"]:
        """Velocities after the impulses ``lam``: the loose bodies' twists one after another."""
        assert self.pushes is not None
        return self.gather(self.free + self.root.apply(self.pushes.impulse(lam)))

    def gather(self, twist: Float[Array, "nb 6"]) -> Float[Array, " l"]:
        """Gather, from all bodies' twists, those of the loose ones, one after another."""
        return twist[np.flatnonzero(self.topology.loose)].reshape(-1)

    def place(self, twist: Float[Array, "nb 6"], velocity: Float[Array, " l"]) -> Array:
        """Twists of all bodies, with those of the loose ones put in."""
        return twist.at[np.flatnonzero(self.topology.loose)].set(velocity.reshape(-1, 6))
