"""Test derivatives of solutions against central differences, in every number of a problem.

For each kind of problem and each leaf one random direction; all are batched, so that a law costs
one compilation, of values and tangents.
"""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.ccp import BodyDelassus, Cones, Law, Problem, Stop, solve
from jaxccp.ccp.derivative import linear
from tests.ccp.random_problems import KINDS, random_case, stack
from tests.laws import CONVEX_LAW_LONG

LAWS: tuple[Law, Law] = ("ccp", "ncp")
PRECISE = Stop(atol=1e-13, max_iterations=3000)
STEP = 1e-5
TOLERANCE = 1e-6

# Redundant rows may not be moved apart one by one, see test_redundant below; nor may zero ones.
REGULAR = [kind for kind in KINDS if kind not in ("redundant", "fixed", "masses")]
LEAVES = ("scalar_rows", "contact_rows", "compliance", "r", "lo", "hi", "mu")


def as_dict(problem: Problem) -> dict[str, jax.Array]:
    n, k = problem.delassus, problem.cones
    assert isinstance(n, BodyDelassus)
    parts = (n.scalar_rows, n.contact_rows, n.compliance, problem.r, k.lo, k.hi, k.mu)
    return dict(zip(LEAVES, parts, strict=True))


def from_dict(problem: Problem, leaves: dict[str, jax.Array]) -> Problem:
    n = problem.delassus
    assert isinstance(n, BodyDelassus)
    operator = replace(n, **{name: leaves[name] for name in LEAVES[:3]})
    return Problem(operator, leaves["r"], Cones(leaves["lo"], leaves["hi"], leaves["mu"]))


def directions(problem: Problem) -> dict[str, jax.Array]:
    """Return a batch of tangents, each of which changes one leaf; infinite bounds stay."""
    rng, leaves = np.random.default_rng(5), as_dict(problem)
    batch = {name: np.zeros((len(LEAVES), *leaf.shape)) for name, leaf in leaves.items()}
    for index, name in enumerate(LEAVES):
        move = rng.normal(size=leaves[name].shape)
        batch[name][index] = np.where(np.isfinite(leaves[name]), move, 0.0)
    return {name: jnp.asarray(value) for name, value in batch.items()}


def solution(problem: Problem, leaves: dict[str, jax.Array], law: Law) -> jax.Array:
    """Solve the problem with other numbers, and return λ and u.

    Args:
        problem: the problem whose numbers are replaced.
        leaves: the numbers by the names of ``LEAVES``.
        law: the law of contact.
    """
    solved = solve(from_dict(problem, leaves), law=law, stop=PRECISE)
    return jnp.concatenate([solved.lam, solved.u])


def batch_of(kinds: list[str], contacts: int | None = None):
    size = {} if contacts is None else {"contacts": contacts}
    problems = [random_case(2, kind=kind, **size).problem() for kind in kinds]
    leaf_directions = [directions(problem) for problem in problems]
    return stack(problems), jax.tree.map(lambda *x: jnp.stack(x), *leaf_directions)


def tangents(problems: Problem, leaf_directions, law: Law) -> jax.Array:
    """Return the tangents of solutions (kinds × leaves × (λ, u)).

    Args:
        problems: a batch of problems.
        leaf_directions: for each problem a batch of directions, each of which changes one leaf.
        law: the law of contact.
    """
    return solutions_and_tangents(problems, leaf_directions, law, jnp.zeros(1))[1][:, :, 0]


def tangents_and_differences(
    problems: Problem, leaf_directions, law: Law
) -> tuple[jax.Array, np.ndarray]:
    offsets = STEP * jnp.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    values, slopes = solutions_and_tangents(problems, leaf_directions, law, offsets)
    weights = np.array([1, -8, 0, 8, -1]) / 12
    return slopes[:, :, 2], np.einsum("o,klon->kln", weights, values) / STEP


