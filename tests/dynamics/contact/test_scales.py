"""Test bodies from 1e-9 to 1e6 kg and from 0.1 mm to 100 m.

With gravity and velocities in proportion to the size, scenes differ by their units alone: in those
of each body the motion and its derivatives are the same. The reference is the motion at 1 kg and
1 m in float64, and its derivative by central differences.
"""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from jaxccp.ccp import APGD, Stop
from jaxccp.dynamics import EulerImplicitLinearized
from jaxccp.model import Capsule, Material, Model, Plane, Revolute, Sphere, State
from jaxccp.scene import ModelBuilder

SCALES = np.array([[m, s] for m in (1e-9, 1e-4, 1e1, 1e6) for s in (1e-4, 1e-2, 1e0, 1e2)])
Numbers = dict[str, jax.Array]


@cache
def scene() -> tuple[Model, State]:
    """Build a ball that slides on the ground and a rod hinged to it, both of 1 kg and about 1 m."""
    builder = ModelBuilder(margin=0.1, min_bounce_speed=1e3)
    builder.add_shape(0, Plane(), material=Material(friction=1.0))
    surface, turning = Material(friction=0.3), (0.1, 0.2, 0.5)
    pose = {"velocity": (2, 0.3, 0), "angular_velocity": turning}
    ball = builder.add_solid(Sphere(0.5), 1.0, surface, position=(0, 0, 0.5), **pose)
    rod = builder.add_solid(Capsule(0.4, 0.3), 1.0, surface, position=(0, 0, 1.7), **pose)
    builder.add_joint(Revolute((1, 0, 0)), ball, rod, anchor=(0, 0, 1.0))
    return builder.build()


def numbers() -> Numbers:
    model, state = scene()
    return {
        "mass": model.bodies.mass,
        "inertia": model.bodies.inertia,
        "friction": model.shapes.friction,
        "velocity": state.velocity,
        "spin": state.angular_velocity,
    }


def units(mass: jax.Array, size: jax.Array) -> dict[str, jax.Array | float]:
    return {
        "mass": mass,
        "inertia": mass * size * size,
        "friction": 1.0,
        "velocity": size,
        "spin": 1.0,
    }


def scaled(parameters: Numbers, size: jax.Array) -> tuple[Model, State]:
    """Return the scene with the given parameters and lengths in proportion to ``size``, in the
    precision of ``size``."""
    model, state = scene()
    contact = jax.tree.map(lambda value: value * size, model.contact)
    shapes = replace(
        model.shapes,
        size=model.shapes.size * size,
        radius=model.shapes.radius * size,
        friction=parameters["friction"],
    )
    model = replace(
        model,
        bodies=replace(model.bodies, mass=parameters["mass"], inertia=parameters["inertia"]),
        shapes=shapes,
        joints=replace(model.joints, anchor=model.joints.anchor * size),
        gravity=model.gravity * size,
        contact=contact,
    )
    state = replace(
        state,
        position=state.position * size,
        velocity=parameters["velocity"],
        angular_velocity=parameters["spin"],
    )

    def cast(leaf: jax.Array) -> jax.Array:
        return leaf.astype(size.dtype) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf

    return jax.tree.map(cast, (model, state))


def loss(parameters: Numbers, size: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return a weighted sum of the state after a step, in the units of the bodies, and the
    status."""
    model, state = scaled(parameters, size)
    tolerance = 1e-5 if size.dtype == np.float32 else 1e-11
    stop = Stop(atol=tolerance * size, max_iterations=3000)
    stepper = EulerImplicitLinearized(0.01, "ncp", APGD(), stop)
    state, report = stepper.step(model, state)
    parts = (
        (state.position + state.velocity) / size,
        state.quaternion,
        state.angular_velocity,
    )
    values = jnp.concatenate([part[1:].reshape(-1) for part in parts])
    weights = np.random.default_rng(0).uniform(0.5, 1.0, len(values))
    return values @ jnp.asarray(weights, size.dtype), report.solver.status


@cache
def expected() -> tuple[float, Numbers]:
    """Return the sum and its derivatives at 1 kg and 1 m, by central differences in float64."""
    unit_size, parameters = jnp.ones(()), numbers()
    run = jax.jit(jax.vmap(lambda shifted: loss(shifted, unit_size)[0]))
    entries = sum(leaf.size for leaf in parameters.values())
    flat, back = ravel_pytree(parameters)
    step = 1e-5
    offsets = jnp.concatenate([jnp.zeros((1, entries)), step * jnp.eye(entries)])
    up, down = (run(jax.vmap(back)(flat + side * offsets)) for side in (1, -1))
    return float(up[0]), back((up - down)[1:] / (2 * step))


@pytest.mark.slow
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float32, 3e-3), (np.float64, 1e-6)])
def test_units_make_no_difference(dtype: type, tolerance: float) -> None:
    number, slopes = expected()

    def run(scale: jax.Array):
        mass, size = scale
        unit = units(mass, size)
        parameters = {k: (v * unit[k]).astype(dtype) for k, v in numbers().items()}
        value, status = loss(parameters, size)
        slopes = [jax.grad(lambda x: loss(x, size)[0])(parameters)]
        if dtype == np.float32:  # In one is enough: reverse mode is the transpose of this.
            slopes.append(jax.jacfwd(lambda x: loss(x, size)[0])(parameters))
        return value, status, *slopes

    value, status, *modes = jax.device_get(jax.lax.map(run, jnp.asarray(SCALES, dtype)))
    assert not np.any(status)
    np.testing.assert_allclose(value, number, rtol=tolerance / 10)
    for slope in modes:
        for name, reference in slopes.items():
            unit = np.array([units(*scale)[name] for scale in SCALES])
            computed = slope[name] * unit.reshape(-1, *[1] * reference.ndim)
            bound = tolerance * (1 + np.abs(reference).max())
            np.testing.assert_allclose(
                computed, np.broadcast_to(reference, computed.shape), atol=bound
            )
