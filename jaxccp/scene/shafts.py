"""Shafts: inertias of one degree of freedom, for drive trains."""

from collections.abc import Sequence

import numpy as np

from jaxccp.model.inputs.check import instance, positive
from jaxccp.model.joints import Revolute
from jaxccp.scene.builder import ModelBuilder
from jaxccp.scene.frames import ORIGIN

OFF_AXIS = 1e-9
"""Largest distance of the centre of mass from the axis that passes for rounding [m]."""


def add_shaft(
    builder: ModelBuilder,
    inertia: float,
    name: str,
    hinge: Revolute | None = None,
    position: Sequence[float] | np.ndarray = ORIGIN,
    rate: float = 0.0,
    mass: float = 1.0,
) -> int:
    """Add a body that can only rotate about a fixed axis, and return its index.

    ``name`` is also the name of its axis, for gears, couplings and actuators. With the tendon
    ``jaxccp.gear(name, other, ratio)`` it rotates at ``ratio`` times the rate of the other shaft;
    the force along that tendon is the torque on it.

    Args:
        builder: the builder to add it to.
        inertia: inertia about the axis [kg m²].
        name: name of the body, the joint and the axis.
        hinge: the axis, with the forces along it; None: about z.
        position: position of the centre of mass, which is on the axis [m].
        rate: angular velocity about the axis [rad/s].
        mass: mass of the body [kg], which the bearings carry; the rotation does not depend on it.

    Raises:
        TypeError: the hinge is something else.
        ValueError: the inertia is not positive, or the axis does not pass through the centre of
            mass.
    """
    hinge = Revolute() if hinge is None else hinge
    instance(
        f"shaft {name!r}: hinge", hinge, (Revolute,), "a Revolute, such as Revolute((0, 0, 1))"
    )
    # About another axis the inertia would be larger, by the mass times the square of the distance.
    if np.linalg.norm(np.cross(hinge.point, hinge.direction)) > OFF_AXIS:
        raise ValueError(
            f"shaft {name!r}: the axis must pass through the centre of mass, but the hinge has it "
            f"through point={hinge.point}: leave the point out, and give the shaft's position"
        )
    moment = positive(f"shaft {name!r}: inertia [kg m²]", inertia)
    spin = rate * hinge.direction
    body = builder.add_body(mass, (moment,) * 3, position, angular_velocity=spin, name=name)
    builder.add_joint(hinge, 0, body, position, name=name)
    return body
