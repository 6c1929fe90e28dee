"""Test derivatives of solves that have not converged: their status, and zero where asked for."""

from dataclasses import replace
from typing import get_args

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.ccp import (
    APGD,
    Cones,
    DenseDelassus,
    DerivativeStatus,
    Law,
    PlainGradient,
    Problem,
    Solution,
    Status,
    Stop,
    raise_for_derivative,
    solve,
)
from jaxccp.ccp.derivative import linear
from tests.ccp.random_problems import random_case, stack

LAWS: tuple[Law, Law] = ("ccp", "ncp")
HURRIED = Stop(atol=1e-9, max_iterations=15)


def batch() -> Problem:
    """Return a problem that is solved within the iteration limit, and one that is not."""
    none, mu = jnp.zeros(0), jnp.full(2, 0.4)
    easy = jnp.eye(6)
    root = np.random.default_rng(2).normal(size=(6, 6))
    hard = jnp.asarray(root @ np.diag(10.0 ** -np.arange(6.0)) @ root.T + 1e-6 * np.eye(6))
    r = jnp.asarray([-1.0, 0.1, 0.0, -1.0, 2.0, 0.3])
    problems = [Problem(DenseDelassus(n), r, Cones(none, none, mu)) for n in (easy, hard)]
    return stack(problems)


def solved(problem: Problem, r: jax.Array, law: Law, gradient: PlainGradient) -> Solution:
    return solve(replace(problem, r=r), APGD(), law=law, stop=HURRIED, gradient=gradient)


@pytest.mark.parametrize("law", LAWS)
def test_unconverged_solves_have_derivative_zero_where_asked_for(law: Law) -> None:
    """Derivatives of unconverged solves are zero under jit and vmap, in both modes; others stay."""

    def differentiate(problem: Problem, gradient: PlainGradient):
        def both(r: jax.Array) -> jax.Array:
            solution = solved(problem, r, law, gradient)
            return jnp.concatenate([solution.lam, solution.u])

        statistics = solved(problem, problem.r, law, gradient).statistics
        return statistics, jax.jacfwd(both)(problem.r), jax.jacrev(both)(problem.r)

    problems = batch()
    runs = {
        gradient: jax.jit(jax.vmap(lambda problem, g=gradient: differentiate(problem, g)))(problems)
        for gradient in get_args(PlainGradient)
    }
    statistics, *always = runs["always"]
    np.testing.assert_array_equal(statistics.status, [Status.CONVERGED, Status.MAX_ITERATIONS])
    expected = [DerivativeStatus.VALID, DerivativeStatus.INVALID]
    np.testing.assert_array_equal(statistics.derivative, expected)
    statistics, *converged = runs["converged"]
    expected = [DerivativeStatus.VALID, DerivativeStatus.ZERO]
    np.testing.assert_array_equal(statistics.derivative, expected)
    for kept, cut in zip(always, converged, strict=True):
        assert np.all(np.abs(kept).max(axis=(1, 2)) > 0.1)
        np.testing.assert_allclose(cut[0], kept[0], atol=1e-12)
        np.testing.assert_array_equal(cut[1], 0.0)


