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
    """The laws of all smooth contacts of a model; they are common to all surfaces."""

    normal: str = "hertz"
    """One of :data:`jaxccp.model.smooth.NORMAL`, the law by which overlap becomes force."""
    tangential: Tangential = "multi-step"
    """The displacement that stretches the tangential spring: none, so that friction is the
    dashpot's alone; the slip of one step; or the slip of all steps since the surfaces met, so that
    they can stick on a slope."""
    adhesion: str = "constant"
    """One of :data:`jaxccp.model.smooth.ADHESION`."""
    characteristic_speed: float = 1.0
    """Speed of impacts for which the law "hooke" chooses its spring [m/s]."""
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
    """The static facts of a model's smooth contacts."""

    pairs: tuple[PairGroup, ...]
    """The pairs of shapes of which one or both are smooth, grouped by kernel."""
    normal: str
    """Name of the law of normal force."""
    tangential: Tangential
    """What stretches the tangential spring."""
    adhesion: str
    """Name of the law of adhesion."""
    rolls: bool
    """Whether any of these contacts resists spinning or rolling."""
    max_contacts: int | None
    """Capacity for overlapping pairs in a step; None: for all candidates."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SmoothSurfaces:
    """The numbers of a model's smooth contacts, one row per shape; hard shapes are infinitely
    stiff."""

    young_modulus: Float[Array, " ng"]
    """Young's modulus [Pa]."""
    poisson_ratio: Float[Array, " ng"]
    """Poisson's ratio."""
    coefficients: Float[Array, "ng 4"] | None
    """Springs and dashpots, in the order of :class:`jaxccp.SmoothCoefficients`; None in a model of
    moduli."""
    adhesion: Float[Array, " ng"]
    """Strength of adhesion; that of a contact is the smaller one."""
    frame_mass: Float[Array, " nb"]
    """Effective mass at the start of the frames of families that smooth shapes are on [kg]; 0 for
    all other bodies."""
    characteristic_speed: Float[Array, ""]
    """Speed of impacts for which the law "hooke" chooses its spring [m/s]."""
    flat_radius: Float[Array, ""]
    """Effective radius of curvature of a contact of two flat surfaces [m]."""
