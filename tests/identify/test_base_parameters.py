"""Check base parameters of a planar arm with a textbook solution, and of a matrix built by hand."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import load
from jaxccp.identify import InverseDynamics, Parameter, Problem, inertial_of
from jaxccp.identify.parameters.inertial import nominal_factor, physical
from jaxccp.identify.uncertainty.base_parameters import base_parameters
from tests.identify.planar_arm import CENTRES, XML, base_of, recorded, swing

pytest.importorskip("mujoco")


def test_dependent_columns_go_with_the_one_that_stands_for_them():
    random = np.random.default_rng(0)
    first = random.normal(size=(50, 3)) * [1.0, 2.0, 1.5]
    dependent = 0.5 * first[:, 0] - 0.25 * first[:, 2]
    matrix = np.column_stack([first[:, 0], dependent, first[:, 1:], np.zeros(50)])
    names, scale = ("a", "sum", "b", "c", "nothing"), np.array([2.0, 1.0, 1.0, 0.5, 1.0])
    bases = {base.name: base for base in base_parameters(matrix.T @ matrix, names, scale)}
    assert set(bases) == {"a", "b", "c"}
    assert bases["a"].coefficients == pytest.approx({"a": 1.0, "sum": 0.5}, rel=1e-6)
    assert bases["c"].coefficients == pytest.approx({"c": 1.0, "sum": -0.25}, rel=1e-6)
    assert str(bases["b"]) == "b"
    assert str(bases["c"]).startswith("c - 0.25")
    covariance = np.linalg.inv(first.T @ first)
    for name, variance in zip("abc", np.diag(covariance), strict=True):
        assert bases[name].deviation == pytest.approx(np.sqrt(variance), rel=1e-6)


def arm_problem() -> Problem:
    """Return the problem of identifying all inertial numbers of the arm, and a rotor."""
    time, q, _, _ = swing()
    log = recorded(time, q, np.zeros_like(q))
    rotor = Parameter('axes["hip"].armature', initial=0.05, scale=0.02)
    settings = InverseDynamics(cutoff=30.0, every=0.05)
    return Problem(load(XML), [log], [inertial_of(prior=None), rotor], settings)


def test_single_precision_determines_no_more():
    """Rounding does not count as an effect of parameters without any."""
    double = arm_problem().identifiability()
    with jax.enable_x64(False):
        single = arm_problem().identifiability()
    assert len(single.base) == 6
    known = np.isfinite(double.deviation)
    assert known.any() and not known.all()
    np.testing.assert_array_equal(np.isfinite(single.deviation), known)
    np.testing.assert_allclose(single.deviation[known], double.deviation[known], rtol=1e-2)


def test_planar_arm_has_its_six():
    """The combinations of 20 inertial numbers and a rotor, which adds to the first link's inertia,
    span the textbook's base parameters and nothing more."""
    arm, problem = load(XML), arm_problem()
    base = problem.identifiability().base
    assert len(base) == 6
    coefficients = np.array(
        [
            [combination.coefficients.get(name, 0.0) for name in problem.names]
            for combination in base
        ]
    )

    factors = [nominal_factor(arm.model, arm.model.topology.body(b)) for b in ("upper", "lower")]

    def textbook(theta):
        masses, moments, spins = [], [], []
        for number, centre in enumerate(CENTRES):
            mass, shift, inertia = physical(factors[number], jnp.asarray(theta[10 * number :][:10]))
            x, z = float(shift[0]) + centre, float(shift[2])
            masses.append(float(mass))
            moments.append((float(mass) * x, float(mass) * z))
            spins.append(float(inertia[1, 1]) + float(mass) * (x**2 + z**2))
        return base_of(masses, moments, spins) + np.array([0, 0, theta[20], 0, 0, 0])

    slope = np.stack(
        [(textbook(1e-5 * e) - textbook(-1e-5 * e)) / 2e-5 for e in np.eye(21)], axis=1
    )
    rows = np.linalg.svd(slope, full_matrices=False)[2]
    np.testing.assert_allclose(coefficients @ rows.T @ rows, coefficients, atol=1e-4)
