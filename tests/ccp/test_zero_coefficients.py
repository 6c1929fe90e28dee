"""Test that directions without friction do not stick: derivatives at rest, against closed forms."""

from dataclasses import replace
from functools import partial
from itertools import product

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
LONG = pytest.mark.long
POLYHEDRA = [
    pytest.param("pyramid", "ccp", marks=LONG),
    ("pyramid", "ncp"),
    *(pytest.param("octagon", law, marks=LONG) for law in LAWS),
]
"""Pyramids and laws. An octagon, the pyramid of more faces, is a long test, and so is a pyramid
under the convex law, which round cones have too."""


def operator(rows: int) -> np.ndarray:
    """Return N without coupling to the normal, so that u = 0 is exact.

    A slip of rounding size would have a direction, and then nothing sticks.
    """
    root = np.random.default_rng(3).normal(size=(rows, rows))
    root[0, 1:] = root[1:, 0] = 0.0
    return root @ root.T / rows + np.eye(rows)


def loaded(coefficients: tuple[float, ...], friction: ConeType = "cone") -> tuple[Problem, list]:
    """Return a contact under a unit impulse, at rest, and the rows that stick."""
    matrix = operator(3 if len(coefficients) == 1 else 6)
    sticking = [0]
    for value, group in zip(coefficients, GROUPS, strict=False):
        sticking += range(group.start, group.stop) if value else []
    none = jnp.zeros(0)
    cones = Cones(none, none, jnp.asarray(coefficients[:1]), friction)
    if len(coefficients) > 1:
        cones = replace(cones, rolling=jnp.asarray([coefficients[1:]]))
    return Problem(DenseDelassus(jnp.asarray(matrix)), jnp.asarray(-matrix[:, 0]), cones), sticking


def slopes(sticking: list, rows: int) -> np.ndarray:
    """Return ∂u/∂r where the rows ``sticking`` keep u = 0 and no impulse acts on the others."""
    matrix, eye = operator(rows), np.eye(rows)
    return eye - matrix[:, sticking] @ np.linalg.solve(
        matrix[np.ix_(sticking, sticking)], eye[sticking]
    )


@partial(jax.jit, static_argnames="law")
def response(problem: Problem, law: Law) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return u, and ∂u/∂r in both modes; one program serves all coefficients."""

    def velocity(r: jax.Array) -> jax.Array:
        return solve(replace(problem, r=r), law=law, stop=STOP).u

    return velocity(problem.r), jax.jacfwd(velocity)(problem.r), jax.jacrev(velocity)(problem.r)


def check(problem: Problem, sticking: list, law: Law) -> None:
    u, forward, reverse = response(problem, law)
    expected = slopes(sticking, len(u))
    np.testing.assert_array_equal(u[1:], 0.0)
    np.testing.assert_allclose(forward, expected, atol=1e-8)
    np.testing.assert_allclose(reverse, expected, atol=1e-8)


@pytest.mark.parametrize(("friction", "law"), [*product(["cone"], LAWS), *POLYHEDRA])
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
    problem: Problem, directions: jax.Array, law: Law
) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return ∂u/∂(size of the coefficients) at 0, in both modes and by differences.

    Args:
        problem: one contact.
        directions: directions of the coefficients: sliding, then spinning and rolling.
        law: the law of contact.
    """

    def velocity(size: jax.Array, direction: jax.Array) -> jax.Array:
        cones = replace(problem.cones, mu=size * direction[:1])
        if cones.rolling is not None:
            cones = replace(cones, rolling=size * direction[None, 1:])
        return solve(replace(problem, cones=cones), law=law, stop=STOP).u

    zero, step = jnp.zeros(()), 1e-5

    @jax.vmap
    def differentiate(direction: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
        at = jax.vmap(velocity, (0, None))(step * jnp.array([0.0, 1.0, 2.0]), direction)
        both = jax.jacfwd(velocity)(zero, direction), jax.jacrev(velocity)(zero, direction)
        return *both, jnp.array([-1.5, 2.0, -0.5]) @ at / step

    return differentiate(directions)


@pytest.mark.parametrize(("friction", "law"), [*product(["cone", "rolling"], LAWS), *POLYHEDRA])
@pytest.mark.parametrize("moving", [False, True])
def test_first_bit_of_a_coefficient(friction: str, law: Law, moving: bool) -> None:
    """Derivatives in a coefficient at 0, the end of its range, agree with one-sided differences.

    Args:
        friction: shape of the cone, or ``rolling`` for all coefficients.
        law: the law of contact.
        moving: whether the contact slides.
    """
    problem, _ = (
        loaded((0.0, 0.0, 0.0)) if friction == "rolling" else loaded((0.0,), friction)  # pyright: ignore[reportArgumentType]
    )
    rows = len(problem.r)
    slip = np.array([0.0, 0.4, -0.3, 0.2, 0.1, -0.3])[:rows]
    problem = replace(problem, r=problem.r + moving * slip)
    directions = jnp.eye(3) if friction == "rolling" else jnp.ones((1, 1))
    forward, reverse, expected = first_bit(problem, directions, law)
    assert np.any(np.abs(np.asarray(expected)) > 0.1) == moving
    np.testing.assert_allclose(forward, expected, atol=1e-6)
    np.testing.assert_allclose(reverse, expected, atol=1e-6)
