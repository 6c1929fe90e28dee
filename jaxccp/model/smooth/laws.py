"""The laws of a model's smooth contacts, their pairs of shapes, and their numbers."""

from dataclasses import dataclass
from typing import Literal, get_args

import jax
import numpy as np
from jaxtyping import Array, Float

from jaxccp.content import ByContent
from jaxccp.model.pair_group import PairGroup
from jaxccp.model.smooth.adhesion import ADHESION
from jaxccp.model.smooth.normal import NORMAL

Tangential = Literal["none", "one-step", "multi-step"]


@dataclass(frozen=True)
class SmoothLaws:
    """The laws of all smooth contacts of a model; all surfaces share them."""

    normal: str = "hertz"
    """Name of the normal force law, one of :data:`jaxccp.model.smooth.NORMAL`."""
    tangential: Tangential = "multi-step"
    """Displacement of the tangential spring: none (friction comes from the dashpot alone), the slip
    of one step, or the slip of all steps since the surfaces met (they can then stick on a
    slope)."""
    adhesion: str = "constant"
    """Name of the law of adhesion, one of :data:`jaxccp.model.smooth.ADHESION`."""
    characteristic_speed: float = 1.0
    """Speed of impacts to which the law "hooke" fits its spring [m/s]."""
    flat_radius: float = 0.1
    """Effective radius of curvature of a contact of two flat surfaces [m]."""

    def __post_init__(self) -> None:
        allowed = {"normal": NORMAL, "tangential": get_args(Tangential), "adhesion": ADHESION}
        for name, names in allowed.items():
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
    """The static data of a model's smooth contacts."""

    pairs: tuple[PairGroup, ...]
    """The pairs of shapes with at least one smooth shape, grouped by kernel."""
    normal: str
    """Name of the law of normal force."""
    tangential: Tangential
    """Displacement of the tangential spring, as in :class:`SmoothLaws`."""
    adhesion: str
    """Name of the law of adhesion."""
    rolls: bool
    """Whether any of these contacts resists spinning or rolling."""
    max_contacts: int | None
    """Capacity for overlapping pairs in a step; None: for all candidates."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SmoothSurfaces:
    """Data of a model's smooth contacts, one row per shape; hard shapes are infinitely stiff."""

    young_modulus: Float[Array, " ng"]
    """Young's modulus [Pa]."""
    poisson_ratio: Float[Array, " ng"]
    """Poisson's ratio."""
    coefficients: Float[Array, "ng 4"] | None
    """Springs and dashpots, in the order of :class:`jaxccp.SmoothCoefficients`; None in a model
    whose surfaces have moduli."""
    adhesion: Float[Array, " ng"]
    """Strength of adhesion of each surface; a contact has the smaller one of its two."""
    frame_mass: Float[Array, " nb"]
    """Effective mass at time 0 of the family frames that have smooth shapes [kg]; 0 for all other
    bodies."""
    characteristic_speed: Float[Array, ""]
    """Speed of impacts to which the law "hooke" fits its spring [m/s]."""
    flat_radius: Float[Array, ""]
    """Effective radius of curvature of a contact of two flat surfaces [m]."""
