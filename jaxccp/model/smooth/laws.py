"""The laws of a model's smooth contacts, the pairs of shapes they hold for, and their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import jax
import numpy as np
from jaxtyping import Array, Float

from jaxccp.content import ByContent
from jaxccp.model.smooth.adhesion import ADHESION
from jaxccp.model.smooth.normal import NORMAL

if TYPE_CHECKING:
    from jaxccp.model.model import PairGroup

Tangential = Literal["none", "one-step", "multi-step"]


@dataclass(frozen=True)
class SmoothLaws:
    """The laws of all smooth contacts of a model: two surfaces of different laws would have
    none."""

    normal: str = "hertz"
    """One of :data:`jaxccp.model.smooth.NORMAL`: how overlap becomes force."""
    tangential: Tangential = "multi-step"
    """What stretches the spring across the normal: nothing, so that friction is the dashpot's
    alone; the slip of one step; or that of all steps since the surfaces met, so that they can stay
    where they are on a slope."""
    adhesion: str = "constant"
    """One of :data:`jaxccp.model.smooth.ADHESION`."""
    characteristic_speed: float = 1.0
    """Of impacts, for which the law "hooke" chooses its spring [m/s]."""
    flat_radius: float = 0.1
    """Effective radius of curvature of a contact of two flat surfaces [m]."""

    def __post_init__(self) -> None:
        known = {"normal": NORMAL, "tangential": get_args(Tangential), "adhesion": ADHESION}
        for name, names in known.items():
            value = getattr(self, name)
            if value not in names:
                raise ValueError(
                    f"SmoothLaws: {name} must be one of {', '.join(names)}, not {value!r}"
                )
        for name in ("characteristic_speed", "flat_radius"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0):
                raise ValueError(f"SmoothLaws: {name} must be finite and positive, not {value!r}")


@dataclass(frozen=True, eq=False)
class SmoothTopology(ByContent):
    """The static facts of a model's smooth contacts."""

    pairs: tuple[PairGroup, ...]
    """The pairs of shapes of which one or both are smooth, grouped by kernel."""
    normal: str
    tangential: Tangential
    adhesion: str
    rolls: bool
    """Whether any of these contacts resists spinning or rolling."""
    max_contacts: int | None
    """The number of overlapping pairs that a step has room for; None: for all candidates."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SmoothSurfaces:
    """The numbers of a model's smooth contacts, one row per shape; those that are not smooth are
    infinitely stiff."""

    young_modulus: Float[Array, " ng"]
    """[Pa]"""
    poisson_ratio: Float[Array, " ng"]
    coefficients: Float[Array, "ng 4"] | None
    """As :class:`jaxccp.SmoothCoefficients` has them; None in a model of moduli."""
    adhesion: Float[Array, " ng"]
    """Strength; that of a contact is the smaller one."""
    frame_mass: Float[Array, " nb"]
    """Mass that a push at the start feels of the frames of families that smooth shapes are on [kg];
    0 for all other bodies."""
    characteristic_speed: Float[Array, ""]
    """[m/s]"""
    flat_radius: Float[Array, ""]
    """[m]"""
