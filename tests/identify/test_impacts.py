"""Check impact laws against mechanics derived by hand, and their identification from impacts."""

import json
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxccp
from jaxccp.identify import Impacts, Method, Parameter, Problem, law_number, recording
from jaxccp.identify.impacts import laws
from jaxccp.identify.impacts.laws import LAWS, ImpactContact, impact_law
from jaxccp.identify.impacts.plan import ImpactPlan

AXES = "x", "y", "theta"
SEMI_AXES = np.array([0.035, 0.025])
MASS, INERTIA = 0.04, 1.6e-5
RIG = """<mujoco><compiler angle="radian"/><worldbody>
<geom type="plane" size="1 1 .1" friction=".2 0 0"/>
<body name="body"><joint name="x" type="slide" axis="1 0 0"/>
  <joint name="y" type="slide" axis="0 0 1"/><joint name="theta" axis="0 -1 0"/>
  <inertial pos="0 0 0" mass=".04" diaginertia="1e-5 1.6e-5 1e-5"/>
  <geom type="ellipsoid" size=".035 .02 .025" friction=".2 0 0"/></body>
</worldbody></mujoco>"""
TRUTH = {"restitution": 0.6, "friction": 0.25, "inertia": 1.2, "stiffness": 3.0}


def solve(name, delassus, velocity, restitution, friction, stiffness=1.0):
    """Return the impulse of a law [N s] and the velocity after it [m/s].

    Args:
        name: name of the impact law.
        delassus: Delassus matrix of the contact [1/kg], rows and columns (normal, tangent).
        velocity: velocity before the impact [m/s], normal and tangential.
        restitution: coefficient of restitution.
        friction: coefficient of friction.
        stiffness: tangential stiffness as a multiple of the normal one.
    """
    numbers = {"tangential_stiffness": jnp.asarray(stiffness)}
    coefficients = jnp.asarray(restitution), jnp.asarray(friction)
    impulse = LAWS[name].impulse(ImpactContact(delassus, velocity, *coefficients, numbers))
    return impulse, velocity + delassus @ impulse


after = jax.jit(solve, static_argnames="name")


def tolerance(name):
    """Return the accuracy of a law: that of its integration, or rounding."""
    return 2e-3 if name == "tangential_compliance" else 1e-12


@pytest.mark.parametrize("name", LAWS)
def test_central_impact_separates_at_e_times_the_approach(name):
    delassus = jnp.diag(jnp.array([25.0, 87.5]))
    for e in (0.3, 0.7, 1.0):
        impulse, u = after(name, delassus, jnp.array([-2.0, 0.0]), e, 0.3)
        np.testing.assert_allclose(u, [2.0 * e, 0.0], atol=tolerance(name) * 2.0)
        np.testing.assert_allclose(
            impulse[0], (1 + e) * 2.0 / 25.0, rtol=max(tolerance(name), 1e-12)
        )


@pytest.mark.parametrize("name", LAWS)
def test_sliding_throughout_has_coulombs_impulse(name):
    delassus = jnp.diag(jnp.array([25.0, 87.5]))
    impulse, u = after(name, delassus, jnp.array([-1.0, 3.0]), 0.5, 0.1, 1e3)
    normal = 1.0 / 25.0 if name == "anitescu_potra" else 1.5 / 25.0
    assert u[1] > 0
    np.testing.assert_allclose(impulse[1], -0.1 * normal, rtol=max(tolerance(name), 1e-12))


@pytest.mark.parametrize("name", LAWS)
def test_no_impulse_without_approach(name):
    impulse, _ = after(name, jnp.eye(2), jnp.array([0.5, 1.0]), 0.5, 0.3)
    np.testing.assert_array_equal(impulse, 0.0)


