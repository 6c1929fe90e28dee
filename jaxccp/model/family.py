"""Families: sets of generalised velocities of any kind, and their interface to steps and
contacts."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxccp.math import small


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FamilyState:
    """The coordinates and velocities of a family."""

    q: Float[Array, " nq"]
    """Coordinates."""
    v: Float[Array, " nv"]
    """Velocities; their number may differ from that of the coordinates."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FrameMap:
    """The Jacobian J from nv velocities to the twists of nb bodies.

    A twist is linear velocity [m/s], at the centre of mass, then angular velocity [rad/s], in world
    axes.
    """

    jacobian: Float[Array, "nb 6 nv"]
    """J of each body."""

    @property
    def count(self) -> int:
        """The number nv of velocities."""
        return self.jacobian.shape[-1]

    def twists(self, v: Float[Array, " nv"]) -> Float[Array, "nb 6"]:
        """Return the twists J v of the bodies [m/s, rad/s]."""
        return jnp.einsum("biv,v->bi", self.jacobian, v)

    def pull(self, wrench: Float[Array, "nb 6"]) -> Float[Array, " nv"]:
        """Return Jᵀ f: the generalised forces of wrenches on the bodies, or the generalised momenta
        of their momenta."""
        return jnp.einsum("biv,bi->v", self.jacobian, wrench)

    def project_rows(
        self, rows: Float[Array, "n k w 6"], bodies: Array | np.ndarray
    ) -> Float[Array, "n w nv"]:
        """Return the Jacobian rows of constraints in the nv velocities, from their rows in the
        bodies' twists.

        Args:
            rows: w rows of each of n constraints, for each of its k bodies.
            bodies: index of these bodies [n k].
        """
        count, sides, width, _ = rows.shape
        # Sums of products: a library's product of such small matrices costs four times as much.
        twist_rows = rows.transpose(0, 2, 1, 3).reshape(count, width, 6 * sides, 1)
        columns = self.jacobian[bodies].reshape(count, 1, 6 * sides, self.count)
        return jnp.sum(twist_rows * columns, axis=2)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class MassRoot:
    """The upper triangular root L of an inverse mass matrix, L Lᵀ = M̂⁻¹."""

    inverse: Float[Array, "nv nv"]
    """L."""

    @staticmethod
    def of(matrix: Float[Array, "nv nv"]) -> "MassRoot":
        """Return the root of M̂⁻¹ for a positive definite M̂, of which the lower triangle is read.

        L Q with any orthogonal Q is a root as well. The tangent of L, −½ M̂⁻¹ dM̂ L, is right for
        all that depends on L Lᵀ alone, as every result of a step does, and in any order of
        differentiation. It is not that of the entries of L, and not triangular: a triangular solve
        with L would drop half of it.
        """
        return MassRoot(_inverse_root(matrix))

    def whiten(self, rows: Float[Array, "*n nv"]) -> Float[Array, "*n nv"]:
        """Return the whitened rows J L of rows J, or Lᵀ p of momenta p."""
        return rows @ self.inverse

    def unwhiten(self, whitened: Float[Array, " nv"]) -> Float[Array, " nv"]:
        """Return the velocities L w for whitened velocities w."""
        return self.inverse @ whitened


@jax.custom_jvp
def _inverse_root(matrix: Float[Array, "nv nv"]) -> Float[Array, "nv nv"]:
    """Return the upper triangular L with L Lᵀ = M̂⁻¹, from the lower triangle of M̂."""
    identity = jnp.eye(len(matrix), dtype=matrix.dtype)
    lower = jnp.linalg.cholesky(matrix, symmetrize_input=False)
    return lax.linalg.triangular_solve(lower, identity, left_side=True, lower=True).T


@_inverse_root.defjvp
def _inverse_root_jvp(primals: tuple[Array], tangents: tuple[Array]) -> tuple[Array, Array]:
    root = _inverse_root(*primals)
    return root, -0.5 * root @ (root.T @ small.symmetric(tangents[0]) @ root)


