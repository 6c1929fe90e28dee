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
import numpy as np
from jaxtyping import Array, Float

from jaxccp.ccp.cones import pyramids, rolling
from jaxccp.ccp.cones.coulomb import coulomb_slope, coulomb_spectrum, project_coulomb
from jaxccp.execution import trees
from jaxccp.execution.jitted import jitted
from jaxccp.math import safe
from jaxccp.math.array_input import Dimension, as_floats

ConeType = Literal["cone", "pyramid", "octagon"]
"""Shape of the bound on a contact's tangential impulses: a disc of radius μ λ_n, or the square or
the regular octagon around the disc (:mod:`jaxccp.ccp.cones.pyramids`)."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Cones:
    """The set K of admissible multipliers, K = Π [lo_i, hi_i] × Π {‖λ_t‖ ≤ μ_c λ_n}."""

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
        """Projection and derivatives of the contacts' cones.

        Raises:
            ValueError: unknown ``cone_type``, or rolling friction with a pyramid.
        """
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
            ValueError: bounds or coefficients differ in number, or their values are known and a
                lower bound is above the upper one, or a coefficient is negative or not finite.
        """
        contacts = Dimension("contacts", jnp.asarray(self.mu).size)
        scalars = Dimension("scalar rows", jnp.asarray(self.lo).size)
        mu = as_floats("cones.mu", self.mu, [contacts])
        lo, hi = (
            as_floats(f"cones.{name}", bound, [scalars])
            for name, bound in (("lo", self.lo), ("hi", self.hi))
        )
        rolling = self.rolling
        if rolling is not None:
            rolling = as_floats("cones.rolling", rolling, [contacts, 2])
        if not trees.is_traced((lo, hi)) and (crossed := np.asarray(lo) > np.asarray(hi)).any():
            row = int(np.argmax(crossed))
            raise ValueError(
                f"cones.lo must not be above cones.hi, but of scalar row {row} they are {lo[row]} "
                f"and {hi[row]}"
            )
        for name, coefficients in (("mu", mu), ("rolling", rolling)):
            if coefficients is None or trees.is_traced(coefficients):
                continue
            values = np.asarray(coefficients)
            if (wrong := ~((values >= 0) & (values < np.inf))).any():
                contact = int(np.argwhere(wrong)[0, 0])
                raise ValueError(
                    f"cones.{name} must be ≥ 0 and finite, but of contact {contact} it is "
                    f"{coefficients[contact]}; 1e3 is as good as no bound"
                )
        return replace(self, lo=lo, hi=hi, mu=mu, rolling=rolling)

    def split(self, x: Float[Array, " n"]) -> tuple[Float[Array, " s"], Float[Array, "c w"]]:
        """Return the scalar rows and the contact rows of a flat vector over rows."""
        s = self.lo.shape[-1]
        return x[:s], x[s:].reshape(-1, self.width)

    def join(
        self, scalars: Float[Array, " s"], contacts: Float[Array, "c w"]
    ) -> Float[Array, " n"]:
        """Return the flat vector over rows, the inverse of :meth:`split`.

        Args:
            scalars: entries of the scalar rows.
            contacts: entries of the contacts, one line for each contact.
        """
        return jnp.concatenate([scalars, contacts.reshape(-1)])

    def spread(self, scalars: Float[Array, " s"], blocks: Float[Array, " c"]) -> Float[Array, " n"]:
        """Return a flat vector over rows, with one value for each scalar row and one for all rows
        of each contact.

        Args:
            scalars: the values of the scalar rows.
            blocks: the values of the contacts.
        """
        return jnp.concatenate([scalars, jnp.repeat(blocks, self.width)])

    def add_normal(self, x: Float[Array, " n"], by: Float[Array, " c"]) -> Float[Array, " n"]:
        """Return ``x`` with ``by`` added to the contacts' normal rows.

        Args:
            x: a flat vector over rows.
            by: a value for each contact.
        """
        scalars, contacts = self.split(x)
        return self.join(scalars, contacts.at[:, 0].add(by))

    def de_saxce(self, u: Float[Array, " n"]) -> Float[Array, " c"]:
        """Return μ ‖u_t‖ of each contact, in the units of ``u`` (see ``Problem.de_saxce``)."""
        return self.section.shift(self.split(u)[1][:, 1:], self.mu)

    @jitted
    def project(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return the Euclidean projection on K of a flat vector over rows."""
        scalars, contacts = self.split(x)
        projected = self.section.project(contacts, self.mu)
        return self.join(safe.clip(scalars, self.lo, self.hi), projected)

    def acts(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return 1 for the rows whose projection depends on ``x``, 0 for the others: box rows at a
        bound, and contacts that are projected to zero."""
        scalars, contacts = self.split(x)
        touching = self.section.project(contacts, self.mu)[:, 0] > 0
        return self.spread(self.scalar_slopes(scalars), touching.astype(x.dtype))

    def scalar_slopes(self, x: Float[Array, " s"]) -> Float[Array, " s"]:
        """Return the derivatives of the projection of scalar rows: 1 between the bounds, else 0."""
        return ((x > self.lo) & (x < self.hi)).astype(x.dtype)

    def project_dual(self, x: Float[Array, " n"]) -> Float[Array, " n"]:
        """Return the projection of a flat vector over rows on the dual cone K* (Moreau: x +
        Π_K(-x)).

        A box row with a finite bound on both sides is not a cone. Its recession cone {0} takes its
        place; every velocity is in the dual of {0}, as complementarity allows every velocity on
        such a row.
        """
        lo = jnp.where(jnp.isfinite(self.lo), 0.0, self.lo)
        hi = jnp.where(jnp.isfinite(self.hi), 0.0, self.hi)
        recession = replace(self, lo=lo, hi=hi)
        return x + recession.project(-x)


def equality(count: int, dtype: jnp.dtype | None = None) -> tuple[Array, Array]:
    """Return the bounds (lo, hi) of ``count`` equality rows.

    Args:
        count: number of rows.
        dtype: dtype of the bounds.
    """
    bound = jnp.full((count,), jnp.inf, dtype)
    return -bound, bound


def inequality(count: int, dtype: jnp.dtype | None = None) -> tuple[Array, Array]:
    """Return the bounds (lo, hi) of ``count`` rows with λ ≥ 0.

    Args:
        count: number of rows.
        dtype: dtype of the bounds.
    """
    bound = jnp.full((count,), jnp.inf, dtype)
    return jnp.zeros_like(bound), bound


@dataclass(frozen=True)
class Section:
    """The projection, De Saxcé's shift and their derivatives for one type of friction cone, named
    by its tangential cross-section.

    Each function takes the arrays of all c contacts.
    """

    project: Callable[[Array, Array], Array]
    """(x, μ) ↦ the nearest point of the cone."""
    spectrum: Callable[[Array, Array], tuple[Array, Array]]
    """(x, μ) ↦ eigenvalues and eigenvectors of the projection's Jacobian."""
    shift: Callable[[Array, Array], Array]
    """(u_t, μ) ↦ max λ_t · (−u_t) over the tangential section with λ_n = 1: De Saxcé's shift."""
    slope: Callable[[Array, Array], Array]
    """(λ − ρ ũ, μ) ↦ the derivative of ``shift`` in u_t, 0 where the contact sticks."""


def _polygon(sides: int) -> Section:
    """Return the functions of the friction pyramid with 4 or 8 sides."""
    return Section(
        partial(pyramids.project, sides=sides),
        partial(pyramids.spectrum, sides=sides),
        lambda u, mu: mu * pyramids.support(u, sides),
        lambda x, mu: mu[:, None] * pyramids.slope(x, mu, sides),
    )


def _rolling(coefficients: Float[Array, "c 2"]) -> Section:
    """Return the functions of cones with spinning and rolling friction."""
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
