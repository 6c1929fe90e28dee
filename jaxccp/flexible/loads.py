"""Loads on points and faces of continuum elements, as constant forces on their coordinates."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.flexible.ancf.continuum import continuum_elements
from jaxccp.flexible.nodal import NodalFamily


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
    """
    elements = continuum_elements(family)
    shares = elements.weights(np.array(place, float))[element]
    return with_load(family, family.layout.rows[element], shares[:, None] * jnp.asarray(force))


def with_surface_load(
    family: NodalFamily, faces: np.ndarray, axis: int, side: int, traction: Float[Array, "3"]
) -> NodalFamily:
    """Return the family with a traction on a face of some elements.

    Args:
        family: a body of continuum elements.
        faces: indices of the loaded elements.
        axis: axis of the element across the loaded face: 0, 1, 2.
        side: end of the axis: −1 or 1.
        traction: force per area of the reference configuration [N/m²], world axes; the same on all
            faces, and constant in direction.

    Raises:
        TypeError: the body has elements of another class.
        ValueError: there is no such axis or side.
    """
    if axis not in (0, 1, 2) or side not in (-1, 1):
        raise ValueError(
            f"with_surface_load: axis must be 0, 1 or 2, and side -1 or 1, not {axis!r} and "
            f"{side!r}"
        )
    elements = continuum_elements(family)
    shares = elements.face_weights(axis, side)[faces]
    return with_load(family, family.layout.rows[faces], shares[..., None] * jnp.asarray(traction))


def with_load(family: NodalFamily, rows: np.ndarray, force: Float[Array, "*k 3"]) -> NodalFamily:
    """Return the family with constant generalised forces added to vector coordinates.

    Args:
        family: any body of elements.
        rows: indices of the vector coordinates.
        force: generalised force on each: [N] on positions, [N m] on first derivatives.
    """
    return replace(family, load=family.load.at[rows].add(force))
