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
    """Mask of the shapes whose contacts count; for a range finder, of the shapes that it
    ignores."""
    bodies: Bool[np.ndarray, " nb"]
    """Mask of the bodies that a force sensor carries completely."""
    zone: Shape | None = None
    """Zone of a touch sensor, in its frame; None: everywhere."""
    body: int = 0
    """Body of which a force sensor carries only a part."""
    mass: float = 0.0
    """Mass of that part [kg]."""
    centre: Float[np.ndarray, "3"] = field(default_factory=lambda: np.zeros(3))
    """Centre of mass of the part in the body's axes, from the body's centre of mass [m]."""
    inertia: Float[np.ndarray, "3 3"] = field(default_factory=lambda: np.zeros((3, 3)))
    """Inertia of the part about its centre, in the body's axes [kg m²]."""


@dataclass(frozen=True, eq=False)
class ContactSelection(ByContent):
    """Contacts that a contact sensor selects, and the fields that it returns for them."""

    first: Bool[np.ndarray, " ng"] | None
    """Mask of the shapes of which one must be in contact; normals and forces point away from it.
    None: any shape."""
    second: Bool[np.ndarray, " ng"] | None
    """Mask of the shapes for the other side of the contact. If only this one is given, normals and
    forces point to it."""
    zone: Shape | None
    """Zone in the sensor's frame that must contain the contact point; None: anywhere."""
    data: tuple[str, ...]
    """Fields of :data:`jaxccp.sensors.contact_pairs.FIELDS`, in their order; at least one."""
    choice: str
    """Order in which contacts are chosen (MuJoCo's ``reduce``): ``"none"``, ``"mindist"`` or
    ``"maxforce"``; ``"netforce"`` combines them."""
    count: int
    """Number of contacts to return, at least 1."""
