"""What has no coefficient of friction does not stick: derivatives at rest, against closed forms."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.ccp import Cones, DenseDelassus, Law, Problem, Stop, solve
from jaxccp.ccp.cones import ConeType

LAWS: tuple[Law, Law] = ("ccp", "ncp")
STOP = Stop(atol=1e-13, max_iterations=20_000)
GROUPS = (slice(1, 3), slice(3, 4), slice(4, 6))
"""Rows of sliding, spinning and rolling."""
OCTAGON = pytest.param("octagon", marks=pytest.mark.long)
"""A pyramid of more faces."""


def operator(rows: int) -> np.ndarray:
    """Without coupling to the normal, so that u = 0 is exact: a slip of rounding size has a
    direction, and then nothing sticks."""
    root = np.random.default_rng(3).normal(size=(rows, rows))
    root[0, 1:] = root[1:, 0] = 0.0
    return root @ root.T / rows + np.eye(rows)


def loaded(coefficients: tuple[float, ...], friction: ConeType = "cone") -> tuple[Problem, list]:
    """One contact under a unit impulse, at rest; and the rows that hold."""
    matrix = operator(3 if len(coefficients) == 1 else 6)
    held = [0]
    for value, group in zip(coefficients, GROUPS, strict=False):
        held += range(group.start, group.stop) if value else []
    none = jnp.zeros(0)
    cones = Cones(none, none, jnp.asarray(coefficients[:1]), friction)
    if len(coefficients) > 1:
        cones = replace(cones, rolling=jnp.asarray([coefficients[1:]]))
    return Problem(DenseDelassus(jnp.asarray(matrix)), jnp.asarray(-matrix[:, 0]), cones), held


def slopes(held: list, rows: int) -> np.ndarray:
    """∂u/∂r where the rows ``held`` keep u = 0 and nothing acts on the others."""
    matrix, eye = operator(rows), np.eye(rows)
    return eye - matrix[:, held] @ np.linalg.solve(matrix[np.ix_(held, held)], eye[held])


@partial(jax.jit, static_argnames="law")
def response(problem: Problem, law: Law) -> tuple[jax.Array, jax.Array, jax.Array]:
    """u, and ∂u/∂r in both modes; one program for all coefficients."""

    def velocity(r: jax.Array) -> jax.Array:
        return solve(replace(problem, r=r), law=law, stop=STOP).u

    return velocity(problem.r), jax.jacfwd(velocity)(problem.r), jax.jacrev(velocity)(problem.r)


def check(problem: Problem, held: list, law: Law) -> None:
    u, forward, reverse = response(problem, law)
    expected = slopes(held, len(u))
    np.testing.assert_array_equal(u[1:], 0.0)
    np.testing.assert_allclose(forward, expected, atol=1e-8)
    np.testing.assert_allclose(reverse, expected, atol=1e-8)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("friction", ["cone", "pyramid", OCTAGON])
def test_frictionless_contact_at_rest_slides(friction: ConeType, law: Law) -> None:
    check(*loaded((0.0,), friction), law)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    "coefficients", [(0.5, 0.1, 0.0), (0.5, 0.0, 0.2), (0.0, 0.1, 0.2), (0.0, 0.0, 0.0)]
)
def test_group_without_coefficient_moves(coefficients: tuple[float, ...], law: Law) -> None:
    check(*loaded(coefficients), law)


@partial(jax.jit, static_argnames="law")
def first_bit(
    problem: Problem, ways: jax.Array, law: Law
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """∂u/∂(size of the coefficients) at 0 along each way, in both modes and by differences."""

    def velocity(size: jax.Array, way: jax.Array) -> jax.Array:
        cones = replace(problem.cones, mu=size * way[:1])
        if cones.rolling is not None:
            cones = replace(cones, rolling=size * way[None, 1:])
        return solve(replace(problem, cones=cones), law=law, stop=STOP).u

    zero, step = jnp.zeros(()), 1e-5

    @jax.vmap
    def along(way: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        at = jax.vmap(velocity, (0, None))(step * jnp.array([0.0, 1.0, 2.0]), way)
        both = jax.jacfwd(velocity)(zero, way), jax.jacrev(velocity)(zero, way)
        return *both, jnp.array([-1.5, 2.0, -0.5]) @ at / step

    return along(ways)


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("friction", ["cone", "pyramid", OCTAGON, "rolling"])
@pytest.mark.parametrize("moving", [False, True])
def test_first_bit_of_a_coefficient(friction: str, law: Law, moving: bool) -> None:
    """∂u/∂μ and of the others at 0, which is the end of their range: differences to one side."""
    problem, _ = (
        loaded((0.0, 0.0, 0.0)) if friction == "rolling" else loaded((0.0,), friction)  # pyright: ignore[reportArgumentType]
    )
    rows = len(problem.r)
    slip = np.array([0.0, 0.4, -0.3, 0.2, 0.1, -0.3])[:rows]
    problem = replace(problem, r=problem.r + moving * slip)
    ways = jnp.eye(3) if friction == "rolling" else jnp.ones((1, 1))
    forward, reverse, expected = first_bit(problem, ways, law)
    assert np.any(np.abs(np.asarray(expected)) > 0.1) == moving
    np.testing.assert_allclose(forward, expected, atol=1e-6)
    np.testing.assert_allclose(reverse, expected, atol=1e-6)
