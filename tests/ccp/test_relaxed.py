"""Test relaxed derivatives against closed forms, and against relaxed problems solved in numpy."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import root

from jaxccp.ccp import Cones, DenseDelassus, Law, Problem, Relaxed, Stop, solve
from tests.ccp.random_problems import random_case, stack
from tests.laws import CONVEX_LAW_LONG

LAWS: tuple[Law, Law] = ("ccp", "ncp")
PRECISE = Stop(atol=1e-13, max_iterations=5000)
NONE = jnp.zeros(0)


def impulses(problem: Problem, law: Law, gradient, **numbers) -> jax.Array:
    """Return λ of ``problem`` with other r, lo, hi or mu.

    Args:
        problem: the problem.
        law: the law of contact.
        gradient: mode of the derivative.
        **numbers: values of r, lo, hi or mu that replace the problem's.
    """
    cones = replace(problem.cones, **{k: v for k, v in numbers.items() if k != "r"})
    changed = Problem(problem.delassus, numbers.get("r", problem.r), cones)
    return solve(changed, law=law, stop=PRECISE, gradient=gradient).lam


def test_one_row_is_on_the_central_path() -> None:
    """The derivative of one row is that of the central path λ (N λ + r) = κ = w² / N.

    Its solution is λ = (√(r² + 4 N κ) − r) / 2N, whose slope goes from −1/N to 0.
    """
    n, w, r = 0.4, 0.3, np.linspace(-2.0, 2.0, 9)
    cones = Cones(jnp.zeros(1), jnp.full(1, jnp.inf), NONE)
    problem = Problem(DenseDelassus(n * jnp.eye(1)), jnp.zeros(1), cones)

    def at(r: jax.Array, gradient) -> jax.Array:
        return impulses(problem, "ccp", gradient, r=r[None])[0]

    @jax.jit
    @jax.vmap
    def differentiated(r: jax.Array) -> tuple[jax.Array, ...]:
        relaxed = partial(at, gradient=Relaxed(w))
        slope = jax.grad(relaxed)
        return (
            relaxed(r),
            at(r, "always"),
            slope(r),
            jax.jvp(relaxed, (r,), (1.0,))[1],
            jax.grad(slope)(r),
        )

    value, plain, reverse, forward, second = differentiated(jnp.asarray(r))
    kappa = w * w / n
    slope = (r / np.sqrt(r**2 + 4 * n * kappa) - 1) / (2 * n)
    np.testing.assert_array_equal(value, plain)
    np.testing.assert_allclose(value, np.maximum(-r / n, 0.0), atol=1e-12)
    np.testing.assert_allclose(forward, slope, rtol=1e-12)
    np.testing.assert_allclose(reverse, slope, rtol=1e-12)
    np.testing.assert_allclose(second, 2 * kappa / (r**2 + 4 * n * kappa) ** 1.5, rtol=1e-10)


def test_one_contact_is_on_the_central_path() -> None:
    """The derivative of one contact is that of the central path λ ∘ (N λ + r) = κ e.

    The product is that of the Jordan algebra of the cone ‖λ_t‖ ≤ λ_n, and N a multiple of I. The
    test solves it with scipy, open, sliding and sticking, and takes its slope by differences.
    """
    n, w, step = 0.4, 0.3, 1e-5
    problem = Problem(DenseDelassus(n * jnp.eye(3)), jnp.zeros(3), Cones(NONE, NONE, jnp.ones(1)))
    free = np.array([[0.6, 0.2, -0.1], [-0.5, 0.9, 0.4], [-1.0, 0.3, 0.2], [0.0, 0.0, 0.0]])

    def residual(lam: np.ndarray, r: np.ndarray) -> np.ndarray:
        u = n * lam + r
        product = np.array([lam @ u, *(lam[0] * u[1:] + u[0] * lam[1:])])
        return product - w * w / n * np.eye(3)[0]

    def path(r: np.ndarray) -> np.ndarray:
        result = root(residual, [3.0, 0.0, 0.0], args=(r,), tol=1e-13)
        assert result.success and result.x[0] > np.linalg.norm(result.x[1:])
        return result.x

    relaxed = partial(impulses, problem, "ccp", Relaxed(w))
    slopes = jax.jit(jax.vmap(jax.jacrev(lambda r: relaxed(r=r))))(jnp.asarray(free))
    for r, slope in zip(free, np.asarray(slopes), strict=True):
        ends = [(path(r + step * e) - path(r - step * e)) / (2 * step) for e in np.eye(3)]
        np.testing.assert_allclose(slope, np.stack(ends, axis=1), atol=1e-8)
        assert np.linalg.eigvalsh(-n * slope).min() > 0


def rounded(z: np.ndarray, cones: dict[str, np.ndarray], rho: np.ndarray, w: float) -> np.ndarray:
    """Return the rounded projection of ``z``.

    Boxes are rounded by λ − lo and hi − λ, cones by their spectral values, as in the literature.

    Args:
        z: point to project.
        cones: bounds lo and hi of the scalar rows, and mu of the contacts.
        rho: step of each row, which scales its rounding.
        w: speed of the relaxation [m/s].
    """

    def phi(x: np.ndarray | float, s: np.ndarray | float) -> np.ndarray:
        return (x + np.sqrt(x * x + 4 * s * s)) / 2

    s, out = len(cones["lo"]), np.zeros_like(z)
    for i in range(s):
        lo, hi, radius = cones["lo"][i], cones["hi"][i], rho[i] * w
        below = z[i] if np.isinf(lo) else lo + phi(z[i] - lo, radius)
        out[i] = below - (0.0 if np.isinf(hi) else phi(z[i] - hi, radius))
    for i, mu in enumerate(cones["mu"]):
        x = z[s + 3 * i : s + 3 * i + 3]
        length, angle = np.linalg.norm(x[1:]), np.arctan(mu)
        unit = x[1:] / length
        ends = x[0] + length * np.tan(angle), x[0] - length / np.tan(angle)
        bases = (
            np.cos(angle) ** 2 * np.array([1.0, *(np.tan(angle) * unit)]),
            np.sin(angle) ** 2 * np.array([1.0, *(-unit / np.tan(angle))]),
        )
        sums = [phi(end, rho[s + 3 * i] * w) * base for end, base in zip(ends, bases, strict=True)]
        out[s + 3 * i : s + 3 * i + 3] = sum(sums)
    return out


@CONVEX_LAW_LONG
def test_coupled_rows_have_the_slope_of_the_relaxed_problem(law: Law) -> None:
    """The slope of coupled rows is that of the relaxed problem, which scipy solves separately.

    Its fixed point has the z of the hard solution.
    """
    w, step = 0.2, 1e-6
    case = random_case(3, kind="compliant", scalars=5, contacts=3)
    problem = case.problem()
    n, s = case.matrix(), len(case.lo)
    rho = 1.0 / np.concatenate([np.diag(n)[:s], np.repeat(np.diag(n)[s::3], 3)])
    at = {"r": case.r, "lo": case.lo, "hi": case.hi, "mu": case.mu}

    def corrected(lam: np.ndarray, numbers: dict[str, np.ndarray], speed: float) -> np.ndarray:
        u = n @ lam + numbers["r"]
        if law == "ncp":
            slip = np.linalg.norm(u[s:].reshape(-1, 3)[:, 1:], axis=1)
            u[s::3] += numbers["mu"] * (np.sqrt(slip**2 + speed**2) - speed)
        return u

    hard = np.asarray(impulses(problem, law, "always"))
    z = hard - rho * corrected(hard, at, 0.0)
    soft = rounded(z, at, rho, w)
    same = {**at, "r": np.zeros_like(case.r)}
    # r for which the relaxed problem has this z: the shift sees tangential rows alone.
    same["r"] = (soft - z) / rho - n @ soft
    same["r"] = (soft - z) / rho - (corrected(soft, same, w) - same["r"])

    def path(numbers: dict[str, np.ndarray]) -> np.ndarray:
        def residual(lam: np.ndarray) -> np.ndarray:
            return lam - rounded(lam - rho * corrected(lam, numbers, w), numbers, rho, w)

        result = root(residual, soft, tol=1e-13)
        assert np.abs(residual(result.x)).max() < 1e-11
        return result.x

    np.testing.assert_allclose(path(same), soft, atol=1e-9)
    rng = np.random.default_rng(0)
    directions = {name: rng.normal(size=x.shape) * np.isfinite(x) for name, x in at.items()}

    @jax.jit
    def tangent(name_of: jax.Array) -> jax.Array:
        ts = {name: name_of[i] * directions[name] for i, name in enumerate(at)}
        run = partial(impulses, problem, law, Relaxed(w))
        primal = {name: jnp.asarray(x) for name, x in at.items()}
        return jax.jvp(lambda numbers: run(**numbers), (primal,), (ts,))[1]

    for index, name in enumerate(at):
        ends = [path({**same, name: same[name] + d * directions[name]}) for d in (step, -step)]
        expected = (ends[0] - ends[1]) / (2 * step)
        assert np.abs(expected).max() > 0.01
        np.testing.assert_allclose(tangent(jnp.eye(4)[index]), expected, atol=2e-7)


KINDS = ("mixed", "sticking", "sliding", "saturated", "open")


@CONVEX_LAW_LONG
def test_plain_derivative_is_the_limit(law: Law) -> None:
    """The relaxed derivative in r and μ tends to the plain one; both modes agree at large w.

    At w = 1e-6 it agrees to 1e-6. A contact that is not at a kink depends on w as (w / distance to
    it)².
    """
    problems = stack([random_case(2, kind=kind).problem() for kind in KINDS])

    @jax.jit
    @jax.vmap
    def run(problem: Problem):
        def both(x: jax.Array, gradient) -> jax.Array:
            return impulses(problem, law, gradient, r=x[: len(problem.r)], mu=x[len(problem.r) :])

        x = jnp.concatenate([problem.r, problem.cones.mu])
        move = jnp.cos(jnp.arange(len(x)))
        reverse = jax.jacrev(lambda x: both(x, Relaxed(0.5)))(x) @ move
        forward = [
            jax.jvp(partial(both, gradient=g), (x,), (move,))[1]
            for g in ("always", Relaxed(1e-6), Relaxed(0.5))
        ]
        return reverse, *forward

    reverse, plain, limit, forward = run(problems)
    size = np.abs(plain).max(axis=1, keepdims=True)
    np.testing.assert_allclose(limit / size, plain / size, atol=1e-6)
    np.testing.assert_allclose(reverse, forward, rtol=1e-8, atol=1e-10)
    assert np.abs(forward - plain).max() > 0.01


@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.long)])
def test_finite_where_the_plain_one_has_kinks(dtype: type) -> None:
    """Relaxed derivatives are finite at kinks of the plain ones.

    They are half of one side's slope where a row is just at its switch. Rows of zeros, on both
    borders, without friction, at rest, redundant: one batch, both laws.
    """
    eye, zero = np.eye(7), np.zeros((7, 7))
    twice = np.zeros((7, 7))
    twice[0, 0] = 1.0
    twice[1:4, 1:4] = twice[1:4, 4:] = twice[4:, 1:4] = twice[4:, 4:] = np.eye(3)
    matrices, mu = [], []
    for matrix in (eye, zero, twice):
        for friction in (0.0, 0.5):
            matrices.append(matrix)
            mu.append([friction, friction])
    many = len(matrices)
    infinite = jnp.full((many, 1), jnp.inf, dtype)
    cones = Cones(jnp.zeros((many, 1), dtype), infinite, jnp.asarray(mu, dtype))
    delassus = DenseDelassus(jnp.asarray(np.array(matrices), dtype))
    problems = Problem(delassus, jnp.zeros((many, 7), dtype), cones)

    def slopes(problem: Problem, law: Law) -> jax.Array:
        def run(x: jax.Array) -> jax.Array:
            r, mu = x[:7], x[7:]
            changed = Problem(problem.delassus, r, replace(problem.cones, mu=mu))
            return solve(changed, law=law, gradient=Relaxed(0.1)).u

        return jax.jacfwd(run)(jnp.concatenate([problem.r, problem.cones.mu]))

    jacobians = jax.jit(jax.vmap(lambda p: jnp.stack([slopes(p, law) for law in LAWS])))(problems)
    assert jacobians.dtype == dtype and np.isfinite(jacobians).all()
    np.testing.assert_allclose(jacobians[:2, :, 0, 0], 0.5, rtol=1e-5)
    np.testing.assert_allclose(
        jacobians[1, :, 1:7, 1:7], np.broadcast_to(eye[:6, :6] / 2, (2, 6, 6))
    )


def test_bad_settings_are_refused() -> None:
    for bad in (0.0, -1.0, float("inf"), float("nan")):
        with pytest.raises(ValueError, match="speed of Relaxed must be positive"):
            Relaxed(bad)
        with pytest.raises(ValueError, match="distance of Relaxed must be positive"):
            Relaxed(0.1, distance=bad)
    cones = Cones(NONE, NONE, jnp.ones(1), cone_type="pyramid")
    problem = Problem(DenseDelassus(jnp.eye(3)), -jnp.ones(3), cones)
    with pytest.raises(ValueError, match="round cones, not for pyramid"):
        jax.grad(lambda r: impulses(problem, "ccp", Relaxed(0.1), r=r)[0])(problem.r)
