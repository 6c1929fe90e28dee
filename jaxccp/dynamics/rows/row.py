"""Scalar rows of the problem, as each family makes them."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxccp.dynamics.inertia import InverseRoot
from jaxccp.model.kinematics import JointMotion
from jaxccp.model.model import Model
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Rows:
    """Rows between two bodies each: lo ≤ λ ≤ hi, u = J V⁺ + bias + compliance λ."""

    jacobian: Float[Array, "s 2 6"]
    """J: of the first and the second body's twist (linear, angular; world)."""
    bodies: Int[Array, "s 2"]
    bias: Float[Array, " s"]
    """b [m/s, rad/s]"""
    compliance: Float[Array, " s"]
    """E"""
    lo: Float[Array, " s"]
    """[N s, N m s]"""
    hi: Float[Array, " s"]

    def velocity(self, twist: Float[Array, "nb 6"]) -> Float[Array, " s"]:
        """J V."""
        return jnp.einsum("sbi,sbi->s", self.jacobian, twist[self.bodies])

    def whitened(self, root: InverseRoot) -> Float[Array, "s 12"]:
        """J L, both bodies side by side."""
        linear = root.linear[self.bodies][..., None] * self.jacobian[..., :3]
        angular = jnp.einsum("sbi,sbij->sbj", self.jacobian[..., 3:], root.angular[self.bodies])
        return jnp.concatenate([linear, angular], axis=-1).reshape(-1, 12)


@dataclass(frozen=True)
class Step:
    """What families make their rows from."""

    model: Model
    state: State
    motion: JointMotion
    h: Float[Array, ""] | float
    """[s]"""
    control: Float[Array, " nm"]

    def along(self, axes: np.ndarray) -> tuple[Array, Array]:
        """Jacobian and bodies of rows along axes."""
        linkage = self.model.topology.linkage
        return self.motion.axis[axes], jnp.asarray(linkage.bodies[linkage.owner[axes]], jnp.int32)

    def push(self, axes: np.ndarray, force: Float[Array, " k"]) -> Float[Array, "nb 6"]:
        """Forces and torques on the bodies (world) of forces along axes [N, N m]."""
        jacobian, bodies = self.along(axes)
        parts = force[:, None, None] * jacobian
        total = jnp.zeros((self.state.position.shape[0], 6), force.dtype)
        return total.at[bodies.reshape(-1)].add(parts.reshape(-1, 6))
