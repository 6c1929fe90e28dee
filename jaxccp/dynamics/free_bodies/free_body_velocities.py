"""Twists of free bodies as generalised velocities, outside the dense mass matrix."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.dynamics.body_mass import BodyMass
from jaxccp.dynamics.inertia import InverseRoot, inverse_root
from jaxccp.math import quaternion
from jaxccp.math.rows import put_rows, take_rows
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.model.topology import Topology


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FreeBodyMap:
    """The Jacobian J from the twists of l free bodies (:attr:`jaxccp.model.Topology.standalone`),
    one after another, to the twists of all bodies; a :class:`jaxccp.model.family.FrameMap` without
    its array."""

    topology: Topology = field(metadata={"static": True})
    """Topology of the model."""

    @property
    def bodies(self) -> np.ndarray:
        """Indices of the free bodies [l]."""
        return np.flatnonzero(self.topology.standalone)

    @property
    def count(self) -> int:
        """Number of velocities, 6 l."""
        return 6 * len(self.bodies)

    def twists(self, v: Float[Array, " 6*l"]) -> Float[Array, "nb 6"]:
        """Return the twists J v of all bodies [m/s, rad/s]."""
        still = jnp.zeros((len(self.topology.bodies), 6), v.dtype)
        return put_rows(still, self.bodies, v.reshape(-1, 6))

    def pull(self, wrench: Float[Array, "nb 6"]) -> Float[Array, " 6*l"]:
        """Return Jᵀ f of wrenches or momenta of all bodies: those of the free bodies."""
        return take_rows(wrench, self.bodies).reshape(-1)

    def project_rows(
        self, rows: Float[Array, "n k w 6"], bodies: Array | np.ndarray
    ) -> Float[Array, "n w 6*l"]:
        """Return rows over the velocities.

        Args:
            rows: rows over the twists of k bodies each.
            bodies: the k bodies of each row [n k].
        """
        count, _, width, _ = rows.shape
        free = len(self.bodies)
        place = np.full(len(self.topology.bodies), free)
        place[self.bodies] = np.arange(free)
        # The last column takes the rows of all other bodies.
        columns = jnp.zeros((count, free + 1, width, 6), rows.dtype)
        columns = columns.at[np.arange(count)[:, None], jnp.asarray(place)[bodies]].add(rows)
        return columns[:, :free].transpose(0, 2, 1, 3).reshape(count, width, 6 * free)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FreeBodyRoot:
    """The root L of the inverse masses of l free bodies, a block for each; a
    :class:`jaxccp.model.family.MassRoot` without its array."""

    root: InverseRoot
    """L of the free bodies."""

    @staticmethod
    def of(model: Model, state: State) -> "FreeBodyRoot":
        """Return the root at the state's orientations."""
        root = inverse_root(model, quaternion.to_matrix(state.quaternion))
        return FreeBodyRoot(
            jax.tree.map(lambda leaf: leaf[np.flatnonzero(model.topology.standalone)], root)
        )

    def whiten(self, rows: Float[Array, "*n 6*l"]) -> Float[Array, "*n 6*l"]:
        """Return the whitened rows J L of rows J, or Lᵀ p of momenta p."""
        parts = rows.reshape(*rows.shape[:-1], -1, 6)
        linear = parts[..., :3] * self.root.linear[:, None]
        angular = jnp.einsum("...bi,bij->...bj", parts[..., 3:], self.root.angular)
        return jnp.concatenate([linear, angular], axis=-1).reshape(rows.shape)

    def unwhiten(self, whitened: Float[Array, " 6*l"]) -> Float[Array, " 6*l"]:
        """Return the velocities L w of whitened ones."""
        return self.root.apply(whitened.reshape(-1, 6)).reshape(-1)


def free_body_masses(model: Model, state: State) -> Float[Array, "6*l 6*l"]:
    """Return the mass matrix of the free bodies, for forces that couple them.

    Args:
        model: the model.
        state: the state, with the orientations of the bodies.
    """
    bodies = np.flatnonzero(model.topology.standalone)
    mass = BodyMass.of(model, state)
    blocks = jnp.zeros((len(bodies), 6, 6), state.position.dtype)
    blocks = blocks.at[:, :3, :3].set(mass.mass[bodies, None, None] * jnp.eye(3))
    blocks = blocks.at[:, 3:, 3:].set(mass.inertia[bodies])
    identity = jnp.eye(len(bodies), dtype=blocks.dtype)[:, None, :, None]
    return (identity * blocks[:, :, None, :]).reshape(6 * len(bodies), -1)
