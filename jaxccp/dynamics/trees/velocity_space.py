"""Generalised velocities: those of the trees, of each family, and of free bodies."""

from dataclasses import dataclass, replace
from functools import reduce

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import block_diag
from jaxtyping import Array, Float

from jaxccp.dynamics.free_bodies.free_body_velocities import (
    FreeBodyMap,
    FreeBodyRoot,
    free_body_masses,
)
from jaxccp.math.rows import take_rows
from jaxccp.model.family import FrameMap, MassRoot
from jaxccp.model.model import Model
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class VelocitySpace:
    """The space of generalised velocities v = (v_trees, v_family0, …) of a model at a state.

    It has the Jacobian J, from v to the twists of all bodies, with columns for each part; and the
    root L of the inverse mass matrix, L Lᵀ = M̂⁻¹, with a block for each part. The last part may be
    the twists of free bodies outside the mass matrix of the trees.
    """

    maps: tuple[FrameMap, ...]
    """Columns of J for the trees and for each family."""
    roots: tuple[MassRoot, ...] = ()
    """Blocks of L for these parts; a single block if smooth contacts or rotors couple all parts;
    empty before :meth:`with_mass_root`."""
    free_bodies: FreeBodyMap | None = None
    """J of free bodies; None where they are no part of the velocities."""
    free_root: FreeBodyRoot | None = None
    """Block of L for free bodies; None where there are none, or they are coupled."""

    @staticmethod
    def of(
        model: Model, state: State, trees: FrameMap, free_bodies: bool = False
    ) -> "VelocitySpace":
        """Return the space of a model at a state, with J and without L.

        Args:
            model: the model.
            state: the state.
            trees: columns of J for the degrees of freedom of trees.
            free_bodies: whether free bodies outside the mass matrix are a part of their own.
        """
        family_of_body, bodies = model.topology.family, len(model.topology.bodies)
        maps = [
            family.map(family_state.q, np.flatnonzero(family_of_body == index), bodies)
            for index, (family, family_state) in enumerate(
                zip(model.families, state.families, strict=True)
            )
        ]
        free = free_bodies and model.topology.standalone.any()
        return VelocitySpace(
            (trees, *maps), free_bodies=FreeBodyMap(model.topology) if free else None
        )

    def with_mass_root(
        self,
        model: Model,
        state: State,
        matrix: Float[Array, "n n"],
        h: Array | float,
        coupling: Float[Array, "nv nv"] | None = None,
    ) -> "VelocitySpace":
        """Return the space with L, the root of the inverse mass matrix.

        Args:
            model: the model.
            state: the state.
            matrix: mass matrix of the trees; what is above its diagonal is not read.
            h: length of the step, for the families' own stiffness and damping [s].
            coupling: matrix over all velocities that is added to the blocks, or None.
        """
        pairs = zip(model.families, state.families, strict=True)
        if coupling is not None:
            root = MassRoot.of(self.mass_matrix(model, state, matrix, h) + coupling)
            return replace(self, roots=(root,))
        roots = [family.root(family_state.q, h) for family, family_state in pairs]
        free_root = None if self.free_bodies is None else FreeBodyRoot.of(model, state)
        return replace(self, roots=(MassRoot.of(matrix), *roots), free_root=free_root)

    def mass_matrix(
        self, model: Model, state: State, matrix: Float[Array, "n n"], h: Array | float
    ) -> Float[Array, "nv nv"]:
        """Return the mass matrix over all velocities, of a block for each part.

        Args:
            model: the model.
            state: the state.
            matrix: mass matrix of the trees.
            h: length of the step, for the families' own stiffness and damping [s]; 0 leaves these
                out.
        """
        pairs = zip(model.families, state.families, strict=True)
        blocks = [family.mass_matrix(family_state.q, h) for family, family_state in pairs]
        if self.free_bodies is not None:
            blocks.append(free_body_masses(model, state))
        return block_diag(matrix, *blocks)

    @property
    def _maps(self) -> tuple[FrameMap | FreeBodyMap, ...]:
        return self.maps if self.free_bodies is None else (*self.maps, self.free_bodies)

    @property
    def _roots(self) -> tuple[MassRoot | FreeBodyRoot, ...]:
        return self.roots if self.free_root is None else (*self.roots, self.free_root)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of velocities of the trees, of each family, and of free bodies where they are a
        part."""
        return tuple(part.count for part in self._maps)

    @property
    def count(self) -> int:
        """Number of velocities nv."""
        return sum(self.sizes)

    def split(self, v: Float[Array, "*n nv"]) -> list[Float[Array, "*n k"]]:
        """Split a vector into the parts of the trees, of each family, and of free bodies."""
        return jnp.split(v, np.cumsum(self.sizes)[:-1], axis=-1) if len(self.sizes) > 1 else [v]

    def families(self, v: Float[Array, " nv"]) -> tuple[Float[Array, " k"], ...]:
        """Return the parts of a vector that belong to families."""
        return tuple(self.split(v)[1 : len(self.maps)])

    def twists(self, v: Float[Array, " nv"]) -> Float[Array, "nb 6"]:
        """Return the twists J v of the bodies (linear, angular; world)."""
        parts = zip(self._maps, self.split(v), strict=True)
        return reduce(jnp.add, (part.twists(velocities) for part, velocities in parts))

    def pull(self, wrench: Float[Array, "nb 6"]) -> Float[Array, " nv"]:
        """Return Jᵀ f of forces and torques on the bodies, or of momenta."""
        return concatenated([part.pull(wrench) for part in self._maps])

    def project_rows(
        self, rows: Float[Array, "n k w 6"], bodies: Array | np.ndarray
    ) -> Float[Array, "n w nv"]:
        """Return rows over the velocities.

        Args:
            rows: rows over the twists of k bodies each.
            bodies: the k bodies of each row [n k].
        """
        return concatenated([part.project_rows(rows, bodies) for part in self._maps])

    def whiten(self, rows: Float[Array, "*n nv"]) -> Float[Array, "*n nv"]:
        """Return rows J as J L; for momenta p this is Lᵀ p."""
        if len(self._roots) == 1:
            return self.roots[0].whiten(rows)
        parts = zip(self._roots, self.split(rows), strict=True)
        return concatenated([root.whiten(part) for root, part in parts])

    def whiten_units(self, velocities: np.ndarray) -> Float[Array, "k nv"]:
        """Return the whitened unit rows of velocities of the trees: these rows of L.

        Args:
            velocities: their indices, each at most once.
        """
        rows = take_rows(self.roots[0].inverse, velocities)
        return jnp.pad(rows, ((0, 0), (0, self.count - rows.shape[1])))

    def unwhiten(self, whitened: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """Return the velocities L w of whitened ones."""
        if len(self._roots) == 1:
            return self.roots[0].unwhiten(whitened)
        parts = zip(self._roots, self.split(whitened), strict=True)
        return concatenated([root.unwhiten(part) for root, part in parts])

    def family_momenta(self, model: Model, state: State, h: Array | float) -> Float[Array, " nv"]:
        """Return M̂ v⁺ of the families for motion without impulses, and 0 for all else [N s,
        N m s].

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
        zeros = [jnp.zeros(size, state.position.dtype) for size in self.sizes]
        return concatenated([zeros[0], *momenta, *zeros[1 + len(momenta) :]])


def concatenated(parts: list[Array]) -> Array:
    """Concatenate parts along the last axis."""
    return parts[0] if len(parts) == 1 else jnp.concatenate(parts, axis=-1)
