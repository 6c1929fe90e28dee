"""Offsets of the bodies' velocities and the rows' multipliers in the vectors of the whole
system."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int


@dataclass(frozen=True)
class Offsets:
    """Offsets of the bodies' velocities and of the rows in the vectors of the whole system.

    Fixed bodies have no variables. Variables come first, then the rows in the order of the problem,
    scalar rows first (see :meth:`jaxccp.ccp.Cones.split`).
    """

    free: tuple[bool, ...]
    """Mask of the bodies that are not fixed."""
    rows: int
    """Number of rows."""

    @property
    def variables(self) -> int:
        """Number of variables: six for each body that is not fixed."""
        return 6 * sum(self.free)

    @property
    def bodies(self) -> Int[np.ndarray, " nb"]:
        """Index of the first variable of each body; -1 for fixed bodies."""
        free = np.asarray(self.free, bool)
        return np.where(free, 6 * (np.cumsum(free) - 1), -1)

    def gather(self, per_body: Float[Array, "nb 6"]) -> Float[Array, " v"]:
        """Return the variables of all bodies, or the forces on them, as one vector."""
        return per_body[np.flatnonzero(self.free)].reshape(-1)

    def scatter(self, variables: Float[Array, " v"]) -> Float[Array, "nb 6"]:
        """Return the variables as one line per body, the inverse of :meth:`gather`; fixed bodies
        get zeros."""
        per_body = jnp.zeros((len(self.free), 6), variables.dtype)
        return per_body.at[np.flatnonzero(self.free)].set(variables.reshape(-1, 6))

    def join(
        self, per_body: Float[Array, "nb 6"], per_row: Float[Array, " n"]
    ) -> Float[Array, " v+n"]:
        """Return the unknowns of the whole system, variables first."""
        return jnp.concatenate([self.gather(per_body), per_row])

    def split(
        self, unknowns: Float[Array, " v+n"]
    ) -> tuple[Float[Array, "nb 6"], Float[Array, " n"]]:
        """Split the unknowns of the whole system; the inverse of :meth:`join`."""
        return self.scatter(unknowns[: self.variables]), unknowns[self.variables :]