def test_rouths_method_by_hand():
    """Routh's method agrees with a solution by hand for N = [[2, 1], [1, 4]], u = (−1, 1), μ = ½, e
    = ½.

    The contact slips with dp_t = −dp_n/2, so that du = (3/2, −1) dp, until p = 2/3 by the normal
    velocity and p = 1 by the slip. Compression ends at 2/3, restitution at 1, just as the slip
    does.
    """
    delassus, velocity = jnp.array([[2.0, 1.0], [1.0, 4.0]]), jnp.array([-1.0, 1.0])
    impulse, u = after("poisson", delassus, velocity, 0.5, 0.5)
    np.testing.assert_allclose(impulse, [1.0, -0.5], rtol=1e-12)
    np.testing.assert_allclose(u, [0.5, 0.0], atol=1e-12)
    # With e = 1 it sticks from p = 1 to 4/3, where dp_t = −dp_n/4 and du_n = 7/4 dp.
    impulse, u = after("poisson", delassus, velocity, 1.0, 0.5)
    np.testing.assert_allclose(impulse, [4 / 3, -0.5 - 1 / 12], rtol=1e-12)
    np.testing.assert_allclose(u, [0.5 + 7 / 12, 0.0], atol=1e-12)
    # Stronge: ½·1²/(3/2) = 1/3 is stored; e = 1 returns it: 1/12 while it slips, from u_n = 0 to
    # ½, the rest as it sticks: u_n² = ¼ + 2·(7/4)·¼.
    impulse, u = after("stronge", delassus, velocity, 1.0, 0.5)
    np.testing.assert_allclose(u, [np.sqrt(0.25 + 0.875), 0.0], atol=1e-12)


@pytest.mark.parametrize("e", [0.5, 1.0])
def test_sticking_sphere_turns_its_slip_around(e):
    """A sphere that sticks oscillates on its tangential spring for as long as the normal one acts:
    phase ω (π/2)(1 + e) / ω_n with ω² = k_t N_tt."""
    stiffness, delassus = 0.2, jnp.diag(jnp.array([25.0, 87.5]))
    _, u = after("tangential_compliance", delassus, jnp.array([-2.0, 0.3]), e, 50.0, stiffness)
    phase = np.sqrt(stiffness * 3.5) * 0.5 * np.pi * (1.0 + e)
    np.testing.assert_allclose(u, [2.0 * e, 0.3 * np.cos(phase)], atol=0.01)


def contacts(seed, count=300):
    """Return random contacts that friction does not jam: N, u, e and μ of each."""
    random = np.random.default_rng(seed)
    root = random.normal(size=(count, 2, 2)) + 1.5 * np.eye(2)
    delassus = np.einsum("nij,nkj->nik", root, root)
    velocity = np.stack([-random.uniform(0.1, 3, count), 2 * random.normal(size=count)], axis=1)
    e, mu = random.uniform(0, 1, count), random.uniform(0, 1, count)
    mu = np.minimum(mu, 0.9 * delassus[:, 0, 0] / np.abs(delassus[:, 0, 1]))
    return delassus, velocity, e, mu


def test_stiff_tangent_tends_to_stronges_law(monkeypatch):
    delassus, velocity, e, mu = contacts(0)
    e, stiffness = 0.4 + 0.6 * e, np.full(len(e), 1e4)
    _, hard = jax.vmap(partial(after, "stronge"))(delassus, velocity, e, mu)

    def errors(steps):
        monkeypatch.setattr(laws, "PHASE_STEPS", steps)
        law = partial(solve, "tangential_compliance")
        _, soft = jax.jit(jax.vmap(law))(delassus, velocity, e, mu, stiffness)
        return np.linalg.norm(soft - hard, axis=1) / np.linalg.norm(velocity, axis=1)

    coarse, fine = errors(72), errors(288)
    assert np.median(coarse) < 5e-4
    assert np.quantile(fine, 0.95) < 0.01 < np.quantile(coarse, 0.95)
    assert np.median(fine) < 0.3 * np.median(coarse)


@pytest.mark.parametrize("name", ["stronge", "tangential_compliance"])
def test_energy_never_grows(name):
    delassus, velocity, e, mu = contacts(1)
    impulse, u = jax.vmap(partial(after, name))(delassus, velocity, e, mu)
    assert np.isfinite(impulse).all()
    gained = np.einsum("ni,ni->n", impulse, 0.5 * (velocity + u))
    size = np.einsum("ni,nij,nj->n", velocity, np.linalg.inv(delassus), velocity)
    assert (gained <= 1e-3 * size).all()
    assert (u[:, 0] >= -5e-3 * np.linalg.norm(velocity, axis=1)).all()


@pytest.mark.parametrize("name", LAWS)
def test_derivatives_are_central_differences(name):
    delassus = np.array([[30.0, 9.0], [9.0, 80.0]])

    def velocity(x):
        return after(name, delassus, x[:2], x[2], x[3], x[4])[1]

    for slip in (0.4, 3.0):
        x = np.array([-2.0, slip, 0.55, 0.2, 3.0])
        exact = jax.jacfwd(velocity)(x)
        step = 1e-6 * np.eye(5)
        numeric = np.stack([(velocity(x + d) - velocity(x - d)) / 2e-6 for d in step], axis=1)
        np.testing.assert_allclose(exact, numeric, atol=1e-5)


