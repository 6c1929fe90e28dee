"""Families of velocities: what a body must tell to move and to touch that is not rigid."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FamilyState:
    """The state of a family says where it is and how it moves."""

    q: Float[Array, " nq"]
    """Coordinates."""
    v: Float[Array, " nv"]
    """Velocities, in whose number they may differ from the coordinates."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FrameMap:
    """J: the twists that velocities give the bodies (linear, at the centre; angular; world)."""

    jacobian: Float[Array, "nb 6 nv"]

    @property
    def count(self) -> int:
        """nv."""
        return self.jacobian.shape[-1]

    def twists(self, v: Float[Array, " nv"]) -> Float[Array, "nb 6"]:
        """J v."""
        return jnp.einsum("biv,v->bi", self.jacobian, v)

    def pull(self, wrench: Float[Array, "nb 6"]) -> Float[Array, " nv"]:
        """Jᵀ f of forces and torques on the bodies, or of momenta."""
        return jnp.einsum("biv,bi->v", self.jacobian, wrench)

    def along(
        self, rows: Float[Array, "n k w 6"], bodies: Array | np.ndarray
    ) -> Float[Array, "n w nv"]:
        """Rows on the velocities, from rows on the twists of k ``bodies`` each [n k]."""
        count, sides, width, _ = rows.shape
        # Sums of products: a library's product of such small matrices costs four times as much.
        own = rows.transpose(0, 2, 1, 3).reshape(count, width, 6 * sides, 1)
        columns = self.jacobian[bodies].reshape(count, 1, 6 * sides, self.count)
        return jnp.sum(own * columns, axis=2)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class MassRoot:
    """L with L Lᵀ = M̂⁻¹, upper triangular."""

    inverse: Float[Array, "nv nv"]

    @staticmethod
    def of(matrix: Float[Array, "nv nv"]) -> "MassRoot":
        """Factorise M̂, which must be positive definite."""
        one = jnp.eye(len(matrix), dtype=matrix.dtype)
        root = jnp.linalg.cholesky(matrix)
        return MassRoot(lax.linalg.triangular_solve(root, one, left_side=True, lower=True).T)

    def whiten(self, rows: Float[Array, "*n nv"]) -> Float[Array, "*n nv"]:
        """J L of rows J; Lᵀ p of momenta p."""
        return rows @ self.inverse

    def velocities(self, whitened: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """L w."""
        return self.inverse @ whitened


class Family:
    """Velocities of one kind, and the frames that they carry: a frozen dataclass registered with
    JAX, whose numbers are leaves and whose counts are static.

    To the rest of a model the frames are bodies: shapes, sites and joints are put on them, and
    forces act on them. Free rigid bodies and trees of joints are built in; a family is everything
    else, such as a flexible body. :meth:`jaxccp.ModelBuilder.add_family` puts it into a model. A
    step solves M̂ v⁺ = :meth:`momentum` + impulses, and :meth:`advance` moves on with v⁺.
    """

    @property
    def frames(self) -> int:
        """The number nf of frames."""
        raise NotImplementedError

    @property
    def skin(self) -> Int[np.ndarray, "k 4"]:
        """Frames between which surfaces are drawn, four for each patch, counter-clockwise seen from
        outside; triangles name their last twice, lines go there and back."""
        return np.zeros((0, 4), int)

    @property
    def reach(self) -> int | None:
        """How far apart in v two velocities may be that meet in the equation of motion of one of
        them; None for any two."""
        return None

    def moving(self, frames: Int[np.ndarray, " k"]) -> Int[np.ndarray, " m"]:
        """Which velocities move any of these of the family's frames; all, unless overridden."""
        return np.arange(len(self.start().v) if len(frames) else 0)

    def start(self) -> FamilyState:
        """Coordinates and velocities at time 0."""
        raise NotImplementedError

    def poses(self, q: Float[Array, " nq"]) -> tuple[Float[Array, "nf 3"], Float[Array, "nf 4"]]:
        """Origins [m] and orientations (w, x, y, z) of the frames in the world."""
        raise NotImplementedError

    def jacobian(self, q: Float[Array, " nq"]) -> Float[Array, "nf nv 6"]:
        """Twist of each frame (linear, at its origin, then angular; world) per velocity."""
        raise NotImplementedError

    def mass_matrix(self, q: Float[Array, " nq"], h: Array | float) -> Float[Array, "nv nv"]:
        """M̂ = M + h D + h² K of a step of ``h`` [s]; K = −∂f/∂q and D = −∂f/∂v of the forces that
        are to be implicit."""
        raise NotImplementedError

    def momentum(
        self,
        q: Float[Array, " nq"],
        v: Float[Array, " nv"],
        gravity: Float[Array, "3"],
        h: Array | float,
    ) -> Float[Array, " nv"]:
        """M v + h f(q, v), what M̂ v⁺ is when nothing touches.

        ``f`` are all forces of the family's own, gravity [m/s²] among them, and what curves cost.
        Those of M̂ are taken at q and at v = 0.
        """
        raise NotImplementedError

    def forces(
        self, q: Float[Array, " nq"], v: Float[Array, " nv"], gravity: Float[Array, "3"]
    ) -> Float[Array, " nv"]:
        """f(q, v), what M v̇ is when nothing touches. To be overridden where derivatives of
        :meth:`momentum` and :meth:`mass_matrix` are dear: with p = M v + h f₀ and M̂ = M + h D + …
        it is f₀ − D v, which are derivatives at h = 0."""

        def defect(h: Array) -> Array:
            return self.momentum(q, v, gravity, h) - self.mass_matrix(q, h) @ v

        return jax.jvp(defect, (jnp.zeros((), q.dtype),), (jnp.ones((), q.dtype),))[1]

    def advance(
        self, q: Float[Array, " nq"], v: Float[Array, " nv"], h: Array | float
    ) -> Float[Array, " nq"]:
        """Coordinates after ``h`` [s] at velocities ``v``."""
        raise NotImplementedError

    def energy(
        self, q: Float[Array, " nq"], v: Float[Array, " nv"], gravity: Float[Array, "3"]
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Kinetic and potential energy [J]."""
        raise NotImplementedError

    def inverted(self, q: Float[Array, " nq"]) -> Bool[Array, " e"]:
        """Tell which of the elements that the family is made of, if any, are inside out."""
        return jnp.zeros(0, bool)

    def map(self, q: Float[Array, " nq"], frames: np.ndarray, bodies: int) -> FrameMap:
        """J over all ``bodies`` of a model in which the family's frames have the indices
        ``frames``. To be overridden where the dense matrix is too large."""
        jacobian = self.jacobian(q).transpose(0, 2, 1)
        whole = jnp.zeros((bodies, *jacobian.shape[1:]), jacobian.dtype)
        return FrameMap(whole.at[frames].set(jacobian))

    def root(self, q: Float[Array, " nq"], h: Array | float) -> MassRoot:
        """L of M̂. To be overridden where the dense matrix is too large."""
        return MassRoot.of(self.mass_matrix(q, h))

    def tangent_root(self, q: Float[Array, " nq"], h: Array | float) -> MassRoot:
        """L of M̂ with K = −∂f/∂q itself where :meth:`root` has another in its place, and where that
        is positive definite, as at stable rest: derivatives of rest are of it."""
        return self.root(q, h)