@pytest.mark.parametrize(
    ("law", "value"),
    [
        ("ccp", np.nan),
        ("ncp", 1e25),
        pytest.param("ncp", np.nan, marks=pytest.mark.long),
        pytest.param("ccp", 1e25, marks=pytest.mark.long),
    ],
)
def test_linear_system_that_is_not_solved(
    law: Law, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A derivative whose linear system is not solved is zero, unless it is asked for always.

    Args:
        law: the law of contact.
        value: what the linear solver returns in every entry.
        monkeypatch: replaces the linear solver.
    """
    monkeypatch.setattr(linear, "DENSE_ROWS", 0)
    monkeypatch.setattr(linear, "_iterative", lambda symmetric, matvec, b: value + 0.0 * b)
    problem = random_case(2, kind="sticking").problem()
    stop = Stop(atol=1e-10, max_iterations=10_000)

    def impulses(r: jax.Array, gradient: PlainGradient) -> jax.Array:
        changed = replace(problem, r=r)
        return solve(changed, APGD(), law=law, stop=stop, gradient=gradient).lam

    @jax.jit
    def both(r: jax.Array) -> dict[PlainGradient, list[jax.Array]]:
        modes = (jax.jacfwd, jax.jacrev)
        return {g: [mode(impulses)(r, g) for mode in modes] for g in get_args(PlainGradient)}

    jacobians = both(problem.r)
    for zero, worse in zip(jacobians["converged"], jacobians["always"], strict=True):
        np.testing.assert_array_equal(zero, 0.0)
        assert not np.all(np.abs(np.asarray(worse)) < 1e20)


@pytest.mark.parametrize("law", LAWS)
def test_redundant_rows_do_not_count_as_unsolved(law: Law) -> None:
    """Velocities of redundant rows keep their derivative to rounding; their impulses have none."""
    problem = random_case(2, kind="redundant").problem()
    stop = Stop(atol=1e-11, max_iterations=20_000)

    def velocity(r: jax.Array, gradient: PlainGradient) -> jax.Array:
        return solve(replace(problem, r=r), law=law, stop=stop, gradient=gradient).u

    both = jax.jit(
        lambda r: [jax.jacrev(velocity)(r, gradient) for gradient in ("always", "converged")]
    )
    always, converged = both(problem.r)
    assert np.abs(always).max() > 0.1
    np.testing.assert_allclose(converged, always, atol=1e-9)


def test_equality_rows_at_rest_have_their_derivative() -> None:
    """Nearly parallel equality rows have the derivative −N⁻¹, also where their velocities are below
    the tolerance and multipliers are 0. The tolerance, which depends on r, has no derivative."""
    free, matrix = jnp.full(2, jnp.inf), jnp.array([[1.0, 0.99], [0.99, 1.0]])
    problem = Problem(DenseDelassus(matrix), jnp.zeros(2), Cones(-free, free, jnp.zeros(0)))

    def impulses(r: jax.Array, gradient: PlainGradient) -> jax.Array:
        stop = Stop(atol=1e-8 + 1e-9 * jnp.max(jnp.abs(r)))
        return solve(replace(problem, r=r), stop=stop, gradient=gradient).lam

    slopes = jax.jit(
        lambda r: [jax.vmap(jax.jacrev(impulses), (0, None))(r, g) for g in get_args(PlainGradient)]
    )(jnp.array([[0.0, 0.0], [1e-9, -1e-9]]))
    expected = np.broadcast_to(-np.linalg.inv(matrix), (2, 2, 2))
    for slope in slopes:
        np.testing.assert_allclose(slope, expected, rtol=1e-5)


def test_error_names_step_and_residual() -> None:
    statistics = jax.jit(jax.vmap(lambda p: solved(p, p.r, "ncp", "always")))(batch()).statistics
    residual = float(statistics.residual_ncp[1])
    member = jax.tree.map(lambda leaf: leaf[1], statistics)
    with pytest.raises(FloatingPointError, match=f"the solve: MAX_ITERATIONS .*{residual:.1e} m/s"):
        raise_for_derivative(member)
    with pytest.raises(FloatingPointError, match="step 1, the first of 1: MAX_ITERATIONS"):
        raise_for_derivative(statistics)
    # Batch, then time: the first step that failed is the last one of the second rollout.
    paths = jax.tree.map(lambda leaf: jnp.stack([leaf[:1], leaf[1:]])[:, [0, 0]], statistics)
    paths = replace(paths, derivative=paths.derivative.at[1, 0].set(DerivativeStatus.VALID))
    with pytest.raises(FloatingPointError, match="step 1 of rollout 1, the first of 1"):
        raise_for_derivative(paths)
    raise_for_derivative(jax.tree.map(lambda leaf: leaf[0], statistics))


def test_unknown_gradient_is_refused() -> None:
    problem = jax.tree.map(lambda leaf: leaf[0], batch())
    with pytest.raises(ValueError, match='"always" or "converged", not \'never\''):
        solved(problem, problem.r, "ccp", "never")  # pyright: ignore[reportArgumentType]
