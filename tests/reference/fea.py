"""Rebuild static cases of ANCF elements.

They are in fea/statics.json, described in ../shared/data/multibody/README.md.
"""

import json
from functools import cache
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp.flexible import NodalFamily
from jaxccp.flexible.ancf import SHAPES, ContinuumElements, box
from jaxccp.flexible.loads import with_point_load
from jaxccp.flexible.moduli import (
    isotropic,
    of_section,
    orthotropic,
    rectangle_shear_factor,
    rotated,
)


@cache
def cases(folder: Path) -> dict[str, dict]:
    """Read all cases, by name."""
    listed = json.loads((folder / "multibody/fea/statics.json").read_text(encoding="utf-8"))
    return {case["case"]: case for case in listed}


def body(case: dict, element: str) -> NodalFamily:
    """Return the body of a case, clamped and loaded."""
    shape = SHAPES[element]
    counts = (*case.get("num_elements_xy", (case.get("num_elements", case.get("num_spans")), 1)), 1)
    layers = case.get("layers", 1)
    across = case["layer_thickness"] * layers if "layer_thickness" in case else None
    width = case.get("width", case.get("width_y", case.get("height_y")))
    across = across or case.get("height_z", case.get("width_z"))
    if "layer_angle_deg" in case:
        plies = [case[key] for key in ("young_modulus", "poisson_ratio", "shear_modulus")]
        ply = orthotropic(*(jnp.asarray(part, float) for part in plies))
        moduli = jnp.stack([rotated(ply, np.radians(angle)) for angle in case["layer_angle_deg"]])
    else:
        young = case["young_modulus"]
        # Where the shear modulus is given it is not that of the ratio given beside it.
        poisson = case.get("poisson_ratio", young / (2 * case.get("shear_modulus", young)) - 1)
        factors = jnp.full(2, rectangle_shear_factor(poisson))
        moduli = isotropic(young, poisson)[None]
        if shape.section:
            moduli = of_section(young, poisson, factors)
    made = box(
        shape,
        jnp.array([case["length"], width, across]),
        counts,
        moduli,
        case["density"],
        layers=(1 / layers,) * layers,
        clamped=(case["clamped"][0] + "0",),
    )
    if "tip_force" not in case:
        return made
    return with_point_load(made, counts[0] - 1, (1, 0, 0), jnp.asarray(case["tip_force"], float))


def displacement(
    family: NodalFamily, place: tuple[float, float, float], change: jax.Array
) -> np.ndarray:
    """Return the displacement of a point of the last element's cube [m].

    Args:
        family: the body.
        place: coordinates of the point in the cube.
        change: change of the free coordinates.
    """
    elements = family.elements
    assert isinstance(elements, ContinuumElements)
    shares = elements.weights(np.array(place))[-1]
    return np.asarray(shares @ family.rates(change)[family.layout.rows[-1]])


@jax.jit
def linear(family: NodalFamily, gravity: jax.Array) -> jax.Array:
    """Return the change of the free coordinates in linear statics."""
    q = family.start().q
    return jnp.linalg.solve(family.stiffness(q), family.force(q, gravity))
