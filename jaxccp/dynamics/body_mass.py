"""Masses and inertias of bodies in the world."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.dynamics.inertia import world_inertia
from jaxccp.math import quaternion
from jaxccp.model.model import Model
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BodyMass:
    """The mass operator of the bodies one by one; zero for fixed ones."""

    mass: Float[Array, " nb"]
    """Mass of each body [kg]."""
    inertia: Float[Array, "nb 3 3"]
    """Inertia about the centre of mass, world axes [kg m²]."""

    @staticmethod
    def of(model: Model, state: State) -> "BodyMass":
        """Compute the operator at the state's orientations."""
        free = jnp.asarray(model.topology.free, state.position.dtype)
        inertia = world_inertia(model, quaternion.to_matrix(state.quaternion))
        return BodyMass(free * model.bodies.mass, free[:, None, None] * inertia)

    def apply(self, twist: Float[Array, "nb 6"]) -> Float[Array, "nb 6"]:
        """Return momenta [N s] and angular momenta [N m s] of twists."""
        spin = jnp.einsum("bij,bj->bi", self.inertia, twist[:, 3:])
        return jnp.concatenate([self.mass[:, None] * twist[:, :3], spin], axis=1)

    def columns(self, twists: Float[Array, "nb 6 n"]) -> Float[Array, "nb 6 n"]:
        """Return momenta [N s] and angular momenta [N m s] of n twists of each body."""
        spin = self.inertia @ twists[:, 3:]
        return jnp.concatenate([self.mass[:, None, None] * twists[:, :3], spin], axis=1)
