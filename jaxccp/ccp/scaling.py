"""Scaled multipliers, for which a projected step of length 1 is safe and nearly exact in each
contact.

With λ = S a, S diagonal and equal for both tangents, a circular cone stays circular: ‖a_t‖ ≤ μ' a_n
with μ' = μ S_n / S_t; a pyramid stays a pyramid. De Saxcé's shift of S u is μ' ‖(S u)_t‖, so
Coulomb's law keeps its form too. For example, a sphere's block of N is 3.5 times as large for its
tangents as for its normal. Scaling makes it the identity, and one projected step solves the
contact.
"""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.cones import Cones
from jaxccp.ccp.operators import Delassus
from jaxccp.ccp.problem import Problem
from jaxccp.math import safe


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Scaling:
    """A diagonal scaling S of the multipliers, the cones of a = S⁻¹ λ, and S N S."""

    s: Float[Array, " n"]
    """Diagonal of S [√kg]."""
    cones: Cones
    """Cones of the scaled multipliers a."""
    delassus: Delassus
    """S N S."""

    @staticmethod
    def by(s: Float[Array, " n"], problem: Problem) -> "Scaling":
        """Return the problem's cones and Delassus operator scaled by the diagonal ``s`` [√kg].

        Args:
            s: diagonal of S, equal for both tangents of a contact.
            problem: n rows, in λ.
        """
        return Scaling(s, scaled(problem.cones, s), problem.delassus.scaled(s))

    def point(self, lam: Float[Array, " n"], n_lam: Float[Array, " n"]) -> Float[Array, "2 n"]:
        """Return scaled multipliers and velocities (S⁻¹ λ, S N λ) [√J].

        Args:
            lam: λ [N s].
            n_lam: N λ [m/s].
        """
        return jnp.stack([lam / self.s, self.s * n_lam])

    def unscaled(self, point: Float[Array, "2 n"]) -> tuple[Float[Array, " n"], Float[Array, " n"]]:
        """Return λ and N λ of scaled multipliers and velocities, the inverse of :meth:`point`."""
        return self.s * point[0], point[1] / self.s


def row_scaling(problem: Problem, rho: Float[Array, " n"]) -> Scaling:
    """Return the scaling of each row by the diagonal blocks of N.

    Contacts with rolling friction get one number each, √ρ.

    Args:
        problem: n rows.
        rho: step size of each row [kg].
    """
    if problem.cones.rolling is not None:
        s = jnp.sqrt(rho)
    else:
        blocks = problem.delassus.blocks(problem.cones.lo.shape[0])
        s = scale(problem.cones, *blocks, coupled=False)
    return Scaling.by(s, problem)


def uniform(problem: Problem, rho: Float[Array, " n"]) -> Scaling:
    """Return the scaling of all rows by the same number, √ of the largest step size.

    Args:
        problem: n rows.
        rho: step size of each row [kg].
    """
    return Scaling.by(jnp.full_like(rho, jnp.sqrt(jnp.max(rho, initial=0.0))), problem)


def scale(
    cones: Cones, scalars: Float[Array, " s"], blocks: Float[Array, "c 3 3"], coupled: bool = True
) -> Float[Array, " n"]:
    """Return the diagonal S of a scaling [√kg] with S N_cc S ≤ I in each block, up to rounding.

    A block of zeros gets 1. Without ``coupled`` the bound holds for the normal and the tangents
    separately.

    Args:
        cones: K, whose cones stay circular.
        scalars: the diagonal of N in scalar rows, or upper bounds of it.
        blocks: the diagonal blocks of N of contacts, or upper bounds of them.
        coupled: whether to include the coupling of a contact's normal with its tangents.
    """
    single = jnp.where(scalars > 0, 1.0 / jnp.sqrt(jnp.where(scalars > 0, scalars, 1.0)), 1.0)
    trace = jnp.trace(blocks, axis1=1, axis2=2)
    mobile = trace > 0
    floor = jnp.where(mobile, jnp.finfo(trace.dtype).eps * trace, 1.0)
    mean = 0.5 * (blocks[:, 1, 1] + blocks[:, 2, 2])
    spread = jnp.stack([0.5 * (blocks[:, 1, 1] - blocks[:, 2, 2]), blocks[:, 1, 2]], axis=1)
    normal = jnp.maximum(blocks[:, 0, 0], floor)
    tangent = jnp.maximum(mean + safe.norm(spread), floor)
    if coupled:
        # [[1, cᵀ], [c, T]] with T ≤ 1 has no eigenvalue above 1 + ‖c‖.
        c = safe.norm(blocks[:, 0, 1:]) / jnp.sqrt(normal * tangent)
        normal, tangent = normal * (1.0 + c), tangent * (1.0 + c)
    rows = 1.0 / jnp.sqrt(jnp.stack([normal, tangent, tangent], axis=1))
    return cones.join(single, jnp.where(mobile[:, None], rows, 1.0))


def scaled(cones: Cones, s: Float[Array, " n"]) -> Cones:
    """Return the cones of a = S⁻¹ λ.

    Args:
        cones: K.
        s: diagonal of S [√kg].
    """
    scalars, contacts = cones.split(s)
    mu = cones.mu * contacts[:, 0] / contacts[:, 1]
    return replace(cones, lo=cones.lo / scalars, hi=cones.hi / scalars, mu=mu)
