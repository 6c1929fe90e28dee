"""Projections on cones with rounded edges; each row has a rounding radius S [N s].

For λ ≥ 0 the projection is φ(z) = (z + √(z² + 4 S²)) / 2. With z = λ − ρ u the fixed point λ = φ(z)
means λ u = S² / ρ, which is relaxed complementarity as on the central path of interior-point
methods (Chen & Mangasarian, Comput. Optim. Appl. 5, 1996). On a friction cone φ is applied to the
spectral values z_n + μ‖z_t‖ and z_n − ‖z_t‖/μ (Zhou & Chen, J. Nonlinear Convex Anal. 14, 2013).
For μ = 1 this is φ in the Jordan algebra of the second-order cone (Fukushima, Luo & Tseng, SIAM J.
Optim. 12, 2001). Jacobians are symmetric, with the eigenvectors of the Jacobians without rounding,
and eigenvalues in (0, 1).
"""

from dataclasses import dataclass, field
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.cones.cones import Cones, Section
from jaxccp.ccp.cones.coulomb import coulomb_spectrum
from jaxccp.math import safe


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class RelaxedCones(Cones):
    """Cones with rounded edges; De Saxcé's shift μ‖u_t‖ is rounded too."""

    radius: Float[Array, " n"] = field(kw_only=True)
    """Rounding radius S = m w of each row [N s]; all rows of a contact have the same."""
    speed: float = field(kw_only=True)
    """Rounding speed w [m/s]."""

    @property
    def section(self) -> Section:
        """Rounded projection, shift and derivatives of the contacts' cones.

        Raises:
            ValueError: the contacts have pyramids or rolling friction.
        """
        if self.rolling is not None or self.cone_type != "cone":
            kind = self.cone_type if self.rolling is None else "rolling friction"
            raise ValueError(
                "relaxed gradients are for contacts of three rows with round cones, not for "
                f'{kind}: leave gradient at "always", or build the model without'
            )
        radius = self.split(self.radius)[1][:, 0]
        return Section(
            partial(_project, radius=radius),
            partial(_spectrum, radius=radius),
            partial(_shift, speed=self.speed),
            partial(_slope, radius=radius),
        )

    def project(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return the projection on the cones with rounded edges of a flat vector over rows."""
        scalars, contacts = self.split(x)
        (low, _), (high, _) = self._past(scalars, self.lo), self._past(scalars, self.hi)
        below = jnp.where(jnp.isfinite(self.lo), self.lo + low, scalars)
        above = jnp.where(jnp.isfinite(self.hi), high, 0.0)
        return self.join(below - above, self.section.project(contacts, self.mu))

    def scalar_slopes(self, x: Float[Array, " s"]) -> Float[Array, " s"]:
        """Return the derivatives of the rounded projection of scalar rows, in (0, 1)."""
        low, high = _slope_of(*self._past(x, self.lo)), _slope_of(*self._past(x, self.hi))
        below = jnp.where(jnp.isfinite(self.lo), low, 1.0)
        return below - jnp.where(jnp.isfinite(self.hi), high, 0.0)

    def _past(self, x: Float[Array, " s"], bound: Float[Array, " s"]) -> tuple[Array, Array]:
        """Return :func:`_rounded` of the distance by which scalar rows exceed a bound; any number
        for infinite bounds."""
        past = x - jnp.where(jnp.isfinite(bound), bound, 0.0)
        return _rounded(past, self.split(self.radius)[0])


def _rounded(x: Array, radius: Array) -> tuple[Array, Array]:
    """Return φ(x) and √(x² + 4 S²), without cancellation where x is far below zero."""
    root = safe.norm(jnp.stack([x, 2.0 * radius]), axis=0)
    below = safe.divide(2.0 * radius * radius, root + jnp.abs(x))
    return jnp.where(x < 0, below, 0.5 * (x + root)), root


def _slope_of(rounded: Array, root: Array) -> Array:
    """Return the slope φ'(x) = φ / √(x² + 4 S²) from both results of :func:`_rounded`.

    Args:
        rounded: φ(x) [N s].
        root: √(x² + 4 S²) [N s].
    """
    return safe.divide(rounded, root)


def _values(x: Float[Array, "c 3"], mu: Array, radius: Array) -> tuple[Array, Array, Array, Array]:
    """Return φ and √(x² + 4 S²) at the first spectral value, then at μ times the second with radius
    μ S."""
    length = safe.norm(x[:, 1:])
    first = _rounded(x[:, 0] + mu * length, radius)
    return *first, *_rounded(mu * x[:, 0] - length, mu * radius)


def _across(x: Float[Array, "c 3"], mu: Array, radius: Array) -> Float[Array, " c"]:
    """Return the factor of the tangential part under the rounded projection.

    It is the divided difference of φ over the two spectral values, and an eigenvalue of the
    Jacobian.
    """
    first, root, second, second_root = _values(x, mu, radius)
    return safe.divide(mu * first + second, mu * root + second_root)


def _project(
    x: Float[Array, "c 3"], mu: Float[Array, " c"], radius: Float[Array, " c"]
) -> Float[Array, "c 3"]:
    """Return the projection of each contact's impulse on its cone with rounded edges."""
    first, _, second, _ = _values(x, mu, radius)
    normal = (first + mu * second) / (1.0 + mu * mu)
    tangent = _across(x, mu, radius)[:, None] * x[:, 1:]
    return jnp.concatenate([normal[:, None], tangent], axis=1)


def _spectrum(
    x: Float[Array, "c 3"], mu: Float[Array, " c"], radius: Float[Array, " c"]
) -> tuple[Float[Array, "c 3"], Float[Array, "c 3 3"]]:
    """Return eigenvalues and eigenvectors (columns) of the Jacobian of :func:`_project` at
    ``x``."""
    first, root, second, second_root = _values(x, mu, radius)
    ends = _slope_of(first, root), _slope_of(second, second_root)
    values = jnp.stack([ends[0], _across(x, mu, radius), ends[1]], axis=1)
    return values, coulomb_spectrum(x, mu)[1]


def _shift(u: Float[Array, "c 2"], mu: Float[Array, " c"], speed: float) -> Float[Array, " c"]:
    """Return the rounded shift μ (√(‖u_t‖² + w²) − w)."""
    rounded = jnp.sqrt(jnp.sum(u * u, axis=1) + speed * speed)
    return mu * (rounded - speed)


def _slope(
    x: Float[Array, "c 3"], mu: Float[Array, " c"], radius: Float[Array, " c"]
) -> Float[Array, "c 2"]:
    """Return the derivative of :func:`_shift` at u_t = (Π(x) − x)_t / ρ."""
    slip = (1.0 - _across(x, mu, radius))[:, None] * x[:, 1:]
    length = jnp.sqrt(jnp.sum(slip * slip, axis=1) + radius * radius)
    return -(mu / length)[:, None] * slip