class Family:
    """Base class of a set of velocities that move frames, such as a flexible body.

    A family is a frozen dataclass registered with JAX; its numbers are leaves, its counts are
    static. To the rest of a model its frames are bodies: they have shapes, sites and joints, and
    forces act on them. Free rigid bodies and trees of joints are built in; everything else is a
    family. :meth:`jaxccp.ModelBuilder.add_family` adds one to a model. A step solves M̂ v⁺ =
    :meth:`momentum` + impulses, and :meth:`advance` integrates q with v⁺.
    """

    @property
    def frames(self) -> int:
        """The number nf of frames."""
        raise NotImplementedError

    @property
    def skin(self) -> Int[np.ndarray, "k 4"]:
        """Surface patches to draw, as four frames each, counter-clockwise seen from outside.

        A triangle repeats its last frame. A line runs to its end and back.
        """
        return np.zeros((0, 4), int)

    @property
    def reach(self) -> int | None:
        """Half-bandwidth of the equation of motion: the largest difference of the indices of two
        coupled velocities; None for a full matrix."""
        return None

    def moving(self, frames: Int[np.ndarray, " k"]) -> Int[np.ndarray, " m"]:
        """Return the indices of the velocities that move any of these frames; the default is
        all."""
        return np.arange(len(self.start().v) if len(frames) else 0)

    def frame_freedoms(self) -> Bool[np.ndarray, "nf 2"]:
        """Return whether the origin of each frame can move, and whether it can turn; the default is
        all."""
        return np.ones((self.frames, 2), bool)

    def start(self) -> FamilyState:
        """Return the coordinates and velocities at time 0."""
        raise NotImplementedError

    def poses(self, q: Float[Array, " nq"]) -> tuple[Float[Array, "nf 3"], Float[Array, "nf 4"]]:
        """Return the origins [m] and orientations (w, x, y, z) of the frames in the world."""
        raise NotImplementedError

    def jacobian(self, q: Float[Array, " nq"]) -> Float[Array, "nf nv 6"]:
        """Return the twist of each frame per unit of each velocity.

        A twist is the linear velocity of the frame's origin, then its angular velocity, in world
        axes.
        """
        raise NotImplementedError

    def mass_matrix(self, q: Float[Array, " nq"], h: Array | float) -> Float[Array, "nv nv"]:
        """Return M̂ = M + h D + h² K of a step.

        K = −∂f/∂q and D = −∂f/∂v, for the forces that the family treats implicitly.

        Args:
            q: coordinates.
            h: length of the step [s].
        """
        raise NotImplementedError

    def momentum(
        self,
        q: Float[Array, " nq"],
        v: Float[Array, " nv"],
        gravity: Float[Array, "3"],
        h: Array | float,
    ) -> Float[Array, " nv"]:
        """Return M v + h f₀(q, v), which equals M̂ v⁺ without contacts and joints.

        f₀ are all forces of the family, including gravity and velocity products, but forces that
        are implicit in M̂ are evaluated at q and at v = 0.

        Args:
            q: coordinates.
            v: velocities.
            gravity: acceleration by gravity [m/s²].
            h: length of the step [s].
        """
        raise NotImplementedError

    def forces(
        self, q: Float[Array, " nq"], v: Float[Array, " nv"], gravity: Float[Array, "3"]
    ) -> Float[Array, " nv"]:
        """Return f(q, v), which equals M v̇ without contacts and joints.

        Override it where derivatives of :meth:`momentum` and :meth:`mass_matrix` are expensive. The
        default takes the derivatives in h at h = 0 of :meth:`momentum` = M v + h f₀ and
        :meth:`mass_matrix` = M + h D + …, which give f₀ − D v.

        Args:
            q: coordinates.
            v: velocities.
            gravity: acceleration by gravity [m/s²].
        """

        def defect(h: Array) -> Array:
            return self.momentum(q, v, gravity, h) - self.mass_matrix(q, h) @ v

        return jax.jvp(defect, (jnp.zeros((), q.dtype),), (jnp.ones((), q.dtype),))[1]

    def advance(
        self, q: Float[Array, " nq"], v: Float[Array, " nv"], h: Array | float
    ) -> Float[Array, " nq"]:
        """Return the coordinates after a step at constant velocities.

        Args:
            q: coordinates before it.
            v: velocities.
            h: length of the step [s].
        """
        raise NotImplementedError

    def energy(
        self, q: Float[Array, " nq"], v: Float[Array, " nv"], gravity: Float[Array, "3"]
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Return the kinetic and the potential energy [J].

        Args:
            q: coordinates.
            v: velocities.
            gravity: acceleration by gravity [m/s²].
        """
        raise NotImplementedError

    def inverted(self, q: Float[Array, " nq"]) -> Bool[Array, " e"]:
        """Return a mask of the elements of the family that are inside out; empty if it has no
        elements."""
        return jnp.zeros(0, bool)

    def map(self, q: Float[Array, " nq"], frames: np.ndarray, bodies: int) -> FrameMap:
        """Return J over all bodies of a model. Override it where the dense matrix is too large.

        Args:
            q: coordinates.
            frames: index of each of the family's frames among the bodies.
            bodies: number of bodies.
        """
        jacobian = self.jacobian(q).transpose(0, 2, 1)
        padded = jnp.zeros((bodies, *jacobian.shape[1:]), jacobian.dtype)
        return FrameMap(padded.at[frames].set(jacobian))

    def root(self, q: Float[Array, " nq"], h: Array | float) -> MassRoot:
        """Return the root L of M̂⁻¹. Override it where the dense matrix is too large.

        Args:
            q: coordinates.
            h: length of the step [s].
        """
        return MassRoot.of(self.mass_matrix(q, h))

    def tangent_root(self, q: Float[Array, " nq"], h: Array | float) -> MassRoot:
        """Return the root L of M̂⁻¹ with the exact tangent stiffness K = −∂f/∂q.

        Derivatives of an equilibrium need it. Override it if :meth:`root` uses another matrix for
        K. The matrix must be positive definite, as in a stable equilibrium.

        Args:
            q: coordinates.
            h: length of the step [s].
        """
        return self.root(q, h)
