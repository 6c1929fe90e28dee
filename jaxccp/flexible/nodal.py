"""A body of finite elements: vector coordinates of nodes, with a constant sparse mass matrix."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.flexible import elements as of
from jaxccp.flexible.band_root import BandRoot
from jaxccp.flexible.elements import Elements
from jaxccp.flexible.frames import NodeMap, node_map, orientations, positions
from jaxccp.flexible.layout import Layout
from jaxccp.model.family import Family, FamilyState


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class NodalFamily(Family):
    """n vector coordinates x, of which the components that are not held are q and their rates v:
    M v̇ = −∂U/∂x − ∂R/∂v + M g + load.

    A step is implicit in the elastic forces and in the damping: M̂ = M + h D + h² K with the
    elements' own K where that leaves M̂ positive definite. Where it does not, as in a column that
    buckles within a step, K is the elements' positive semidefinite one (:meth:`Law.convex`): the
    motion is of the same order, and damped more.
    """

    elements: Elements
    position: Float[Array, "n 3"]
    """Vector coordinates at time 0, and of what is held at all times."""
    velocity: Float[Array, "n 3"]
    """Their rates at time 0; held ones have none."""
    load: Float[Array, "n 3"]
    """Constant generalised forces, such as those of loads on points and surfaces [N]."""
    layout: Layout = field(metadata={"static": True})

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
        own = np.unique(self.layout.columns[frames])
        return own[own < len(self.layout.free)]

    def start(self) -> FamilyState:
        free = self.layout.free
        return FamilyState(self.position.reshape(-1)[free], self.velocity.reshape(-1)[free])

    def coordinates(self, q: Float[Array, " nv"]) -> Float[Array, "n 3"]:
        """x: all vector coordinates, the held ones included."""
        flat = self.position.reshape(-1).astype(q.dtype).at[self.layout.free].set(q)
        return flat.reshape(-1, 3)

    def rates(self, v: Float[Array, " nv"]) -> Float[Array, "n 3"]:
        """ẋ of all vector coordinates."""
        flat = jnp.zeros(self.position.size, v.dtype).at[self.layout.free].set(v)
        return flat.reshape(-1, 3)

    def poses(self, q: Float[Array, " nv"]) -> tuple[Float[Array, "nf 3"], Float[Array, "nf 4"]]:
        x = self.coordinates(q)
        return positions(self.layout, x), orientations(self.layout, self.position, x)

    def jacobian(self, q: Float[Array, " nv"]) -> Float[Array, "nf nv 6"]:
        own = node_map(self.layout, self.coordinates(q), np.arange(self.frames), self.frames)
        return jax.vmap(own.twists, out_axes=1)(jnp.eye(own.count, dtype=q.dtype))

    def map(self, q: Float[Array, " nv"], frames: np.ndarray, bodies: int) -> NodeMap:
        return node_map(self.layout, self.coordinates(q), frames, bodies)

    def elastic_energy(self, q: Float[Array, " nv"]) -> Float[Array, ""]:
        """U [J]."""
        return jnp.sum(of.energies(self._points, self._of_elements(q)))

    def dissipated_power(self, q: Float[Array, " nv"], v: Float[Array, " nv"]) -> Float[Array, ""]:
        """What the damping takes per second [W]."""
        rate = self.rates(v)[self.layout.rows]
        return jnp.sum(of.dissipations(self._points, self._of_elements(q), rate))

    def inverted(self, q: Float[Array, " nv"]) -> Bool[Array, " e"]:
        """Whether each element has a point at which its volume is not positive; also true where
        that is not a number."""
        return ~(of.smallest_ratios(self._points, self._of_elements(q)) > 0)

    def force(self, q: Float[Array, " nv"], gravity: Float[Array, "3"]) -> Float[Array, " nv"]:
        """Elastic forces, gravity and loads on q; not those of damping."""
        elastic = of.elastic_forces(self._points, self._of_elements(q))
        return self._gathered(elastic) + self._weight(gravity, q.dtype)

    def forces(
        self, q: Float[Array, " nv"], v: Float[Array, " nv"], gravity: Float[Array, "3"]
    ) -> Float[Array, " nv"]:
        rate = self.rates(v)[self.layout.rows]
        damping = of.damping_forces(self._points, self._of_elements(q), rate)
        return self.force(q, gravity) + self._gathered(damping)

    def stiffness(self, q: Float[Array, " nv"]) -> Float[Array, "nv nv"]:
        """K = −∂f/∂q, which may be indefinite away from where nothing is strained."""
        points = self._points
        y = of.gradients(points, self._of_elements(q))
        return self._assembled(of.quadratic(points, points.law.at(y, "stiffness")))

    def inertia(self) -> Float[Array, "nv nv"]:
        """M."""
        return self._assembled(self._massive(self._masses))

    def apply_mass(self, v: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """M v."""
        own = self.rates(v)[self.layout.rows]
        return self._gathered(jnp.einsum("ekl,elc->ekc", self._masses, own))

    def mass_matrix(self, q: Float[Array, " nv"], h: Array | float) -> Float[Array, "nv nv"]:
        return self._assembled(self._definite(q, h))

    def root(self, q: Float[Array, " nv"], h: Array | float) -> BandRoot:
        return self.tangent_root(q, h)

    def tangent_root(self, q: Float[Array, " nv"], h: Array | float) -> BandRoot:
        return self._tested(q, h)[0]

    @property
    def _points(self) -> of.Points:
        return jax.tree.map(self._cast, self.elements.points())

    @property
    def _masses(self) -> Float[Array, "e k k"]:
        return self._cast(self.elements.masses())

    def _cast(self, numbers: Array) -> Array:
        """Rules of integration are in float64 where that is enabled, whatever the family is in."""
        return numbers.astype(self.position.dtype)

    def rooted(self, parts: Float[Array, "e k 3 k 3"]) -> BandRoot:
        """Factorise the sum of the elements' matrices."""
        return BandRoot.of_tiles(self._tiles(parts), len(self.layout.free))

    def _definite(self, q: Float[Array, " nv"], h: Array | float) -> Float[Array, "e k 3 k 3"]:
        """The elements' parts of M̂, of which Cholesky's factors are numbers."""
        return self.implicit(q, h, self._tested(q, h)[1])

    def _tested(self, q: Float[Array, " nv"], h: Array | float) -> tuple[BandRoot, Bool[Array, ""]]:
        if _timeless(h):
            return self.rooted(self._massive(self._masses)), jnp.asarray(False)
        return _tested_root(self, q, jnp.asarray(h, q.dtype))

    def implicit(
        self, q: Float[Array, " nv"], h: Array | float, convex: Bool[Array, ""]
    ) -> Float[Array, "e k 3 k 3"]:
        """The elements' parts of M̂, with their own stiffness or with the convex one."""
        parts = self.with_stiffness(q, h, "stiffness")
        return jax.lax.cond(convex, lambda: self.with_stiffness(q, h, "convex"), lambda: parts)

    def with_stiffness(
        self, q: Float[Array, " nv"], h: Array | float, which: str
    ) -> Float[Array, "e k 3 k 3"]:
        """The elements' parts of M̂ with the stiffness that is the law's method ``which``."""
        if _timeless(h):
            return self._massive(self._masses)
        points = self._points
        y = of.gradients(points, self._of_elements(q))
        density = h * h * points.law.at(y, which) + h * points.law.at(y, "viscosity")
        return self._massive(self._masses) + of.quadratic(points, density)

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
        still = jnp.where(self.layout.positions[:, None], gravity, 0.0)[self.layout.rows]
        high = -jnp.einsum("ekc,ekl,elc->", x[self.layout.rows], self._masses, still)
        kinetic = 0.5 * v @ self.apply_mass(v)
        return kinetic, self.elastic_energy(q) + high - jnp.sum(self.load * x)

    def _weight(self, gravity: Float[Array, "3"], dtype) -> Float[Array, " nv"]:
        """M g and loads: gravity accelerates positions alone, as a motion without turning does."""
        down = jnp.where(self.layout.positions[:, None], gravity, 0.0).astype(dtype)
        weight = jnp.einsum("ekl,elc->ekc", self._masses, down[self.layout.rows])
        return self._gathered(weight) + self.load.reshape(-1)[self.layout.free]

    def _of_elements(self, q: Float[Array, " nv"]) -> Float[Array, "e k 3"]:
        return self.coordinates(q)[self.layout.rows]

    def _gathered(self, parts: Float[Array, "e k 3"]) -> Float[Array, " nv"]:
        """The sum of the elements' vectors, without what is held."""
        whole = jnp.zeros(self.position.shape, parts.dtype).at[self.layout.rows].add(parts)
        return whole.reshape(-1)[self.layout.free]

    @staticmethod
    def _massive(mass: Float[Array, "e k k"]) -> Float[Array, "e k 3 k 3"]:
        return jnp.einsum("ekl,cd->ekcld", mass, jnp.eye(3, dtype=mass.dtype))

    def _assembled(self, parts: Float[Array, "e k 3 k 3"]) -> Float[Array, "nv nv"]:
        """The sum of the elements' matrices, without what is held."""
        count, place = len(self.layout.free), self.layout.places
        entries = parts.reshape(*place.shape, place.shape[1])
        whole = jnp.zeros((count + 1, count + 1), parts.dtype)
        return whole.at[place[:, :, None], place[:, None, :]].add(entries)[:count, :count]

    def _tiles(self, parts: Float[Array, "e k 3 k 3"]) -> Float[Array, "k t 2*t"]:
        """Return the same matrix as tiles left of the diagonal and on it, if it has such."""
        (number, width), place = self.layout.tiles, self.layout.tile_entries
        whole = jnp.zeros((number + 1, width, 2 * width), parts.dtype)
        return whole.at[place].add(parts.reshape(place[0].shape))[:number]


