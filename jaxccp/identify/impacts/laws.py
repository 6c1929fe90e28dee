"""Laws of planar impact at one contact: from the velocity of approach to the impulse.

A law sees the contact alone: its Delassus operator N [1/kg], normal row first, tangential row
second, and the relative velocity u before the impact [m/s]; after it u is u + N λ.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.math import safe
from jaxccp.names import unknown

PHASE_STEPS = 72
"""Number of steps of :func:`tangential_compliance` in each phase of an impact of a single mass."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ImpactContact:
    """A contact before a planar impact."""

    delassus: Float[Array, "2 2"]
    """N [1/kg], normal row first."""
    velocity: Float[Array, " 2"]
    """u, velocity of the second surface relative to the first (normal, tangential) [m/s]; a
    negative normal part closes."""
    restitution: Float[Array, ""]
    """Coefficient of restitution e."""
    friction: Float[Array, ""]
    """Coulomb's coefficient μ."""
    numbers: Mapping[str, Float[Array, ""]] = field(default_factory=dict)
    """Other numbers of the law, by name."""

    @property
    def approach(self) -> Float[Array, ""]:
        """Return the normal velocity before the impact, 0 if the surfaces separate [m/s]."""
        return jnp.minimum(self.velocity[0], 0.0)


@dataclass(frozen=True)
class ImpactLaw:
    """An impact law: its function, and its numbers other than restitution and friction."""

    impulse: Callable[[ImpactContact], Float[Array, " 2"]]
    """Function that returns the normal and tangential impulse [N s] for a contact."""
    numbers: Mapping[str, float] = field(default_factory=dict)
    """Default values of these numbers, by name."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SlipPath:
    """The tangential impulse as a function of the normal impulse p under Coulomb's law (Routh's
    method).

    The contact slips in one direction until p = ``end``; then it sticks or slips in the other
    direction.
    """

    first: Float[Array, ""]
    """Ratio of tangential to normal impulse in the first slip."""
    second: Float[Array, ""]
    """The same ratio after the first slip."""
    end: Float[Array, ""]
    """Normal impulse at which the first slip ends [N s]; infinite if it never does."""
    slopes: Float[Array, " 2"]
    """Change of the normal velocity per normal impulse, before and after ``end`` [1/kg]."""

    @staticmethod
    def of(contact: ImpactContact) -> "SlipPath":
        """Return the slip path of a contact."""
        delassus, friction = contact.delassus, contact.friction
        slip, coupling, tangential = contact.velocity[1], delassus[0, 1], delassus[1, 1]
        sense = jnp.where(slip < 0, -1.0, 1.0)
        rate = coupling - friction * sense * tangential
        slows = rate * sense < 0
        end = jnp.where(slows, -slip / jnp.where(slows, rate, 1.0), jnp.inf)
        first = -friction * sense
        second = jnp.clip(-coupling / tangential, -friction, friction)
        slopes = delassus[0, 0] + coupling * jnp.stack([first, second])
        return SlipPath(first, second, end, slopes)

    def integrate(self, normal: Array, before: Array, after: Array) -> Array:
        """Return the integral over the normal impulse of ``before`` until the first slip ends, and
        ``after`` beyond it.

        Args:
            normal: upper end of the integral [N s].
            before: value while the contact slips.
            after: value beyond that.
        """
        return before * jnp.minimum(normal, self.end) + after * jnp.maximum(normal - self.end, 0.0)

    def impulse(self, normal: Array) -> Float[Array, " 2"]:
        """Return normal and tangential impulse at a normal impulse [N s]."""
        return jnp.stack([normal, self.integrate(normal, self.first, self.second)])

    def compression(self, approach: Array) -> tuple[Array, Array, Array]:
        """Return the normal impulse at which the contact stops closing [N s], whether it slips
        until then, and the normal velocity at the end of the first slip [m/s].

        Args:
            approach: normal velocity before the impact, negative [m/s].
        """
        finite = jnp.isfinite(self.end)
        end = jnp.where(finite, self.end, 0.0)
        turning = approach + self.slopes[0] * end
        slips = ~finite | (turning >= 0)
        slope = jnp.where(slips, self.slopes[0], 1.0)
        return (
            jnp.where(slips, -approach / slope, end - turning / self.slopes[1]),
            slips,
            turning,
        )


def newton(contact: ImpactContact) -> Float[Array, " 2"]:
    """Return the impulse by Newton's law: the contact separates at e times its approach speed.

    It sticks at the end unless friction, with Coulomb's law applied to the total impulse, is too
    small.
    """
    target = jnp.stack([-(1.0 + contact.restitution) * contact.approach, -contact.velocity[1]])
    (a, c), (_, b) = contact.delassus
    sticking = jnp.stack([b * target[0] - c * target[1], a * target[1] - c * target[0]])
    ratio = jnp.clip(safe.divide(sticking[1], sticking[0]), -contact.friction, contact.friction)
    normal = target[0] / (a + c * ratio)
    return jnp.stack([normal, ratio * normal])


def anitescu_potra(contact: ImpactContact) -> Float[Array, " 2"]:
    """Return the impulse that ends the approach, with its normal part multiplied by 1 + e and
    Coulomb's law applied to the total impulse before that (Anitescu & Potra, Nonlinear Dynamics 14,
    1997)."""
    e = contact.restitution
    compression = newton(replace(contact, restitution=jnp.zeros_like(e)))
    return compression * jnp.stack([1.0 + e, jnp.ones_like(e)])


def poisson(contact: ImpactContact) -> Float[Array, " 2"]:
    """Return the impulse by Routh's method with Poisson's law: the normal impulse of restitution is
    e times that of compression."""
    path = SlipPath.of(contact)
    normal, _, _ = path.compression(contact.approach)
    return path.impulse((1.0 + contact.restitution) * normal)


def stronge(contact: ImpactContact) -> Float[Array, " 2"]:
    """Return the impulse by Routh's method with Stronge's law: the normal force's work of
    restitution is e² times that of compression (Stronge, Proc. R. Soc. A 431, 1990)."""
    approach, path = contact.approach, SlipPath.of(contact)
    normal, slips, turning = path.compression(approach)
    first, second = jnp.where(slips, path.slopes[0], 1.0), path.slopes[1]
    stored = jnp.where(
        slips,
        0.5 * approach**2 / first,
        0.5 * (approach**2 - turning**2) / path.slopes[0] + 0.5 * turning**2 / second,
    )
    work = contact.restitution**2 * stored
    # Work returned by the normal force until the slip ends, if it ends during restitution.
    finite = jnp.isfinite(path.end)
    early = jnp.where(slips & finite, 0.5 * turning**2 / first, 0.0)
    slipping = slips & (~finite | (work <= early))
    inside = normal + _root(2.0 * first * work) / first
    start = jnp.where(slips, turning, 0.0)
    left = jnp.where(slipping, 0.0, work - early)
    sticking = (_root(start**2 + 2.0 * second * left) - start) / second
    sticking = sticking + jnp.where(slips, jnp.where(finite, path.end, 0.0), normal)
    return path.impulse(jnp.where(slipping, inside, sticking))


def _root(x: Array) -> Array:
    """Return √x, with derivative 0 at 0."""
    return x * safe.reciprocal_root(x)


def tangential_compliance(contact: ImpactContact) -> Float[Array, " 2"]:
    """Return the impulse of a contact that is compliant in both directions: springs with Coulomb
    friction.

    The normal spring returns e² of its energy, with different stiffness in loading and unloading
    (Walton & Braun, J. Rheology 30, 1986), so that e is Stronge's. The tangential spring has
    ``tangential_stiffness`` times the normal stiffness; its end slides where its force exceeds
    friction (Stronge, Impact Mechanics, 2000, section 5; Maw, Barber & Fawcett, Wear 38, 1976). Its
    stored energy can reverse the slip. A stiff tangential spring leads to Routh's method.

    The motion is integrated by leapfrog steps in the time unit of the normal spring, on which
    results do not depend. The error is of second order: mostly below 0.1 %, and 1 % for e < 0.1.
    Contacts that friction alone would jam, μ |N_nt| ≥ N_nn, may still close at the end of the last
    step.
    """
    stiffness = contact.numbers["tangential_stiffness"]
    restitution, friction = contact.restitution, contact.friction
    a = contact.delassus[0, 0]
    n, u = contact.delassus / a, jnp.stack([contact.approach, contact.velocity[1]])
    # The lowest frequency of the normal spring: when the contact sticks, or slips with friction
    # that pulls the surfaces together.
    softest = jnp.minimum(1.0 - n[0, 1] ** 2 / n[1, 1], 1.0 - friction * jnp.abs(n[0, 1]))
    duration = 1.1 * jnp.pi * jnp.maximum(softest, 0.05) ** -0.5
    steps = 2 * PHASE_STEPS
    dt = duration / steps

    def step(carry: tuple[Array, ...], _: None) -> tuple[tuple[Array, ...], None]:
        u, depth, deepest, stretch, impulse = carry
        span = jnp.where(depth < deepest, restitution, 1.0) * dt
        depth, stretch = depth - 0.5 * span * u[0], stretch + 0.5 * span * u[1]
        deepest = jnp.maximum(deepest, depth)
        left = jnp.maximum(depth - (1.0 - restitution**2) * deepest, 0.0)
        force = jnp.where(depth >= deepest, depth, safe.divide(left, restitution**2))
        shear = jnp.clip(-stiffness * stretch, -friction * force, friction * force)
        change = span * jnp.stack([force, shear])
        u = u + n @ change
        depth, stretch = depth - 0.5 * span * u[0], -shear / stiffness + 0.5 * span * u[1]
        return (u, depth, jnp.maximum(deepest, depth), stretch, impulse + change), None

    zero = jnp.zeros_like(u[0])
    start = (u, zero, zero, zero, jnp.zeros_like(u))
    end, _ = lax.scan(step, start, None, length=steps)
    return end[-1] / a


LAWS: dict[str, ImpactLaw] = {
    "newton": ImpactLaw(newton),
    "anitescu_potra": ImpactLaw(anitescu_potra),
    "poisson": ImpactLaw(poisson),
    "stronge": ImpactLaw(stronge),
    "tangential_compliance": ImpactLaw(tangential_compliance, {"tangential_stiffness": 1.0}),
}
"""Impact laws by name; a new one is a function and one line here."""


def impact_law(name: str) -> ImpactLaw:
    """Return an impact law by its name.

    Raises:
        ValueError: no law has that name.
    """
    if name not in LAWS:
        raise ValueError(f"impact law {unknown(name, LAWS)}")
    return LAWS[name]
