"""Test the mass matrix of branched trees against MuJoCo's, and in single precision."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import load
from jaxccp.dynamics.body_mass import BodyMass
from jaxccp.dynamics.trees.mass import lower_mass_matrix
from jaxccp.dynamics.trees.screws import Screws, screws
from jaxccp.math import small

mujoco = pytest.importorskip("mujoco")

TREES = """<mujoco><compiler angle="radian"/><default><geom contype="0" conaffinity="0"/></default>
<worldbody>
  <body pos="0.3 -0.2 0.1">
    <joint type="slide" axis="1 0 0.2"/><joint axis="0 1 0.3"/><joint axis="1 0.2 0"/>
    <geom type="box" size="0.1 0.2 0.05" pos="0.1 0 0" mass="3"/>
    <body pos="0.4 0 0.1" euler="0.3 0.2 0.1">
      <geom type="box" size="0.05 0.1 0.1" mass="0.7"/>
      <body pos="1 0 0">
        <joint axis="0 0 1"/><geom type="capsule" size="0.05 0.4" pos="0.4 0 0" mass="1.2"/>
        <body pos="0.8 0 0">
          <joint axis="0 1 0"/>
          <geom type="box" size="0.004 0.002 0.003" pos="0.01 0 0" mass="2e-4"/>
          <body pos="0.02 0 0">
            <joint axis="1 1 0" pos="0 0.001 0"/>
            <geom type="box" size="0.002 0.004 0.003" pos="0.01 0.002 0" mass="1e-4"/>
          </body>
        </body>
      </body>
    </body>
    <body pos="-0.3 0.2 0">
      <joint axis="0 1 0"/><geom type="box" size="0.1 0.05 0.1" pos="-0.2 0 0" mass="0.5"/>
    </body>
  </body>
  <body pos="3 0 0">
    <joint axis="0 0 1" pos="0.1 0 0"/><geom type="box" size="0.1 0.2 0.3" mass="2"/>
    <body pos="0.5 0 0"><joint axis="0 1 0"/><geom type="box" size="0.2 0.1 0.1" mass="1"/></body>
  </body>
</worldbody></mujoco>"""
"""Two trees with joints to the world: three joints on one body, a body without a joint, two
branches, and tiny links far from the root."""
TINY = slice(4, 6)
"""Degrees of freedom of the tiny links."""


def mass_matrix(trees: Screws, jacobian: jax.Array, at: jax.Array, mass: BodyMass) -> jax.Array:
    return small.symmetric(lower_mass_matrix(trees, jacobian, at, mass))


@pytest.fixture(scope="module")
def posed(tmp_path_factory: pytest.TempPathFactory) -> tuple:
    """Return the arguments of the mass matrix at a random pose, and MuJoCo's mass matrix."""
    path: Path = tmp_path_factory.mktemp("models") / "trees.xml"
    path.write_text(TREES)
    loaded, reference = load(path), mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(reference)
    data.qpos = np.random.default_rng(0).normal(size=reference.nq)
    mujoco.mj_forward(reference, data)
    matrix = np.zeros((reference.nv, reference.nv))
    mujoco.mj_fullM(reference, data, matrix)

    def arguments(qpos: jax.Array) -> tuple:
        zero = jnp.zeros(reference.nv)
        state = loaded.layout.state(loaded.model, loaded.state, qpos, zero)
        trees, mass = screws(loaded.model, state), BodyMass.of(loaded.model, state)
        return trees, trees.body_jacobian(state.position), state.position, mass

    return jax.jit(arguments)(jnp.asarray(data.qpos)), matrix


def test_it_is_mujocos(posed: tuple) -> None:
    arguments, expected = posed
    matrix = np.asarray(jax.jit(mass_matrix)(*arguments))
    size = np.sqrt(np.diag(expected))
    np.testing.assert_allclose(
        matrix / size / size[:, None], expected / size / size[:, None], atol=1e-13
    )


def test_it_is_exact_in_single_precision_for_tiny_links_far_out(posed: tuple) -> None:
    """The mass matrix in single precision agrees with that of the same numbers in double
    precision. Coordinates of 1 m are exact to 6e-8 m, which is 1e-5 of the tiny links' levers."""
    single = jax.tree.map(lambda x: x.astype(np.float32), posed[0])
    double = jax.tree.map(lambda x: x.astype(np.float64), single)
    actual, exact = (np.asarray(jax.jit(mass_matrix)(*x), float) for x in (single, double))
    size = np.sqrt(np.diag(exact))
    error = np.abs(actual - exact) / size / size[:, None]
    assert size[TINY].max() < 1e-3
    assert error.max() < 1e-5 and np.delete(np.delete(error, TINY, 0), TINY, 1).max() < 1e-6


def test_it_can_be_differentiated(posed: tuple) -> None:
    """Derivatives by axes of joints, positions and inertias of bodies, forward and in reverse,
    agree with central differences."""
    (screws_, _, position, mass), _ = posed
    random = np.random.default_rng(1)
    weight = random.normal(size=position.shape), random.normal(size=(screws_.dofs.count,) * 2)
    inertia_change, axis_change = (
        random.normal(size=x.shape) for x in (mass.inertia, screws_.angular)
    )

    def value(s: jax.Array) -> jax.Array:
        varied = BodyMass(
            mass.mass * (1 + s), mass.inertia + s * (inertia_change + inertia_change.swapaxes(1, 2))
        )
        trees, displacement = (
            replace(screws_, angular=screws_.angular + s * axis_change),
            s * weight[0],
        )
        matrix = mass_matrix(
            trees, trees.body_jacobian(position + displacement), position + displacement, varied
        )
        return jnp.sum(weight[1] * matrix)

    zero, step = jnp.zeros(()), 1e-4
    ahead, behind = (jax.jit(value)(zero + s) for s in (step, -step))
    slope = (ahead - behind) / (2 * step)
    np.testing.assert_allclose(jax.jit(jax.grad(value))(zero), slope, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(jax.jacfwd(value))(zero), slope, rtol=1e-6)


def test_no_array_in_it_has_an_entry_for_every_axis_of_every_body(posed: tuple) -> None:
    """No array is as large as [nv nb 3]: XLA has computed such arrays more than once."""

    def sizes(program: Any) -> list[int]:
        direct = [x.aval.size for equation in program.eqns for x in equation.outvars]
        inner = [
            p for equation in program.eqns for p in equation.params.values() if hasattr(p, "jaxpr")
        ]
        return direct + [size for subprogram in inner for size in sizes(subprogram.jaxpr)]

    screws_, _, position, _ = posed[0]
    velocities, bodies = screws_.dofs.count, len(position)
    terms = bodies + screws_.dofs.subtrees.shape[1]
    largest = max(sizes(jax.make_jaxpr(mass_matrix)(*posed[0]).jaxpr))
    assert largest <= velocities * terms < 3 * velocities * bodies
