"""Rebuild records of flexible bodies, with a plain time stepper beside the package's own.

They are in fea, described in ../shared/data/multibody/README.md.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp.flexible import NodalFamily
from jaxccp.flexible.ancf import SHAPES, ContinuumElements, box
from jaxccp.flexible.loads import with_point_load
from jaxccp.flexible.moduli import isotropic, orthotropic, rotated


def brick_beam(data) -> NodalFamily:
    """Return a beam of ten bricks with enhanced strains in a row."""
    moduli = isotropic(float(data["young_modulus"]), float(data["poisson_ratio"]))[None]
    nx, ny, nz = (int(count) for count in data["elements"])
    return box(
        SHAPES["brick_3813"],
        data["size"],
        (nx, ny, nz),
        moduli,
        float(data["density"]),
        clamped=("x0",),
    )


def plate(data) -> NodalFamily:
    """Return a square of bilinear shells with a force on the corner (1, 1)."""
    moduli = isotropic(float(data["young_modulus"]), float(data["poisson_ratio"]))[None]
    nx, ny = (int(count) for count in data["elements"])
    numbers = moduli, float(data["density"]), float(data["damping_alpha"])
    made = box(SHAPES["shell_3423"], data["plate_size"], (nx, ny, 1), *numbers, clamped=("x0",))
    return with_point_load(made, len(made.layout.rows) - 1, (1, 1, 0), data["tip_force"])


def cylinder(data) -> NodalFamily:
    """Return a quarter of a cylinder, of two plies."""
    radius, width = float(data["radius"]), float(data["width_y"])
    keys = "young_modulus", "poisson_ratio", "shear_modulus"
    ply = orthotropic(*(jnp.asarray(data[key]) for key in keys))
    moduli = jnp.stack([rotated(ply, np.radians(angle)) for angle in data["layer_angle_deg"]])
    thick = data["layer_thickness"]
    nx, ny = (int(count) for count in data["elements"])

    def curve(point: jax.Array) -> jax.Array:
        arc, y, across = point
        angle = arc / radius
        inner = radius - across
        return jnp.stack([inner * jnp.sin(angle), y, radius - inner * jnp.cos(angle)])

    return box(
        SHAPES["shell_3423"],
        jnp.array([float(data["arc"]) * radius, width, thick.sum()]),
        (nx, ny, 1),
        moduli,
        float(data["density"]),
        layers=tuple((thick / thick.sum()).tolist()),
        clamped=("x0",),
        curve=curve,
    )


class Record(NamedTuple):
    """A record of the position of a flexible body's last node."""

    family: Callable[[Any], NodalFamily]
    key: str
    axes: tuple[int, ...]
    steps: int
    """Number of steps of 1 ms that an experiment takes."""


RECORDS = {
    "eas_brick_beam_gravity": Record(brick_beam, "tip_z", (2,), 2001),
    "ancf_shell3423_plate_tip_force": Record(plate, "tip_z", (2,), 4000),
    "ancf_shell3423_cylinder_gravity": Record(cylinder, "tip_zxy", (2, 0, 1), 150),
}


def stepped(
    family: NodalFamily, gravity: np.ndarray, h: float, steps: int, alpha: float
) -> np.ndarray:
    """Return free coordinates after each step of HHT [steps nv].

    It starts as Chrono's does, from no acceleration.

    Args:
        family: the body.
        gravity: gravity [m/s²].
        h: the step [s].
        steps: number of steps.
        alpha: HHT's parameter.
    """
    beta, gamma = 0.25 * (1 - alpha) ** 2, 0.5 - alpha
    assert isinstance(family.elements, ContinuumElements)
    # The damping is nearly α K.
    soft = h * h * beta + h * gamma * family.elements.retardation
    mass = family.inertia()

    def force(q, v):
        damping = jax.grad(lambda v: 0.5 * family.dissipated_power(q, v))(v)
        return family.force(q, jnp.asarray(gravity)) - damping

    @jax.jit
    def residual(x, q, v, a, before):
        end = q + h * v + h * h * ((0.5 - beta) * a + beta * x)
        rate = v + h * ((1 - gamma) * a + gamma * x)
        after = force(end, rate)
        return mass @ x - (1 + alpha) * after + alpha * before, (end, rate, after)

    @jax.jit
    def slope(q):
        return mass + (1 + alpha) * soft * family.stiffness(q)

    start = family.start()
    q, v, a = start.q, start.v, jnp.zeros_like(start.q)
    path, before = [], jax.jit(force)(q, v)
    for _ in range(steps):
        x, tangent = a, slope(q)
        for _ in range(30):
            miss, end = residual(x, q, v, a, before)
            change = np.linalg.solve(tangent, miss)
            x = x - change
            if h * h * np.abs(change).max() < 1e-12:
                break
        (q, v, before), a = end, x
        path.append(q)
    return np.array(path)