def _timeless(h: Array | float) -> bool:
    """Whether a step is known to have no length before it is traced: M̂ is then M."""
    return isinstance(h, int | float) and h == 0


@jax.custom_jvp
def _tested_root(
    family: NodalFamily, q: Float[Array, " nv"], h: Float[Array, ""]
) -> tuple[BandRoot, Bool[Array, ""]]:
    """The root of M̂ with the elements' own K, or with the convex one where there is none; and
    whether there is none.

    A loop, unlike a branch, does nothing in a batch of which no copy needs it. Which K it is is
    known before the derivative is taken, which else would be NaN.
    """
    no = jnp.asarray(False)

    def failed(root: BandRoot) -> Array:
        return ~jnp.all(jnp.isfinite(root.inverse))

    def again(_: tuple[BandRoot, Array]) -> tuple[BandRoot, Array]:
        return family.rooted(family.with_stiffness(q, h, "convex")), ~no

    start = family.rooted(family.with_stiffness(q, h, "stiffness")), no
    return jax.lax.while_loop(lambda now: ~now[1] & failed(now[0]), again, start)


@_tested_root.defjvp
def _tested_root_jvp(primals: tuple, tangents: tuple) -> tuple:
    failed = _tested_root(*primals)[1]

    def chosen(family: NodalFamily, q: Array, h: Array) -> BandRoot:
        return family.rooted(family.implicit(q, h, failed))

    root, change = jax.jvp(chosen, primals, tangents)
    return (root, failed), (change, np.zeros((), jax.dtypes.float0))
