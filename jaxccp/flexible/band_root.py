"""The root of a mass matrix that is a narrow band, as that of a long chain of elements is."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.ccp.operators.band_cholesky import eliminated
from jaxccp.model.family import MassRoot


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BandRoot(MassRoot):
    """L = C⁻ᵀ with M̂ = C Cᵀ block bidiagonal: its products take O(k t²) for k tiles of t × t."""

    inverse: Float[Array, "k t t"]
    """Inverses of the tiles on the diagonal of C."""
    beside: Float[Array, "k t t"]
    """The tiles of C left of it."""
    count: int = field(metadata={"static": True})
    """nv, at most k t; what is filled up is the identity."""

    @staticmethod
    def of_tiles(tiles: Float[Array, "k t 2*t"], count: int) -> "BandRoot":
        """Factorise M̂ by its tiles left of the diagonal and on it; the factors are NaN where it is
        not definite."""
        left, own = jnp.split(tiles, 2, axis=2)
        number, width = own.shape[:2]
        filling = jnp.arange(number * width).reshape(number, width) >= count
        own = own + jnp.where(filling[:, :, None], jnp.eye(width, dtype=own.dtype), 0.0)
        return BandRoot(*eliminated(left, own), count)

    def whiten(self, rows: Float[Array, "*n nv"]) -> Float[Array, "*n nv"]:
        def forward(before: Array, now: tuple[Array, Array, Array]) -> tuple[Array, Array]:
            inverse, beside, own = now
            done = (own - before @ beside.T) @ inverse.T
            return done, done

        return self._swept(forward, rows)

    def velocities(self, whitened: Float[Array, " nv"]) -> Float[Array, " nv"]:
        def backward(after: Array, now: tuple[Array, Array, Array]) -> tuple[Array, Array]:
            inverse, beside, own = now
            done = (own - after) @ inverse
            return done @ beside, done

        return self._swept(backward, whitened, reverse=True)

    def _swept(self, step, rows: Float[Array, "*n nv"], reverse: bool = False):
        number, width = self.inverse.shape[:2]
        flat = rows.reshape(-1, self.count)
        filled = jnp.pad(flat, ((0, 0), (0, number * width - self.count)))
        tiles = filled.reshape(len(flat), number, width).transpose(1, 0, 2)
        over = self.inverse, self.beside, tiles
        _, done = lax.scan(step, jnp.zeros_like(tiles[0]), over, reverse=reverse)
        whole = done.transpose(1, 0, 2).reshape(len(flat), number * width)[:, : self.count]
        return whole.reshape(rows.shape)
