"""Shapes, bodies and zones that sensors measure; static."""

from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Bool, Float

from jaxccp.content import ByContent
from jaxccp.model.shapes import Shape


@dataclass(frozen=True, eq=False)
class SensorScope(ByContent):
    """Shapes, bodies and zone that one sensor measures; by default those of its frame's body."""

    shapes: Bool[np.ndarray, " ng"]
    """Shapes whose contacts count; of a range finder those that it does not see."""
    bodies: Bool[np.ndarray, " nb"]
    """Bodies that a force sensor carries as a whole."""
    zone: Shape | None = None
    """Zone of a touch sensor in its frame; None: everywhere."""
    body: int = 0
    """Body of which a force sensor carries a part."""
    mass: float = 0.0
    """Mass of that part [kg]."""
    centre: Float[np.ndarray, "3"] = field(default_factory=lambda: np.zeros(3))
    """Centre of mass of the part in the body's axes, from the body's centre of mass [m]."""
    inertia: Float[np.ndarray, "3 3"] = field(default_factory=lambda: np.zeros((3, 3)))
    """Inertia of the part about its centre, in the body's axes [kg m²]."""


@dataclass(frozen=True, eq=False)
class ContactSelection(ByContent):
    """Contacts that a contact sensor finds, and the fields it shows of them."""

    first: Bool[np.ndarray, " ng"] | None
    """Shapes of which one must take part, from which normals and forces then point; None: any."""
    second: Bool[np.ndarray, " ng"] | None
    """Shapes of which the other one must be; if only this is given, normals and forces point to
    it."""
    zone: Shape | None
    """Zone in the sensor's frame in which the contact's point must be; None: anywhere."""
    data: tuple[str, ...]
    """Fields of :data:`jaxccp.sensors.contact_pairs.FIELDS`, in their order."""
    choice: str
    """Order of the contacts: ``"none"``, ``"mindist"``, ``"maxforce"`` or ``"netforce"``."""
    count: int
    """Number of contacts to show."""
