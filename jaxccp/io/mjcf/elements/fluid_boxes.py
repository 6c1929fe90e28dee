"""The fluid around a file's bodies."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool

from jaxccp.io.mjcf.elements.bodies import BodyMap
from jaxccp.io.mjcf.files.source import Source
from jaxccp.io.mjcf.import_report import ImportReport
from jaxccp.model.fluid import Fluid

MIN_INERTIA = 1e-15
"""MuJoCo's smallest mass and inertia (mjMINVAL)."""


def read_fluid(
    source: Source, body_map: BodyMap, nodes: Bool[np.ndarray, " n"], report: ImportReport
) -> Fluid | None:
    """Return the fluid of MuJoCo's inertia model: it acts on each body as on a box with the same
    inertia.

    Args:
        source: the compiled file.
        body_map: places of the file's bodies in the model.
        nodes: mask of the file's bodies that are nodes of flexible bodies; the fluid does not act
            on them.
        report: collects the fluid forces that are left out.

    Returns:
        The fluid; None where there is none, or the file disables passive forces.
    """
    m = source.m
    if not source.has_passive_forces or not (m.opt.density or m.opt.viscosity):
        return None
    numbers = np.ravel(m.geom_fluid)
    for geom in np.flatnonzero(numbers[:: max(len(numbers) // max(m.ngeom, 1), 1)]):
        report.ignore(
            source.label("geom", int(geom)),
            "fluid forces on ellipsoids are not supported",
            "its body is resisted as a box",
        )
    if nodes.any():
        report.ignore("fluid", "it does not resist flexible bodies")
    massive = np.asarray(m.body_mass) > MIN_INERTIA
    parts = np.flatnonzero((np.asarray(m.body_weldid) > 0) & massive & ~nodes)
    poses = [body_map.pose(int(part), m.body_ipos[part], m.body_iquat[part]) for part in parts]
    inertia = np.asarray(m.body_inertia)[parts]
    squares = np.maximum(inertia.sum(axis=1, keepdims=True) - 2.0 * inertia, MIN_INERTIA)
    half = 0.5 * np.sqrt(6.0 * squares / np.asarray(m.body_mass)[parts, None])
    return Fluid(
        density=jnp.asarray(m.opt.density, float),
        viscosity=jnp.asarray(m.opt.viscosity, float),
        wind=jnp.asarray(m.opt.wind, float),
        position=jnp.asarray(np.array([pose[0] for pose in poses]).reshape(-1, 3), float),
        quaternion=jnp.asarray(np.array([pose[1] for pose in poses]).reshape(-1, 4), float),
        half_extents=jnp.asarray(half, float),
        bodies=tuple(int(body_map.body[part]) for part in parts),
    )
