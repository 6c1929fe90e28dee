"""Units of the multipliers of contacts."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ContactUnits:
    """Converts multipliers of contacts to impulses in world axes and back."""

    frame: Float[Array, "c 3 3"]
    """Rows: normal and two tangents of each contact, world axes."""
    rolling_length: Float[Array, " c"]
    """Length by which the rows of spinning and rolling friction are multiplied [m]."""

    def to_world(self, blocks: Float[Array, "c w"]) -> Float[Array, "c w"]:
        """Return the impulses of multipliers in world axes [N s]; if contacts roll, then the
        angular ones [N m s]."""
        local = self._units(blocks) * self._split(blocks)
        return jnp.einsum("cij,cki->ckj", self.frame, local).reshape(blocks.shape)

    def to_local(self, impulse: Float[Array, "c w"]) -> Float[Array, "c w"]:
        """Return the multipliers of impulses in world axes."""
        local = jnp.einsum("cij,ckj->cki", self.frame, self._split(impulse))
        return (local / self._units(impulse)).reshape(impulse.shape)

    def row_units(self, width: int) -> Float[Array, "c w"]:
        """Return the factor of each row: 1, or the rolling length [m] for rows of spinning and
        rolling."""
        return jnp.where(np.arange(width) < 3, 1.0, self.rolling_length[:, None])

    def _split(self, blocks: Float[Array, "c w"]) -> Float[Array, "c k 3"]:
        return blocks.reshape(blocks.shape[0], blocks.shape[1] // 3, 3)

    def _units(self, blocks: Float[Array, "c w"]) -> Float[Array, "c k 1"]:
        units = jnp.stack([jnp.ones_like(self.rolling_length), self.rolling_length], axis=1)
        return units[:, : blocks.shape[1] // 3, None]
