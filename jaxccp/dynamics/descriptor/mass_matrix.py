"""The mass matrix H of a step: of bodies with a mass each, or of velocities that share one."""

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import cho_solve, solve_triangular
from jaxtyping import Array, Float, Int

from jaxccp.ccp.operators import BodyDelassus, CoupledDelassus, Delassus, WhitenedDelassus

JacobianT = TypeVar("JacobianT", BodyDelassus, WhitenedDelassus)


class MassMatrix(ABC, Generic[JacobianT]):
    """H over the velocities of a step, with the stiffness and damping that it includes."""

    @property
    @abstractmethod
    def variables(self) -> int:
        """Number of velocities in vectors of the whole system."""

    @abstractmethod
    def matrix(self) -> Array:
        """Return H as a dense matrix."""

    @abstractmethod
    def apply(self, velocity: Array) -> Array:
        """Return H v [N s, N m s], without assembling H."""

    @abstractmethod
    def solve(self, momentum: Array) -> Array:
        """Return H⁻¹ p [m/s, rad/s]."""

    @abstractmethod
    def schur_complement(self, jacobian: JacobianT, momentum: Array) -> tuple[Delassus, Array]:
        """Return N = J H⁻¹ Jᵀ + E and H⁻¹ p [m/s, rad/s], by one factorisation of H.

        Args:
            jacobian: J and E (:attr:`jaxccp.dynamics.Descriptor.jacobian`).
            momentum: p [N s, N m s].
        """

    @abstractmethod
    def gather(self, velocity: Array) -> Float[Array, " v"]:
        """Return velocities or momenta as one vector, as the whole system has them."""

    @abstractmethod
    def scatter(self, vector: Float[Array, " v"]) -> Array:
        """Return the velocities in a vector of the whole system, the inverse of :meth:`gather`."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BodyMassMatrix(MassMatrix[BodyDelassus]):
    """H over the twists of bodies [nb 6]: a mass matrix each, and blocks between pairs of them.

    Vectors of the whole system leave out fixed bodies.
    """

    bodies: Float[Array, "nb 6 6"]
    """Mass matrix of each body, linear then angular; the identity for fixed bodies."""
    pairs: Int[Array, "k 2"]
    """The two bodies of each coupling block."""
    coupling: Float[Array, "k 12 12"]
    """Blocks that H has besides the masses, between pairs of bodies; zero for fixed bodies."""
    free: tuple[bool, ...] = field(metadata={"static": True})
    """Mask of the bodies that are not fixed."""

    @property
    def variables(self) -> int:
        return 6 * sum(self.free)

    @property
    def first_variable(self) -> Int[np.ndarray, " nb"]:
        """Index of the first variable of each body; -1 for fixed bodies."""
        free = np.asarray(self.free, bool)
        return np.where(free, 6 * (np.cumsum(free) - 1), -1)

    def matrix(self) -> Float[Array, "6*nb 6*nb"]:
        """Return H over all bodies as a dense matrix; the identity for fixed bodies."""
        nb = len(self.free)
        every = jnp.arange(nb)
        tiles = jnp.zeros((nb, nb, 6, 6), self.bodies.dtype).at[every, every].set(self.bodies)
        parts = jnp.swapaxes(self.coupling.reshape(-1, 2, 6, 2, 6), 2, 3)
        tiles = tiles.at[self.pairs[:, :, None], self.pairs[:, None, :]].add(parts)
        return jnp.swapaxes(tiles, 1, 2).reshape(6 * nb, 6 * nb)

    def apply(self, velocity: Float[Array, "nb 6"]) -> Float[Array, "nb 6"]:
        pairs = jnp.einsum("kij,kj->ki", self.coupling, velocity[self.pairs].reshape(-1, 12))
        momentum = jnp.einsum("bij,bj->bi", self.bodies, velocity)
        return momentum.at[self.pairs.reshape(-1)].add(pairs.reshape(-1, 6))

    def solve(self, momentum: Float[Array, "nb 6"]) -> Float[Array, "nb 6"]:
        flat = momentum.reshape(-1)
        return jax.scipy.linalg.solve(self.matrix(), flat, assume_a="pos").reshape(-1, 6)

    def schur_complement(
        self, jacobian: BodyDelassus, momentum: Float[Array, "nb 6"]
    ) -> tuple[CoupledDelassus, Float[Array, "nb 6"]]:
        delassus = CoupledDelassus(jacobian, jnp.linalg.cholesky(self.matrix()))
        return delassus, delassus.velocities(momentum)

    def gather(self, velocity: Float[Array, "nb 6"]) -> Float[Array, " v"]:
        return velocity[np.flatnonzero(self.free)].reshape(-1)

    def scatter(self, vector: Float[Array, " v"]) -> Float[Array, "nb 6"]:
        """Return the twists of all bodies in a vector of the whole system; zeros of fixed ones."""
        twists = jnp.zeros((len(self.free), 6), vector.dtype)
        return twists.at[np.flatnonzero(self.free)].set(vector.reshape(-1, 6))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FactoredMassMatrix(MassMatrix[WhitenedDelassus]):
    """H = C Cᵀ over generalised velocities: of trees, then of each family."""

    factor: Float[Array, "nv nv"]
    """C, lower triangular. It has blocks for the trees and for each family, unless smooth contacts
    couple them."""
    sizes: tuple[int, ...] = field(metadata={"static": True})
    """Number of velocities of the trees, of each family, and of free bodies where they are coupled
    with these."""

    @property
    def variables(self) -> int:
        return self.factor.shape[-1]

    def matrix(self) -> Float[Array, "nv nv"]:
        return self.factor @ self.factor.T

    def apply(self, velocity: Float[Array, " nv"]) -> Float[Array, " nv"]:
        return self.factor @ (velocity @ self.factor)

    def solve(self, momentum: Float[Array, " nv"]) -> Float[Array, " nv"]:
        return cho_solve((self.factor, True), momentum)

    def schur_complement(
        self, jacobian: WhitenedDelassus, momentum: Float[Array, " nv"]
    ) -> tuple["FactoredDelassus", Float[Array, " nv"]]:
        whitened = solve_triangular(self.factor, jacobian.whitened.T, lower=True).T
        return FactoredDelassus(whitened, jacobian.compliance), self.solve(momentum)

    def gather(self, velocity: Float[Array, " nv"]) -> Float[Array, " nv"]:
        return velocity

    def scatter(self, vector: Float[Array, " nv"]) -> Float[Array, " nv"]:
        return vector


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FactoredDelassus(WhitenedDelassus):
    """Delassus operator N = J H⁻¹ Jᵀ + E, given by the factor of H.

    Unlike its base class it is not turned into a dense N for iterations, since solvers of the
    saddle system Z need J and H apart.
    """

    def for_iterations(self) -> Delassus:
        return self
