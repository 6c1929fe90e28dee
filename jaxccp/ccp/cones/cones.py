"""The set K of admissible multipliers: box rows, then Coulomb cones.

A scalar row is a box [lo, hi]: an equality is (-inf, inf), an inequality [0, inf), a dry-friction
or motor row [-f, f]. A contact is three rows (normal, two tangents) in the Coulomb cone
‖λ_t‖ ≤ μ λ_n, or in a pyramid around it; or six rows, where spinning and rolling are resisted too
(:mod:`jaxccp.ccp.cones.rolling`). A multiplier vector is flat: the s scalar rows first, then the
c contacts × w, w = 3 or 6.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.cones import pyramids, rolling
from jaxccp.math import safe
from jaxccp.math.array_input import Dimension, as_floats
from jaxccp.math.components import components
from jaxccp.math.jitted import jitted

ConeType = Literal["cone", "pyramid", "octagon"]
"""What the tangential impulses are bounded by: a disc of radius μ λ_n, or the square or the
regular octagon around it (:mod:`jaxccp.ccp.cones.pyramids`)."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Cones:
    """K = Π [lo_i, hi_i] × Π {‖λ_t‖ ≤ μ_c λ_n}."""

    lo: Float[Array, " s"]
    """Lower bounds of the scalar rows [N·s], -inf where free."""
    hi: Float[Array, " s"]
    """Upper bounds of the scalar rows [N·s], inf where free."""
    mu: Float[Array, " c"]
    """Friction coefficients of the contacts, ≥ 0."""
    cone_type: ConeType = field(default="cone", metadata={"static": True})
    """The shape of the contacts' cones."""
    rolling: Float[Array, "c 2"] | None = None
    """Coefficients of spinning and rolling friction, ≥ 0, in [m] where the angular rows are angular
    velocities; None where contacts have three rows."""

    @property
    def section(self) -> "Section":
        """Projection and derivatives of the contacts' cones; ``ValueError`` for unknown ones."""
        if self.rolling is not None:
            if self.cone_type != "cone":
                raise ValueError(f"rolling friction goes with round cones, not {self.cone_type!r}")
            return _rolling(self.rolling)
        if self.cone_type not in SECTIONS:
            raise ValueError(f"cone_type must be one of {tuple(SECTIONS)}, not {self.cone_type!r}")
        return SECTIONS[self.cone_type]

    @property
    def width(self) -> int:
        """The number of rows of a contact, 3 or 6."""
        return 3 if self.rolling is None else rolling.WIDTH

    @property
    def rows(self) -> int:
        """Length of a multiplier vector, s + w c."""
        return self.lo.shape[-1] + self.width * self.mu.shape[-1]

    def checked(self) -> "Cones":
        """Return the cones as arrays of floats.

        Raises:
            ValueError: bounds or coefficients differ in number.
        """
        lo = jnp.asarray(self.lo)
        mu = as_floats("cones.mu", self.mu, [Dimension("contacts", len(jnp.asarray(self.mu)))])
        scalars, contacts = Dimension("scalar rows", len(lo)), Dimension("contacts", len(mu))
        lo, hi = (
            as_floats(f"cones.{name}", bound, [scalars])
            for name, bound in (("lo", lo), ("hi", self.hi))
        )
        if self.rolling is None:
            return replace(self, lo=lo, hi=hi, mu=mu)
        rolling = as_floats("cones.rolling", self.rolling, [contacts, 2])
        return replace(self, lo=lo, hi=hi, mu=mu, rolling=rolling)

    def split(self, x: Float[Array, " n"]) -> tuple[Float[Array, " s"], Float[Array, "c w"]]:
        """The scalar rows and the contact rows of a flat vector."""
        s = self.lo.shape[-1]
        return x[:s], x[s:].reshape(-1, self.width)

    def join(
        self, scalars: Float[Array, " s"], contacts: Float[Array, "c w"]
    ) -> Float[Array, " n"]:
        """The inverse of :meth:`split`."""
        return jnp.concatenate([scalars, contacts.reshape(-1)])

    def spread(self, scalars: Float[Array, " s"], blocks: Float[Array, " c"]) -> Float[Array, " n"]:
        """A vector over rows, from a value for each scalar row and one for each contact."""
        return jnp.concatenate([scalars, jnp.repeat(blocks, self.width)])

    def add_normal(self, x: Float[Array, " n"], by: Float[Array, " c"]) -> Float[Array, " n"]:
        """``x`` with ``by`` added to the contacts' normal rows."""
        scalars, contacts = self.split(x)
        return self.join(scalars, contacts.at[:, 0].add(by))

    def de_saxce(self, u: Float[Array, " n"]) -> Float[Array, " c"]:
        """μ ‖u_t‖ of each contact, in the units of ``u``: see ``Problem.de_saxce``."""
        return self.section.shift(self.split(u)[1][:, 1:], self.mu)

    @jitted
    def project(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        """Euclidean projection on K."""
        scalars, contacts = self.split(x)
        projected = self.section.project(contacts, self.mu)
        # Not a clip: where both bounds are the same, its derivative is the mean of theirs.
        inside = jnp.where(scalars < self.lo, self.lo, scalars)
        return self.join(jnp.where(scalars > self.hi, self.hi, inside), projected)

    def scalar_slopes(self, x: Float[Array, " s"]) -> Float[Array, " s"]:
        """Derivatives of the projection of scalar rows: 1 between the bounds, else 0."""
        return ((x > self.lo) & (x < self.hi)).astype(x.dtype)

    def project_dual(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        """Projection on the dual cone K* (Moreau: x + Π_K(-x)); K must be a cone.

        A bounded box row is not a cone; its recession cone's dual is used, so that the result is
        the part of a velocity that complementarity allows on that row.
        """
        lo = jnp.where(jnp.isfinite(self.lo), 0.0, self.lo)
        hi = jnp.where(jnp.isfinite(self.hi), 0.0, self.hi)
        recession = replace(self, lo=lo, hi=hi)
        return x + recession.project(-x)


def equality(count: int, dtype: jnp.dtype | None = None) -> tuple[Array, Array]:
    """Bounds (lo, hi) of ``count`` equality rows."""
    bound = jnp.full((count,), jnp.inf, dtype)
    return -bound, bound


def inequality(count: int, dtype: jnp.dtype | None = None) -> tuple[Array, Array]:
    """Bounds (lo, hi) of ``count`` rows with λ ≥ 0."""
    bound = jnp.full((count,), jnp.inf, dtype)
    return jnp.zeros_like(bound), bound


@jitted
def project_coulomb(x: Float[Array, "c 3"], mu: Float[Array, " c"]) -> Float[Array, "c 3"]:
    """Euclidean projection of each contact's impulse on its Coulomb cone.

    Tasora & Anitescu, "A matrix-free cone complementarity approach", CMAME 200 (2011), eq. 34.
    """
    normal, first, second = components(x)
    # By components, and products with reciprocals, which are few: compiled programs compute sums
    # and products where they need them, but sums along an axis, quotients and roots in loops of
    # their own.
    square = first * first + second * second
    reciprocal = safe.reciprocal_root(square)
    length = square * reciprocal
    along = (normal + mu * length) / (1.0 + mu * mu)
    inside, polar = regions(normal, length, mu)
    tangential = jnp.where(inside, 1.0, jnp.where(polar, 0.0, mu * along * reciprocal))
    normal = jnp.where(inside, normal, jnp.where(polar, 0.0, along))
    return jnp.concatenate([normal[:, None], tangential[:, None] * x[:, 1:]], axis=1)


def regions(normal: Array, length: Array, mu: Array) -> tuple[Array, Array]:
    """Masks of the points inside their cones, and of those in the polar cones [c, c].

    The latter project to the apex. With μ = 0 a cone is a ray, which has no inside, so that a
    contact without friction never sticks.

    Args:
        normal: x_n of each point [c].
        length: ‖x_t‖ of each point [c].
        mu: friction coefficient of each cone [c].
    """
    inside = (length <= mu * normal) & (normal >= 0) & (mu > 0)
    return inside, (mu * length <= -normal) & ~inside


@jitted
def coulomb_spectrum(
    x: Float[Array, "c 3"], mu: Float[Array, " c"]
) -> tuple[Float[Array, "c 3"], Float[Array, "c 3 3"]]:
    """Eigenvalues and eigenvectors (columns) of the Jacobian of :func:`project_coulomb` at ``x``.

    On the surface the eigenvectors are the generator (1, μ t)/√(1+μ²) with eigenvalue 1, the
    tangential perpendicular (0, t⊥) with μ p_n/‖x_t‖, and the cone's normal with 0; inside they
    are 1 and in the polar cone 0, with any basis. The eigenvalues lie in [0, 1].
    """
    normal, tangent = x[:, 0], x[:, 1:]
    length = safe.norm(tangent)
    inside, polar = regions(normal, length, mu)
    along = (normal + mu * length) / (1.0 + mu * mu)
    unit = safe.normalize(tangent, jnp.asarray([1.0, 0.0], x.dtype))
    scale = 1.0 / jnp.sqrt(1.0 + mu * mu)
    zero = jnp.zeros_like(scale)
    generator = jnp.concatenate([scale[:, None], (mu * scale)[:, None] * unit], axis=1)
    outward = jnp.concatenate([-(mu * scale)[:, None], scale[:, None] * unit], axis=1)
    across = jnp.stack([zero, -unit[:, 1], unit[:, 0]], axis=1)
    surface = jnp.stack([zero + 1.0, safe.divide(mu * along, length), zero], axis=1)
    values = jnp.where(
        inside[:, None], 1.0, jnp.where(polar[:, None], 0.0, jnp.clip(surface, 0.0, 1.0))
    )
    return values, jnp.stack([generator, across, outward], axis=2)


@jitted
def coulomb_slope(x: Float[Array, "c 3"], mu: Float[Array, " c"]) -> Float[Array, "c 2"]:
    """Derivative of μ‖u_t‖ in u_t at the solution λ = Π(x), x = λ − ρ ũ.

    It is μ times the direction of sliding, and 0 where the contact sticks, where the direction of
    u_t is that of rounding errors.
    """
    tangent = x[:, 1:]
    sticks, _ = regions(x[:, 0], safe.norm(tangent), mu)
    direction = safe.normalize(-tangent, jnp.zeros(2, x.dtype))
    return jnp.where(sticks[:, None], 0.0, mu[:, None] * direction)


@dataclass(frozen=True)
class Section:
    """The functions of a friction cone that solvers and derivatives need, for all c contacts."""

    project: Callable[[Array, Array], Array]
    """(x, μ) ↦ the nearest point of the cone."""
    spectrum: Callable[[Array, Array], tuple[Array, Array]]
    """(x, μ) ↦ eigenvalues and eigenvectors of the projection's Jacobian."""
    shift: Callable[[Array, Array], Array]
    """(u_t, μ) ↦ max λ_t · (−u_t) over the tangential section with λ_n = 1: De Saxcé's shift."""
    slope: Callable[[Array, Array], Array]
    """(λ − ρ ũ, μ) ↦ the derivative of ``shift`` in u_t, 0 where the contact sticks."""


def _polygon(sides: int) -> Section:
    return Section(
        partial(pyramids.project, sides=sides),
        partial(pyramids.spectrum, sides=sides),
        lambda u, mu: mu * pyramids.support(u, sides),
        lambda x, mu: mu[:, None] * pyramids.slip(x, mu, sides),
    )


def _rolling(coefficients: Float[Array, "c 2"]) -> Section:
    return Section(
        partial(rolling.project, rolling=coefficients),
        partial(rolling.spectrum, rolling=coefficients),
        partial(rolling.shift, rolling=coefficients),
        partial(rolling.slope, rolling=coefficients),
    )


SECTIONS: dict[ConeType, Section] = {
    "cone": Section(
        project_coulomb, coulomb_spectrum, lambda u, mu: mu * safe.norm(u), coulomb_slope
    ),
    "pyramid": _polygon(4),
    "octagon": _polygon(8),
}
