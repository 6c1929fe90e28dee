"""A body of finite elements: vector coordinates of nodes, with a constant sparse mass matrix."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.execution.jitted import jitted
from jaxccp.flexible import elements as integrals
from jaxccp.flexible.band_root import BandRoot
from jaxccp.flexible.elements import Elements
from jaxccp.flexible.frames import NodeMap, node_map, orientations, positions
from jaxccp.flexible.layout import Layout
from jaxccp.model.family import Family, FamilyState


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class NodalFamily(Family):
    """A body of elements on nodes, with n vector coordinates x: M v̇ = −∂U/∂x − ∂R/∂v + M g + load.

    The components of x that are not fixed are q, their rates v. A step is implicit in elastic and
    damping forces: M̂ = M + h D + h² K. K is the exact stiffness if M̂ is then positive definite.
    If not, as in a column that buckles in a step, K is :meth:`Law.convex`, which damps more.
    """

    elements: Elements
    """The elements, all of one kind."""
    position: Float[Array, "n 3"]
    """Vector coordinates at time 0; fixed components keep these values."""
    velocity: Float[Array, "n 3"]
    """Rates of the vector coordinates at time 0; 0 for fixed components."""
    load: Float[Array, "n 3"]
    """Constant generalised forces: [N] on positions, [N m] on first derivatives."""
    layout: Layout = field(metadata={"static": True})
    """The static data."""

    @property
    def frames(self) -> int:
        return self.layout.count

    @property
    def skin(self) -> np.ndarray:
        return super().skin if self.layout.skin is None else self.layout.skin

    @property
    def reach(self) -> int:
        return self.layout.reach

    def moving(self, frames: np.ndarray) -> np.ndarray:
        velocities = np.unique(self.layout.columns[frames])
        return velocities[velocities < len(self.layout.free)]

    def frame_freedoms(self) -> np.ndarray:
        return self.layout.frame_freedoms

    @jitted
    def start(self) -> FamilyState:
        free = self.layout.free
        return FamilyState(self.position.reshape(-1)[free], self.velocity.reshape(-1)[free])

    def coordinates(self, q: Float[Array, " nv"]) -> Float[Array, "n 3"]:
        """Return all vector coordinates x, including the fixed ones."""
        flat = self.position.reshape(-1).astype(q.dtype).at[self.layout.free].set(q)
        return flat.reshape(-1, 3)

    def rates(self, v: Float[Array, " nv"]) -> Float[Array, "n 3"]:
        """Return the rates ẋ of all vector coordinates."""
        flat = jnp.zeros(self.position.size, v.dtype).at[self.layout.free].set(v)
        return flat.reshape(-1, 3)

    @jitted
    def poses(self, q: Float[Array, " nv"]) -> tuple[Float[Array, "nf 3"], Float[Array, "nf 4"]]:
        x = self.coordinates(q)
        return positions(self.layout, x), orientations(self.layout, self.position, x)

    def jacobian(self, q: Float[Array, " nv"]) -> Float[Array, "nf nv 6"]:
        frame_map = node_map(self.layout, self.coordinates(q), np.arange(self.frames), self.frames)
        return jax.vmap(frame_map.twists, out_axes=1)(jnp.eye(frame_map.count, dtype=q.dtype))

    def map(self, q: Float[Array, " nv"], frames: np.ndarray, bodies: int) -> NodeMap:
        return node_map(self.layout, self.coordinates(q), frames, bodies)

    def elastic_energy(self, q: Float[Array, " nv"]) -> Float[Array, ""]:
        """Return the elastic energy U [J]."""
        return jnp.sum(integrals.energies(self._points, self._of_elements(q)))

    def dissipated_power(self, q: Float[Array, " nv"], v: Float[Array, " nv"]) -> Float[Array, ""]:
        """Return the power that the damping dissipates [W]."""
        rate = self.rates(v)[self.layout.rows]
        return jnp.sum(integrals.dissipations(self._points, self._of_elements(q), rate))

    def inverted(self, q: Float[Array, " nv"]) -> Bool[Array, " e"]:
        """Return a mask of the elements with a point whose volume is not positive, or is NaN."""
        return ~(integrals.smallest_ratios(self._points, self._of_elements(q)) > 0)

    def force(self, q: Float[Array, " nv"], gravity: Float[Array, "3"]) -> Float[Array, " nv"]:
        """Return the sum of the generalised elastic forces, gravity and loads, without damping."""
        elastic = integrals.elastic_forces(self._points, self._of_elements(q))
        return self._gathered(elastic) + self._weight(gravity, q.dtype)

    def forces(
        self, q: Float[Array, " nv"], v: Float[Array, " nv"], gravity: Float[Array, "3"]
    ) -> Float[Array, " nv"]:
        rate = self.rates(v)[self.layout.rows]
        damping = integrals.damping_forces(self._points, self._of_elements(q), rate)
        return self.force(q, gravity) + self._gathered(damping)

    def stiffness(self, q: Float[Array, " nv"]) -> Float[Array, "nv nv"]:
        """Return K = −∂f/∂q of the elastic forces f; it may be indefinite in a strained body."""
        points = self._points
        y = integrals.gradients(points, self._of_elements(q))
        return self._assembled(integrals.quadratic(points, points.law.at(y, "stiffness")))

    def inertia(self) -> Float[Array, "nv nv"]:
        """Return the mass matrix M."""
        return self._assembled(self._mass_blocks)

    def apply_mass(self, v: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """Return the generalised momenta M v."""
        rates = self.rates(v)[self.layout.rows]
        return self._gathered(jnp.einsum("ekl,elc->ekc", self._masses, rates))

    def mass_matrix(self, q: Float[Array, " nv"], h: Array | float) -> Float[Array, "nv nv"]:
        return self._assembled(self._definite(q, h))

    def root(self, q: Float[Array, " nv"], h: Array | float) -> BandRoot:
        return self._rooted(q, h)[0]

    def tangent_root(self, q: Float[Array, " nv"], h: Array | float) -> BandRoot:
        parts = self.element_matrices(q, h, "stiffness")
        # Add the size of rounding errors, above the stiffness of free motions in long steps.
        diagonal = jnp.eye(3 * parts.shape[1], dtype=q.dtype).reshape(parts.shape[1:])
        rounding = q.size * float(jnp.finfo(q.dtype).eps) * diagonal
        return self.factorise(parts + rounding * jnp.abs(parts))

    @property
    def _points(self) -> integrals.Points:
        """The integration points, in the precision of the family."""
        return jax.tree.map(self._cast, self.elements.points())

    @property
    def _masses(self) -> Float[Array, "e k k"]:
        """The elements' mass matrices, in the precision of the family."""
        return self._cast(self.elements.masses())

    def _cast(self, numbers: Array) -> Array:
        """Return numbers in the family's precision; integration rules may be in float64."""
        return numbers.astype(self.position.dtype)

    def factorise(self, parts: Float[Array, "e k 3 k 3"]) -> BandRoot:
        """Return the root of the inverse of the sum of the elements' matrices ``parts``."""
        return BandRoot.of_tiles(self._tiles(parts), len(self.layout.free))

    def _definite(self, q: Float[Array, " nv"], h: Array | float) -> Float[Array, "e k 3 k 3"]:
        """Return the elements' parts of M̂, with the stiffness that makes it positive definite."""
        return self.implicit(q, h, self._rooted(q, h)[1])

    def _rooted(self, q: Float[Array, " nv"], h: Array | float) -> tuple[BandRoot, Bool[Array, ""]]:
        """Return the root of M̂⁻¹, and whether it uses the convex stiffness."""
        if isinstance(h, int | float) and h == 0:  # M̂ = M
            return self.factorise(self._mass_blocks), jnp.asarray(False)
        return _checked_root(self, q, jnp.asarray(h, q.dtype))

    def implicit(
        self, q: Float[Array, " nv"], h: Array | float, convex: Bool[Array, ""]
    ) -> Float[Array, "e k 3 k 3"]:
        """Return the elements' parts of M̂, with the exact or the convex stiffness.

        Args:
            q: coordinates.
            h: length of the step [s].
            convex: whether to use the convex stiffness.
        """
        parts = self.element_matrices(q, h, "stiffness")
        return jax.lax.cond(convex, lambda: self.element_matrices(q, h, "convex"), lambda: parts)

    def element_matrices(
        self, q: Float[Array, " nv"], h: Array | float, which: str
    ) -> Float[Array, "e k 3 k 3"]:
        """Return the elements' parts of M̂ with one of the law's stiffnesses.

        Args:
            q: coordinates.
            h: length of the step [s].
            which: name of the law's method that gives the stiffness: "stiffness" or "convex".
        """
        if isinstance(h, int | float) and h == 0:  # M̂ = M
            return self._mass_blocks
        y, law = integrals.gradients(self._points, self._of_elements(q)), self._points.law
        density = h * h * law.at(y, which) + h * law.at(y, "viscosity")
        return self._mass_blocks + integrals.quadratic(self._points, density)

    def momentum(
        self,
        q: Float[Array, " nv"],
        v: Float[Array, " nv"],
        gravity: Float[Array, "3"],
        h: Array | float,
    ) -> Float[Array, " nv"]:
        return self.apply_mass(v) + h * self.force(q, gravity)

    def advance(
        self, q: Float[Array, " nv"], v: Float[Array, " nv"], h: Array | float
    ) -> Float[Array, " nv"]:
        return q + h * v

    def energy(
        self, q: Float[Array, " nv"], v: Float[Array, " nv"], gravity: Float[Array, "3"]
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        x = self.coordinates(q)
        acceleration = jnp.where(self.layout.positions[:, None], gravity, 0.0)[self.layout.rows]
        potential = -jnp.einsum("ekc,ekl,elc->", x[self.layout.rows], self._masses, acceleration)
        kinetic = 0.5 * v @ self.apply_mass(v)
        return kinetic, self.elastic_energy(q) + potential - jnp.sum(self.load * x)

    def _weight(self, gravity: Float[Array, "3"], dtype) -> Float[Array, " nv"]:
        """Return the forces of gravity, which accelerates positions only, and loads."""
        down = jnp.where(self.layout.positions[:, None], gravity, 0.0).astype(dtype)
        weight = jnp.einsum("ekl,elc->ekc", self._masses, down[self.layout.rows])
        return self._gathered(weight) + self.load.reshape(-1)[self.layout.free]

    def _of_elements(self, q: Float[Array, " nv"]) -> Float[Array, "e k 3"]:
        """Return the vector coordinates of each element."""
        return self.coordinates(q)[self.layout.rows]

    def _gathered(self, parts: Float[Array, "e k 3"]) -> Float[Array, " nv"]:
        """Return the sum of the elements' vectors, for the components that are not fixed."""
        full = jnp.zeros(self.position.shape, parts.dtype).at[self.layout.rows].add(parts)
        return full.reshape(-1)[self.layout.free]

    @property
    def _mass_blocks(self) -> Float[Array, "e k 3 k 3"]:
        return jnp.einsum("ekl,cd->ekcld", self._masses, jnp.eye(3, dtype=self._masses.dtype))

    def _assembled(self, parts: Float[Array, "e k 3 k 3"]) -> Float[Array, "nv nv"]:
        """Return the sum of the elements' matrices, for the components that are not fixed."""
        count, indices = len(self.layout.free), self.layout.element_columns
        entries = parts.reshape(*indices.shape, indices.shape[1])
        full = jnp.zeros((count + 1, count + 1), parts.dtype)
        return full.at[indices[:, :, None], indices[:, None, :]].add(entries)[:count, :count]

    def _tiles(self, parts: Float[Array, "e k 3 k 3"]) -> Float[Array, "k t 2*t"]:
        """Return the assembled matrix as tiles left of the diagonal and on it."""
        (number, width), indices = self.layout.tiles, self.layout.tile_entries
        full = jnp.zeros((number + 1, width, 2 * width), parts.dtype)
        return full.at[indices].add(parts.reshape(indices[0].shape))[:number]


@jax.custom_jvp
def _checked_root(
    family: NodalFamily, q: Float[Array, " nv"], h: Float[Array, ""]
) -> tuple[BandRoot, Bool[Array, ""]]:
    """Return the root of M̂⁻¹ and whether it uses the convex stiffness.

    A loop, unlike a branch, costs nothing in a batch in which no copy needs it. K is chosen before
    differentiation, which would otherwise give NaN.
    """

    def convex_root(_: tuple[BandRoot, Array]) -> tuple[BandRoot, Array]:
        return family.factorise(family.element_matrices(q, h, "convex")), jnp.asarray(True)

    start = family.factorise(family.element_matrices(q, h, "stiffness")), jnp.asarray(False)
    return jax.lax.while_loop(
        lambda carry: ~(carry[1] | jnp.all(jnp.isfinite(carry[0].inverse))), convex_root, start
    )


@_checked_root.defjvp
def _checked_root_jvp(primals: tuple, tangents: tuple) -> tuple:
    failed = _checked_root(*primals)[1]

    def root_with_same_stiffness(family: NodalFamily, q: Array, h: Array) -> BandRoot:
        return family.factorise(family.implicit(q, h, failed))

    root, change = jax.jvp(root_with_same_stiffness, primals, tangents)
    return (root, failed), (change, np.zeros((), jax.dtypes.float0))
