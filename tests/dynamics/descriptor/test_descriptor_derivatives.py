"""Test derivatives of a step's blocks in reduced coordinates against central differences."""

from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.collision.detect import detect
from jaxccp.dynamics import assemble_system, describe
from jaxccp.model import Plane, Revolute, Sphere
from jaxccp.scene import ModelBuilder

H = 2e-3
STEP = 1e-5
HINGE = Revolute((0.0, 1.0, 0.0))


def blocks(mass: jax.Array) -> dict[str, jax.Array]:
    """Return matrices and products of the blocks of a double pendulum whose end touches a plane,
    for a mass of the second link [kg]."""
    builder = ModelBuilder()
    builder.add_shape(0, Plane(), (0, 0, -0.55))
    first = builder.add_body(1.0, (0.1,) * 3, (0.5, 0, 0))
    builder.add_joint(HINGE, 0, first)
    second = builder.add_body(0.7, (0.05,) * 3, (1.0, 0, 0.1), velocity=(0, 0, -1.0))
    builder.add_joint(HINGE, first, second, (0.8, 0, 0))
    builder.add_shape(second, Sphere(0.66))
    model, state = builder.build(max_contacts=2)
    model = replace(
        model, bodies=replace(model.bodies, mass=model.bodies.mass.at[second].set(mass))
    )
    described = describe(model, assemble_system(model, state, detect(model, state), H)[0])
    problem, rows = described.problem(), len(described.bias)
    unknowns = jnp.arange(1.0, 1 + rows + len(described.force))
    return {
        "H": described.mass.matrix(),
        "force": described.force,
        "velocities": described.velocities(unknowns[:rows]),
        "product": described.product(unknowns),
        "N": problem.delassus.dense(),
        "r": problem.r,
    }


@pytest.mark.parametrize("differentiate", [jax.jacfwd, jax.jacrev])
def test_blocks_can_be_differentiated(differentiate: Callable) -> None:
    mass = jnp.asarray(0.7)
    slopes = jax.jit(differentiate(blocks))(mass)
    run = jax.jit(blocks)
    above, below = run(mass + STEP), run(mass - STEP)
    for name, slope in slopes.items():
        central = (above[name] - below[name]) / (2 * STEP)
        assert np.abs(central).max() > 1e-3
        np.testing.assert_allclose(slope, central, atol=1e-7, err_msg=name)
