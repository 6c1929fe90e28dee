"""What sensors count of a model: shapes, bodies and a zone; static."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float

from jaxccp.content import ByContent
from jaxccp.model.shapes import Shape


@dataclass(frozen=True, eq=False)
class Detail(ByContent):
    """The detail of one sensor. Without one a sensor counts what its frame's body has."""

    shapes: Bool[np.ndarray, " ng"]
    """Those whose contacts count, or of a range finder those that it does not see."""
    bodies: Bool[np.ndarray, " nb"]
    """Those that a force sensor carries as a whole."""
    zone: Shape | None = None
    """Of a touch sensor: where, in its frame, it feels; everywhere if None."""
    body: int = 0
    """The body of which a force sensor carries a part, and of that part …"""
    mass: float = 0.0
    """… the mass [kg], …"""
    centre: Float[np.ndarray, "3"] = field(default_factory=lambda: np.zeros(3))
    """… its centre in the body's axes, from the body's centre of mass [m], …"""
    inertia: Float[np.ndarray, "3 3"] = field(default_factory=lambda: np.zeros((3, 3)))
    """… and the inertia about it, in the body's axes [kg m²]."""


@dataclass(frozen=True, eq=False)
class Meeting(ByContent):
    """A meeting says which contacts a contact sensor finds, and what it shows of them."""

    first: Bool[np.ndarray, " ng"] | None
    """Shapes of which one must be the one, from which normals and forces then point; any if
    None."""
    second: Bool[np.ndarray, " ng"] | None
    """And the other. If only this is given, normals and forces point to it."""
    zone: Shape | None
    """Where, in the sensor's frame, the contact's point must be; anywhere if None."""
    data: tuple[str, ...]
    """Of :data:`jaxccp.sensors.meet.FIELDS`, in their order."""
    choice: str
    """``"none"``, ``"mindist"``, ``"maxforce"`` or ``"netforce"``."""
    count: int
    """Room for so many contacts."""