@pytest.mark.parametrize("name", LAWS)
def test_finite_in_float32_at_the_ends(name):
    for e, mu, slip in ((0.0, 0.0, 0.0), (0.0, 0.3, 1.0), (1.0, 2.0, -1.0)):
        x = jnp.array([-1.0, slip, e, mu], jnp.float32)
        delassus = jnp.array([[2.0, 0.5], [0.5, 4.0]], jnp.float32)

        def velocity(x, delassus=delassus):
            return after(name, delassus, x[:2], x[2], x[3], jnp.float32(2.0))[1]

        assert np.isfinite(velocity(x)).all()
        assert np.isfinite(jax.jacfwd(velocity)(x)).all()


def test_unknown_law():
    with pytest.raises(ValueError, match="did you mean 'poisson'"):
        impact_law("poison")


def impacts(count=40, gap=0.004):
    """Return recordings of impacts of an ellipse on the ground, from equations written out in this
    function."""
    random = np.random.default_rng(2)
    inertia = TRUTH["inertia"] * INERTIA
    recordings = []
    for number in range(count):
        theta = random.uniform(-3, 3)
        height = np.hypot(*(SEMI_AXES * [np.sin(theta), np.cos(theta)]))
        arm = -(SEMI_AXES[0] ** 2 - SEMI_AXES[1] ** 2) * np.sin(theta) * np.cos(theta) / height
        v = np.array([random.normal(0, 0.7), -random.uniform(2, 3), random.normal(0, 8)])
        rows = np.array([[0, 1, arm], [1, 0, height]])
        inverse = np.diag([1 / MASS, 1 / MASS, 1 / inertia])
        impulse, _ = after(
            "tangential_compliance",
            rows @ inverse @ rows.T,
            rows @ v,
            TRUTH["restitution"],
            TRUTH["friction"],
            TRUTH["stiffness"],
        )
        rates = np.stack([v, v + inverse @ rows.T @ impulse])
        places = np.tile([0.1, height + random.uniform(-gap, gap), theta], (2, 1))
        recordings.append(
            recording(
                np.array([0.0, 0.004]),
                f"impact {number}",
                position=dict(zip(AXES, places.T, strict=True)),
                rate=dict(zip(AXES, rates.T, strict=True)),
            )
        )
    return recordings


PARAMETERS = [
    Parameter("shapes[*].restitution", 0.5, 0.0, 1.0, shared=True),
    Parameter("shapes[*].friction", 0.2, 0.0, shared=True),
    Parameter('bodies["body"].inertia', 1.0, 0.2, factor=True),
    law_number("tangential_stiffness", 1.5, 0.1),
]


@pytest.fixture(scope="module")
def problem():
    settings = Impacts("tangential_compliance")
    return Problem(
        jaxccp.load(RIG), impacts(), PARAMETERS, settings, Method(threshold=0.1, iterations=60)
    )


def test_recovers_the_parameters_and_reports_them(problem, tmp_path):
    fit = problem.fit()
    np.testing.assert_allclose(fit.values, list(TRUTH.values()), rtol=1e-4)
    page, numbers, *_ = fit.report(tmp_path)
    content = json.loads(numbers.read_text())
    assert set(content["rms"]) == {f'rate["{name}"]' for name in AXES}
    assert all(entry["rms"] < 1e-3 for entry in content["rms"].values())
    text = page.read_text()
    assert "What to record next" in text
    assert "law.tangential_stiffness" in text


def test_residual_is_the_relative_error_in_the_norm_of_kinetic_energy(problem):
    """The residual with the nominal parameters is the relative error of the rates after the impact,
    in the norm of kinetic energy."""
    plan, theta = problem.plans[0], problem.column("initial")
    pair = plan.batch.take(np.array([3]))
    subject, pair = problem.subject(theta), jax.tree.map(lambda leaf: leaf[0], pair)
    rates = np.asarray(plan.predict(subject, pair))
    norm = np.array([MASS, MASS, INERTIA])
    error = np.sqrt(norm @ (rates - pair.after) ** 2 / (norm @ pair.after**2))
    residual, _ = plan.residual(subject, pair, jnp.zeros(0))
    np.testing.assert_allclose(np.linalg.norm(residual) * 0.01, error, rtol=1e-9)


