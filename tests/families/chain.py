"""A third family of velocities: a chain of point masses with springs between neighbours."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.math import safe
from jaxccp.model import Family, FamilyState


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Chain(Family):
    """A chain of n point masses, whose frames do not rotate; springs and dampers are implicit."""

    position: Float[Array, "n 3"]
    """Positions at the start, at rest [m]."""
    mass: Float[Array, " n"]
    stiffness: Float[Array, ""]
    """Stiffness of a spring [N/m]."""
    damping: Float[Array, ""]
    """Damping of a spring [N s/m]."""
    length: Float[Array, ""]
    """Length of a spring without force [m]."""

    @property
    def frames(self):
        return len(self.mass)

    def start(self):
        return FamilyState(self.position.reshape(-1), jnp.zeros(self.position.size))

    def poses(self, q):
        return q.reshape(-1, 3), jnp.zeros((self.frames, 4)).at[:, 0].set(1.0)

    def jacobian(self, q):
        unit = np.eye(3 * self.frames).reshape(self.frames, 3, -1).transpose(0, 2, 1)
        return jnp.pad(unit, ((0, 0), (0, 0), (0, 3)))

    def _springs(self, q):
        """Return the stretch of each spring, and its derivative in q."""
        away = jnp.diff(q.reshape(-1, 3), axis=0)
        direction = safe.normalize(away, jnp.eye(3)[0])
        index = np.arange(self.frames - 1)
        rows = jnp.zeros((self.frames - 1, self.frames, 3))
        rows = rows.at[index, index].set(-direction).at[index, index + 1].set(direction)
        return safe.norm(away) - self.length, rows.reshape(self.frames - 1, -1)

    def mass_matrix(self, q, h):
        _stretch, rows = self._springs(q)
        soft = h * self.damping + h * h * self.stiffness
        return jnp.diag(jnp.repeat(self.mass, 3)) + soft * rows.T @ rows

    def momentum(self, q, v, gravity, h):
        stretch, rows = self._springs(q)
        mass = jnp.repeat(self.mass, 3)
        weight = mass * jnp.tile(gravity, self.frames)
        return mass * v + h * (weight - self.stiffness * stretch @ rows)

    def advance(self, q, v, h):
        return q + h * v

    def energy(self, q, v, gravity):
        mass, (stretch, _rows) = jnp.repeat(self.mass, 3), self._springs(q)
        high = -self.mass @ (q.reshape(-1, 3) @ gravity)
        return 0.5 * mass @ v**2, high + 0.5 * self.stiffness * stretch @ stretch
