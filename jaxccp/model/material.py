"""Contact materials and how two of them combine."""

from dataclasses import dataclass, fields
from typing import Literal

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.model.inputs.check import instance, nonnegative
from jaxccp.model.smooth import SmoothCoefficients, SmoothMaterial

Rule = Literal["min", "max", "mean", "geometric"]


@dataclass(frozen=True)
class Material:
    """Surface properties that determine contact."""

    friction: float = 0.6
    """Coulomb coefficient μ."""
    restitution: float = 0.0
    """Ratio e of separation to approach speed, 0..1, above the minimum bounce speed."""
    compliance: float = 0.0
    """Normal displacement per force [m/N]; 0 is rigid. A surface with ``restitution`` bounces as a
    rigid one; it yields where it overlaps another, at rest or under a load."""
    damping: float = 0.0
    """Relaxation time α of a compliant contact [s]: its dashpot is α / compliance [N·s/m]."""
    impact_friction: float = 1.0
    """Ratio of the Coulomb coefficient in impacts to ``friction``, the one in lasting contact; 1 if
    they are equal. They differ if the coefficient falls with pressure."""
    spinning: float = 0.0
    """Largest torque about the normal by which a contact resists spinning, per normal force [m]."""
    rolling: float = 0.0
    """Largest torque about a tangent by which a contact resists rolling, per normal force [m]."""
    smooth: SmoothMaterial | SmoothCoefficients | None = None
    """Elasticity of a compliant surface. Its contacts, also those with hard surfaces, are penalty
    forces (docs/smooth_contact.md). None makes the surface hard."""

    def __post_init__(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            if f.name == "friction" and np.ndim(value):
                raise ValueError(
                    f"Material: friction must be one number, not {value!r}; spinning= and rolling= "
                    "take the coefficients of spinning and rolling friction [m]"
                )
            if f.name != "smooth":
                nonnegative(f"Material: {f.name}", value)
        kinds = SmoothMaterial, SmoothCoefficients, type(None)
        expected = "a SmoothMaterial, such as SmoothMaterial(young_modulus=1e6), or None"
        instance("Material: smooth", self.smooth, kinds, expected)
        if self.restitution > 1:
            raise ValueError(f"Material: restitution must lie in [0, 1], not {self.restitution!r}")
        hard_defaults = {"compliance": 0.0, "damping": 0.0, "impact_friction": 1.0}
        hard_fields = [
            name for name, default in hard_defaults.items() if getattr(self, name) != default
        ]
        if self.smooth is not None and hard_fields:
            raise ValueError(
                f"Material: {', '.join(hard_fields)} is of hard contact, but the surface is "
                "smooth: leave it out, or leave out smooth"
            )
        if isinstance(self.smooth, SmoothCoefficients) and self.restitution:
            raise ValueError(
                f"Material: a restitution of {self.restitution!r} has no effect on a surface with "
                "SmoothCoefficients, whose dashpots are given: leave it out, or give a "
                "SmoothMaterial"
            )


@dataclass(frozen=True)
class Combination:
    """The rules that combine the coefficients of two materials in a contact.

    Compliances and damping times always add. The default (the smaller value, for both) is Chrono's.
    """

    friction: Rule = "min"
    """The rule for friction, spinning and rolling friction."""
    restitution: Rule = "min"
    """The rule for restitution."""

    def __post_init__(self) -> None:
        for f in fields(self):
            if getattr(self, f.name) not in _RULES:
                raise ValueError(
                    f"Combination: {f.name} must be one of {', '.join(_RULES)}, "
                    f"not {getattr(self, f.name)!r}"
                )


def _geometric(a: Array, b: Array) -> Array:
    """Return the geometric mean, with derivative 0 where it is 0."""
    product = a * b
    return jnp.where(product > 0, jnp.sqrt(jnp.where(product > 0, product, 1.0)), 0.0)


_RULES = {
    "min": jnp.minimum,
    "max": jnp.maximum,
    "mean": lambda a, b: 0.5 * (a + b),
    "geometric": _geometric,
}


def combine(rule: Rule, a: Float[Array, "c *k"], b: Float[Array, "c *k"]) -> Float[Array, "c *k"]:
    """Return the coefficient of each contact.

    Args:
        rule: the rule of combination.
        a: coefficients of the first surface of each contact.
        b: coefficients of the second surface of each contact.
    """
    return _RULES[rule](a, b)