@pytest.mark.parametrize(
    ("e", "offset", "scale"),
    [(0.5, 0.0, 1.0), (0.5, 0.2, 1.0), (0.5, 0.0, 1.1), (0.5, -0.1, 0.9), (0.0, 0.0, 1.0)],
)
def test_rates_before_and_after_have_one_calibration(e, offset, scale):
    """A vertical fall of the ellipse in a symmetric pose separates at e times the approach, of
    which a calibrated sensor records scale · rate + offset.

    Errors are relative to the rate after, or to that before where the impact stops the body.
    """
    approach = -1.0
    still = {name: np.zeros(2) for name in AXES}
    fall = scale * np.array([approach, -e * approach]) + offset
    position, rate = {**still, "y": np.full(2, SEMI_AXES[1])}, {**still, "y": fall}
    log = recording(np.array([0.0, 0.004]), position=position, rate=rate)
    parameters = [
        Parameter("shapes[*].restitution", e, 0.0, 1.0, shared=True),
        Parameter('channels["rate["y"]"].offset', offset),
        Parameter('channels["rate["y"]"].scale', scale),
    ]
    problem = Problem(jaxccp.load(RIG), [log], parameters, Impacts("newton"))
    plan = problem.plans[0]
    assert isinstance(plan, ImpactPlan)
    subject = problem.subject(problem.column("initial"))
    pair = jax.tree.map(lambda leaf: leaf[0], plan.batch.take(np.array([0])))
    residual, _ = plan.residual(subject, pair, jnp.zeros(0))
    np.testing.assert_allclose(residual, 0.0, atol=1e-9)
    bouncier = problem.subject(problem.column("initial") + np.array([0.1, 0.0, 0.0]))
    residual, _ = plan.residual(bouncier, pair, jnp.zeros(0))
    relative = 0.1 * scale / abs(fall[1] or fall[0])
    assert np.linalg.norm(residual) * 0.01 == pytest.approx(relative)
    _, measured, predicted, _ = plan.curves(subject, pair, jnp.zeros(0))
    np.testing.assert_allclose(predicted, measured, atol=1e-9)
    np.testing.assert_allclose(measured[0, 1], fall[1])


def test_components_of_one_error_share_its_spread(problem):
    evaluator = problem.objective.evaluators[0]
    initial_weight = evaluator.weight
    values = np.tile(problem.column("initial"), (len(problem.plans[0].batch), 1))
    terms = evaluator.terms(values, np.zeros((len(values), 0)))
    evaluator.reweight(terms, np.zeros((len(terms.usable), 0)))
    spread = np.sqrt(terms.square.sum() / terms.count.sum()) / initial_weight
    np.testing.assert_allclose(evaluator.weight, 1.0 / np.maximum(spread, 1.0), rtol=1e-6)
    assert np.ptp(evaluator.weight) == 0.0 < 1.0 - evaluator.weight[0]
    evaluator.weight = initial_weight


def test_random_folds_leave_out_every_impact_once(problem):
    from jaxccp.identify.estimation.cross_validation import folds_of

    batch = problem.plans[0].batch
    drawn = folds_of(batch, 5, seed=1)
    assert sorted(np.bincount(drawn)) == [8] * 5
    assert (drawn != folds_of(batch, 5)).any()
    assert (drawn == folds_of(batch, 5, seed=1)).all()


def test_refuses_what_is_no_impact():
    rig, (first, *_) = jaxccp.load(RIG), impacts(2)
    time = np.array([0.0, 0.004])

    def refused(text, log, settings=None):
        with pytest.raises(ValueError, match=text):
            Problem(rig, [log], PARAMETERS, settings or Impacts())

    long = {name: np.zeros(3) for name in AXES}
    refused("has 3 samples", recording(np.arange(3.0), "long", position=long, rate=long))
    still = {name: np.zeros(2) for name in AXES}
    high = {**still, AXES[1]: np.ones(2)}
    refused("'high': no shapes are closer", recording(time, "high", position=high, rate=still))
    refused("no position", recording(time, "rates", rate=still))
    refused(
        "missing",
        recording(time, "gap", position={**still, AXES[1]: np.array([np.nan, 0])}, rate=still),
    )
    refused("set plane=", first, Impacts(plane=(1.0, 0.0, 0.0)))
    with pytest.raises(ValueError, match="plane must be a direction"):
        Impacts(plane=(0.0, 0.0, 0.0))
