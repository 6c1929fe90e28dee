"""The root of the inverse of a mass matrix with a narrow band, such as that of a long chain of
elements."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.ccp.operators.band_cholesky import factorise_tiles
from jaxccp.model.family import MassRoot


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BandRoot(MassRoot):
    """The root L = C⁻ᵀ of M̂⁻¹, where M̂ = C Cᵀ with a block bidiagonal C.

    A product takes O(k t²) for k tiles of t × t.
    """

    inverse: Float[Array, "k t t"]
    """Inverses of the tiles on the diagonal of C."""
    lower: Float[Array, "k t t"]
    """The tiles of C left of the diagonal."""
    count: int = field(metadata={"static": True})
    """Number nv of velocities, at most k t; the matrix is padded with the identity."""

    @staticmethod
    def of_tiles(tiles: Float[Array, "k t 2*t"], count: int) -> "BandRoot":
        """Factorise M̂; the factors are NaN where it is not definite.

        Args:
            tiles: the tiles of M̂ left of the diagonal and on it, side by side.
            count: number of velocities.
        """
        left, diagonal = jnp.split(tiles, 2, axis=2)
        number, width = diagonal.shape[:2]
        filling = jnp.arange(number * width).reshape(number, width) >= count
        diagonal = diagonal + jnp.where(
            filling[:, :, None], jnp.eye(width, dtype=diagonal.dtype), 0.0
        )
        return BandRoot(*factorise_tiles(left, diagonal), count)

    def whiten(self, rows: Float[Array, "*n nv"]) -> Float[Array, "*n nv"]:
        def forward(before: Array, factors: tuple[Array, Array, Array]) -> tuple[Array, Array]:
            inverse, lower, rows_of_tile = factors
            done = (rows_of_tile - before @ lower.T) @ inverse.T
            return done, done

        return self._swept(forward, rows)

    def unwhiten(self, whitened: Float[Array, " nv"]) -> Float[Array, " nv"]:
        def backward(after: Array, factors: tuple[Array, Array, Array]) -> tuple[Array, Array]:
            inverse, lower, rows_of_tile = factors
            done = (rows_of_tile - after) @ inverse
            return done @ lower, done

        return self._swept(backward, whitened, reverse=True)

    def _swept(self, step, rows: Float[Array, "*n nv"], reverse: bool = False):
        """Return ``rows`` after a scan over the tiles with ``step``, forwards or in reverse."""
        number, width = self.inverse.shape[:2]
        flat = rows.reshape(-1, self.count)
        filled = jnp.pad(flat, ((0, 0), (0, number * width - self.count)))
        tiles = filled.reshape(len(flat), number, width).transpose(1, 0, 2)
        factors_and_rows = self.inverse, self.lower, tiles
        _, done = lax.scan(step, jnp.zeros_like(tiles[0]), factors_and_rows, reverse=reverse)
        flattened = done.transpose(1, 0, 2).reshape(len(flat), number * width)[:, : self.count]
        return flattened.reshape(rows.shape)
