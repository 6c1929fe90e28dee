"""Loads on points and faces of continuum elements, as constant forces on their coordinates."""

from dataclasses import replace

import numpy as np
from jaxtyping import Array, Float

from jaxccp.execution import trees
from jaxccp.flexible.ancf.continuum import continuum_elements
from jaxccp.flexible.nodal import NodalFamily
from jaxccp.math.array_input import as_floats


def with_point_load(
    family: NodalFamily,
    element: int,
    place: tuple[float, float, float],
    force: Float[Array, "3"],
) -> NodalFamily:
    """Return the family with a force on a point of an element.

    Args:
        family: a body of continuum elements.
        element: index of the element.
        place: the point, in the parent element (−1, 1)³.
        force: constant force [N], world axes.

    Raises:
        TypeError: the body has elements of another class.
        ValueError: the point is outside of the element, or the force is no finite vector.
    """
    force = _vector("with_point_load: force [N]", force, family)
    point = np.asarray(place, float)
    if point.shape != (3,) or not (np.abs(point) <= 1).all():
        raise ValueError(
            f"with_point_load: place must be 3 numbers from −1 to 1, a point of the parent element "
            f"and not of the world, not {place!r}"
        )
    shares = continuum_elements(family).weights(point)[element]
    return with_load(family, family.layout.rows[element], shares[:, None] * force)


def with_surface_load(
    family: NodalFamily, elements: np.ndarray, axis: int, side: int, traction: Float[Array, "3"]
) -> NodalFamily:
    """Return the family with a traction on a face of some elements.

    Args:
        family: a body of continuum elements.
        elements: indices of the loaded elements.
        axis: axis of the element across the loaded face: 0, 1, 2.
        side: end of the axis: −1 or 1.
        traction: force per area of the reference configuration [N/m²], world axes; the same on all
            faces, and constant in direction. A pressure p is −p times the outward normal.

    Raises:
        TypeError: the body has elements of another class.
        ValueError: there is no such axis or side, or the traction is no finite vector.
    """
    if axis not in (0, 1, 2) or side not in (-1, 1):
        raise ValueError(
            f"with_surface_load: axis must be 0, 1 or 2, and side -1 or 1, not {axis!r} and "
            f"{side!r}"
        )
    traction = _vector("with_surface_load: traction [N/m²]", traction, family)
    shares = continuum_elements(family).face_weights(axis, side)[elements]
    return with_load(family, family.layout.rows[elements], shares[..., None] * traction)


def with_load(family: NodalFamily, rows: np.ndarray, force: Float[Array, "*k 3"]) -> NodalFamily:
    """Return the family with constant generalised forces added to vector coordinates.

    Args:
        family: any body of elements.
        rows: indices of the vector coordinates.
        force: generalised force on each: [N] on positions, [N m] on first derivatives.

    Raises:
        ValueError: there is no such row, or the force does not have three components along its
            last axis.
    """
    rows, count = np.asarray(rows), len(family.load)
    outside = rows[(rows < 0) | (rows >= count)]
    if len(outside):
        raise ValueError(f"with_load: there is no row {outside[0]}, but {count}, from 0")
    components = as_floats("with_load: force", force, (..., 3), family.load.dtype)
    return replace(family, load=family.load.at[rows].add(components))


def _vector(what: str, value: Array, family: NodalFamily) -> Float[Array, "3"]:
    """Return the components x, y, z of a load in the precision of the family.

    Raises:
        ValueError: there are not three, or one that is known is not finite.
    """
    vector = as_floats(what, value, [3], family.load.dtype)
    if not trees.is_traced(vector) and not np.isfinite(vector).all():
        raise ValueError(f"{what} must be finite, not {value!r}")
    return vector
