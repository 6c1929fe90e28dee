"""All velocities of a step side by side: those of the trees, then those of each family."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import block_diag
from jaxtyping import Array, Float

from jaxccp.model.family import FrameMap, MassRoot
from jaxccp.model.model import Model
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Velocities:
    """v = (v_trees, v_family0, …), which rows alone couple: J is made of columns for each of them,
    M̂ and its root L of blocks."""

    maps: tuple[FrameMap, ...]
    """The columns of J."""
    roots: tuple[MassRoot, ...] = ()
    """The blocks of L, or one for all where contacts couple them."""

    @staticmethod
    def of(model: Model, state: State, trees: FrameMap) -> "Velocities":
        """Make the velocities of bodies that ``trees`` move and of the model's families, as yet
        without L."""
        which, bodies = model.topology.family, len(model.topology.bodies)
        maps = [
            family.map(here.q, np.flatnonzero(which == index), bodies)
            for index, (family, here) in enumerate(zip(model.families, state.families, strict=True))
        ]
        return Velocities((trees, *maps))

    def rooted(
        self,
        model: Model,
        state: State,
        matrix: Float[Array, "n n"],
        h: Array | float,
        more: Float[Array, "nv nv"] | None = None,
    ) -> "Velocities":
        """Return them with L, by the mass matrix of the trees and those of the families, and by
        what couples them and is added to these, if anything does."""
        pairs = zip(model.families, state.families, strict=True)
        if more is not None:
            blocks = [matrix, *(family.mass_matrix(here.q, h) for family, here in pairs)]
            return replace(self, roots=(MassRoot.of(block_diag(*blocks) + more),))
        roots = [family.root(here.q, h) for family, here in pairs]
        return replace(self, roots=(MassRoot.of(matrix), *roots))

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of velocities of the trees, and of each family."""
        return tuple(part.count for part in self.maps)

    @property
    def count(self) -> int:
        """nv."""
        return sum(self.sizes)

    def split(self, v: Float[Array, "*n nv"]) -> list[Float[Array, "*n k"]]:
        """Split a vector into those of the trees and of each family."""
        return jnp.split(v, np.cumsum(self.sizes)[:-1], axis=-1) if len(self.maps) > 1 else [v]

    def twists(self, v: Float[Array, " nv"]) -> Float[Array, "nb 6"]:
        """J v of the bodies (linear, angular; world)."""
        return sum_of(part.twists(own) for part, own in zip(self.maps, self.split(v), strict=True))

    def pull(self, wrench: Float[Array, "nb 6"]) -> Float[Array, " nv"]:
        """Jᵀ f of forces and torques on the bodies, or of momenta."""
        return joined([part.pull(wrench) for part in self.maps])

    def along(
        self, rows: Float[Array, "n k w 6"], bodies: Array | np.ndarray
    ) -> Float[Array, "n w nv"]:
        """Rows on the velocities, from rows on the twists of k ``bodies`` each [n k]."""
        return joined([part.along(rows, bodies) for part in self.maps])

    def whiten(self, rows: Float[Array, "*n nv"]) -> Float[Array, "*n nv"]:
        """Rows times L; Lᵀ p of momenta p."""
        if len(self.roots) == 1:
            return self.roots[0].whiten(rows)
        parts = zip(self.roots, self.split(rows), strict=True)
        return joined([root.whiten(own) for root, own in parts])

    def unwhiten(self, whitened: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """L w."""
        if len(self.roots) == 1:
            return self.roots[0].velocities(whitened)
        parts = zip(self.roots, self.split(whitened), strict=True)
        return joined([root.velocities(own) for root, own in parts])

    def momenta(self, model: Model, state: State, h: Array | float) -> Float[Array, " nv"]:
        """What M̂ v⁺ of the families is without impulses; 0 of the trees."""
        pairs = zip(model.families, state.families, strict=True)
        own = [f.momentum(here.q, here.v, model.gravity, h) for f, here in pairs]
        return joined([jnp.zeros(self.sizes[0], state.position.dtype), *own])


def joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else jnp.concatenate(parts, axis=-1)


def sum_of(parts) -> Array:
    first, *others = parts
    for other in others:
        first = first + other
    return first
