"""Velocities of a step: those of the trees, then those of each family."""

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
    """Velocities v = (v_trees, v_family0, …) with J, which has columns for each part, and the root
    L of M̂⁻¹, which has blocks.

    Only rows couple the parts.
    """

    maps: tuple[FrameMap, ...]
    """Columns of J for each part."""
    roots: tuple[MassRoot, ...] = ()
    """Blocks of L; a single block if smooth contacts couple the parts."""

    @staticmethod
    def of(model: Model, state: State, trees: FrameMap) -> "Velocities":
        """Return the velocities of a model, with J and without L.

        Args:
            model: the model.
            state: the state.
            trees: columns of J for the degrees of freedom of trees.
        """
        family_of_body, bodies = model.topology.family, len(model.topology.bodies)
        maps = [
            family.map(family_state.q, np.flatnonzero(family_of_body == index), bodies)
            for index, (family, family_state) in enumerate(
                zip(model.families, state.families, strict=True)
            )
        ]
        return Velocities((trees, *maps))

    def with_mass_root(
        self,
        model: Model,
        state: State,
        matrix: Float[Array, "n n"],
        h: Array | float,
        coupling: Float[Array, "nv nv"] | None = None,
    ) -> "Velocities":
        """Return the velocities with L, the root of the inverse mass matrix.

        Args:
            model: the model.
            state: the state.
            matrix: mass matrix of the trees.
            h: length of the step, for the families' own stiffness and damping [s].
            coupling: matrix over all velocities that is added to the blocks, or None.
        """
        pairs = zip(model.families, state.families, strict=True)
        if coupling is not None:
            blocks = [
                matrix,
                *(family.mass_matrix(family_state.q, h) for family, family_state in pairs),
            ]
            return replace(self, roots=(MassRoot.of(block_diag(*blocks) + coupling),))
        roots = [family.root(family_state.q, h) for family, family_state in pairs]
        return replace(self, roots=(MassRoot.of(matrix), *roots))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of velocities of the trees, and of each family."""
        return tuple(part.count for part in self.maps)

    @property
    def count(self) -> int:
        """Number of velocities nv."""
        return sum(self.sizes)

    def split(self, v: Float[Array, "*n nv"]) -> list[Float[Array, "*n k"]]:
        """Split a vector into the parts of the trees and of each family."""
        return jnp.split(v, np.cumsum(self.sizes)[:-1], axis=-1) if len(self.maps) > 1 else [v]

    def twists(self, v: Float[Array, " nv"]) -> Float[Array, "nb 6"]:
        """Return the twists J v of the bodies (linear, angular; world)."""
        return sum_parts(
            part.twists(velocities)
            for part, velocities in zip(self.maps, self.split(v), strict=True)
        )

    def pull(self, wrench: Float[Array, "nb 6"]) -> Float[Array, " nv"]:
        """Return Jᵀ f of forces and torques on the bodies, or of momenta."""
        return concatenated([part.pull(wrench) for part in self.maps])

    def project_rows(
        self, rows: Float[Array, "n k w 6"], bodies: Array | np.ndarray
    ) -> Float[Array, "n w nv"]:
        """Return rows over the velocities.

        Args:
            rows: rows over the twists of k bodies each.
            bodies: the k bodies of each row [n k].
        """
        return concatenated([part.project_rows(rows, bodies) for part in self.maps])

    def whiten(self, rows: Float[Array, "*n nv"]) -> Float[Array, "*n nv"]:
        """Return rows J as J L; for momenta p this is Lᵀ p."""
        if len(self.roots) == 1:
            return self.roots[0].whiten(rows)
        parts = zip(self.roots, self.split(rows), strict=True)
        return concatenated([root.whiten(part) for root, part in parts])

    def unwhiten(self, whitened: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """Return the velocities L w of whitened ones."""
        if len(self.roots) == 1:
            return self.roots[0].velocities(whitened)
        parts = zip(self.roots, self.split(whitened), strict=True)
        return concatenated([root.velocities(part) for root, part in parts])

    def family_momenta(self, model: Model, state: State, h: Array | float) -> Float[Array, " nv"]:
        """Return M̂ v⁺ of the families for motion without impulses, and 0 for the trees [N s].

        Args:
            model: the model, with gravity.
            state: the state at the start of the step.
            h: length of the step [s].
        """
        pairs = zip(model.families, state.families, strict=True)
        momenta = [
            f.momentum(family_state.q, family_state.v, model.gravity, h)
            for f, family_state in pairs
        ]
        return concatenated([jnp.zeros(self.sizes[0], state.position.dtype), *momenta])


def concatenated(parts: list[Array]) -> Array:
    """Concatenate parts along the last axis."""
    return parts[0] if len(parts) == 1 else jnp.concatenate(parts, axis=-1)


def sum_parts(parts) -> Array:
    """Return the sum of several arrays."""
    first, *rest = parts
    for part in rest:
        first = first + part
    return first