def solutions_and_tangents(
    problems: Problem, leaf_directions, law: Law, offsets: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Return solutions and their tangents at offsets (kinds × leaves × offsets × (λ, u)).

    Args:
        problems: a batch of problems.
        leaf_directions: for each problem a batch of directions, each of which changes one leaf.
        law: the law of contact.
        offsets: distances along the directions.
    """

    def at_offset(problem: Problem, move, offset: jax.Array) -> tuple[jax.Array, jax.Array]:
        def at(offset: jax.Array) -> jax.Array:
            leaves = jax.tree.map(lambda x, d: x + offset * d, as_dict(problem), move)
            return solution(problem, leaves, law)

        return jax.jvp(at, (offset,), (jnp.ones(()),))

    at_offsets = jax.vmap(at_offset, (None, None, 0))
    return jax.jit(jax.vmap(jax.vmap(at_offsets, (None, 0, None)), (0, 0, None)))(
        problems, leaf_directions, offsets
    )


def relative(actual: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Return the error of each tangent relative to its length, or absolute if that is below 1."""
    length = np.linalg.norm(expected, axis=-1)
    return np.linalg.norm(actual - expected, axis=-1) / np.maximum(length, 1.0)


def check(actual: jax.Array, expected: np.ndarray, kinds: list[str]) -> None:
    error = relative(np.asarray(actual), expected)
    named = {
        (kind, leaf): error[i, j] for i, kind in enumerate(kinds) for j, leaf in enumerate(LEAVES)
    }
    assert not {name: value for name, value in named.items() if not value <= TOLERANCE}


@cache
def regular(law: Law) -> tuple[jax.Array, np.ndarray]:
    problems, leaf_directions = batch_of(REGULAR)
    return tangents_and_differences(problems, leaf_directions, law)


@pytest.mark.parametrize("law", LAWS)
def test_forward_mode(law: Law) -> None:
    actual, expected = regular(law)
    check(actual, expected, REGULAR)
    # Every leaf matters somewhere, else nothing was tested.
    assert np.all(np.linalg.norm(expected, axis=-1).max(axis=0) > 0.1)


@CONVEX_LAW_LONG
def test_forward_mode_matrix_free(law: Law, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(linear, "DENSE_ROWS", 0)
    problems, leaf_directions = batch_of(REGULAR)
    check(tangents(problems, leaf_directions, law), regular(law)[1], REGULAR)


@cache
def many(law: Law) -> tuple[jax.Array, np.ndarray]:
    """Return tangents and differences of 54 rows over 8 bodies, which are solved by bodies.

    Compliance keeps every row's share unique.
    """
    problems, leaf_directions = batch_of(["compliant"], contacts=16)
    return tangents_and_differences(problems, leaf_directions, law)


@CONVEX_LAW_LONG
def test_forward_mode_with_more_rows_than_bodies_move(law: Law) -> None:
    check(*many(law), ["compliant"])


@pytest.mark.parametrize(
    ("law", "contacts"), [("ccp", 6), ("ncp", 16), pytest.param("ncp", 6, marks=pytest.mark.long)]
)
def test_modes_agree(law: Law, contacts: int) -> None:
    """Forward and reverse mode agree, jvp = jacrev · v, in every leaf, under jit and vmap.

    The sizes are on either side of the choice of the linear solver.
    """
    problems, leaf_directions = (
        batch_of(REGULAR) if contacts == 6 else batch_of(["compliant"], contacts)
    )

    @jax.jit
    @jax.vmap
    def reversed_tangents(problem: Problem, leaf_directions) -> jax.Array:
        at = as_dict(problem)
        jacobian = jax.jacrev(lambda leaves: solution(problem, leaves, law))(at)
        products = [
            leaf_directions[name].reshape(len(LEAVES), -1)
            @ jacobian[name].reshape(len(jacobian[name]), -1).T
            for name in LEAVES
        ]
        return jnp.sum(jnp.stack(products), axis=0)

    forward = (regular if contacts == 6 else many)(law)[0]
    scale = jnp.abs(forward).max(axis=-1, keepdims=True) + 1
    reverse = reversed_tangents(problems, leaf_directions)
    np.testing.assert_allclose(forward / scale, reverse / scale, atol=1e-10)


def test_batched_gradients_equal_single_ones() -> None:
    problems, _ = batch_of(REGULAR)

    def gradient(problem: Problem):
        weights = jnp.linspace(-1.0, 1.0, 2 * problem.r.shape[0])
        return jax.grad(lambda leaves: weights @ solution(problem, leaves, "ncp"))(as_dict(problem))

    batch, single = jax.jit(jax.vmap(gradient))(problems), jax.jit(gradient)
    for index in range(len(REGULAR)):
        alone = single(jax.tree.map(lambda leaf, i=index: leaf[i], problems))
        for name in LEAVES:
            np.testing.assert_allclose(batch[name][index], alone[name], atol=1e-8)


@pytest.mark.slow
@CONVEX_LAW_LONG
def test_second_order(law: Law) -> None:
    """The Hessian in r, μ and the rows agrees with differences of the gradient along random lines.

    Not at μ = 0, the end of μ's range, where a second derivative in μ has one side only.
    """
    problems, _ = batch_of(["mixed", "sticking", "sliding", "saturated"])
    names = ("contact_rows", "r", "mu")
    rng = np.random.default_rng(7)

    def lines(problem: Problem):
        """Return a scalar function of three numbers: the distance of each leaf along its line."""
        at = as_dict(problem)
        paths = {name: jnp.asarray(rng.normal(size=at[name].shape)) for name in names}
        weights = jnp.asarray(rng.normal(size=2 * problem.r.shape[0]))

        def loss(t: jax.Array) -> jax.Array:
            shift = {name: at[name] + t[i] * paths[name] for i, name in enumerate(names)}
            return weights @ solution(problem, {**at, **shift}, law) ** 2

        return loss

    offsets = 1e-4 * jnp.concatenate([k * jnp.eye(3) for k in (-2, -1, 1, 2)])

    @jax.jit
    @jax.vmap
    def run(problem: Problem):
        loss, zero = lines(problem), jnp.zeros(3)
        slopes = jax.vmap(jax.grad(loss))(offsets).reshape(4, 3, 3)
        forward = jax.hessian(loss)(zero)
        reverse = jax.jacrev(jax.jacrev(loss))(zero) if law == "ncp" else forward
        return forward, reverse, slopes

    hessian, reverse, slopes = (np.asarray(x) for x in run(problems))
    weights = np.array([1, -8, 8, -1]) / 12 / 1e-4
    expected = np.einsum("o,boij->bij", weights, slopes)
    scale = np.abs(expected).max(axis=(1, 2), keepdims=True) + 1
    np.testing.assert_allclose(hessian / scale, expected / scale, atol=TOLERANCE)
    np.testing.assert_allclose(hessian / scale, reverse / scale, atol=1e-8)
    np.testing.assert_allclose(hessian / scale, np.swapaxes(hessian, 1, 2) / scale, atol=1e-8)


def test_memory_does_not_depend_on_the_number_of_iterations() -> None:
    problem = random_case(0).problem()

    def memory(iterations: int) -> int:
        def loss(leaves: dict[str, jax.Array]) -> jax.Array:
            stop = Stop(atol=0.0, max_iterations=iterations)
            return jnp.sum(solve(from_dict(problem, leaves), stop=stop).u ** 2)

        analysis = jax.jit(jax.grad(loss)).lower(as_dict(problem)).compile().memory_analysis()
        assert analysis is not None
        return analysis.temp_size_in_bytes

    assert memory(10) == memory(10_000) > 0
