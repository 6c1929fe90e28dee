"""Test invariants of bodies thrown at each other: momentum, angular momentum, energy."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from jaxccp.ccp import Law, Stop
from jaxccp.dynamics import EulerImplicitLinearized, momentum, rollout
from jaxccp.model import Material, Plane, Revolute, Sphere
from jaxccp.scene import ModelBuilder
from tests.dynamics.cluster import FIRST, SOLIDS, STEPS, TOLERANCE, H, runs, scene
from tests.laws import CONVEX_LAW_LONG

ROUNDING = 1e-12


@CONVEX_LAW_LONG
@pytest.mark.parametrize("name", ["collide", "bounce", "elastic", "apart"])
def test_momentum_is_conserved(law: Law, name: str) -> None:
    linear = runs(law)[name].linear
    assert np.abs(linear - linear[0]).max() <= ROUNDING


@CONVEX_LAW_LONG
@pytest.mark.parametrize("name", ["collide", "bounce", "elastic", "apart"])
def test_angular_momentum_is_conserved(law: Law, name: str) -> None:
    """Angular momentum about the world's origin, spin and orbit together, is conserved while
    bodies tumble."""
    angular = runs(law)[name].angular
    assert np.abs(angular - angular[0]).max() <= ROUNDING


@pytest.mark.parametrize("jointed", [False, True])
@pytest.mark.parametrize("restitution", [0.5, 1.0])
def test_momentum_survives_bounces_at_several_times_of_one_step(
    restitution: float, jointed: bool
) -> None:
    """Three rough, spinning balls of unequal size that meet keep their momentum. Every pair
    bounces within one long step, each at its own time of impact, so that a ball has moved on
    between its two bounces. The same holds with a wheel at rest beside them, which puts the
    model into reduced coordinates."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    rough = Material(friction=0.4, restitution=restitution)
    # Gaps of 2, 4 and 7 mm.
    places = np.array([[0.0, 0.0, 0.0], [0.224, 0.0, 0.0], [0.0905, 0.1578, 0.01]])
    inwards = places.mean(axis=0) - places
    for i, (radius, mass) in enumerate([(0.1, 1.0), (0.12, 2.0), (0.08, 0.7)]):
        builder.add_solid(
            Sphere(radius),
            mass,
            rough,
            position=places[i],
            velocity=(10 + 3 * i) * inwards[i],
            angular_velocity=(3, -2 * i, 5),
        )
    if jointed:
        wheel = builder.add_body(1.0, (0.1, 0.1, 0.1), position=(9, 0, 0), name="wheel")
        builder.add_joint(Revolute((0, 0, 1)), 0, wheel)
    model, state = builder.build()
    stepper = EulerImplicitLinearized(1e-2, "ncp", stop=Stop(TOLERANCE))
    after, path = rollout(model, state, stepper, 6)
    assert path.report.contacts.max() == 3 and not np.any(path.report.solver.status)
    assert np.all(np.abs(after.velocity[1:4] - state.velocity[1:4]).max(axis=1) > 0.1)
    for final, initial in zip(momentum(model, after), momentum(model, state), strict=True):
        np.testing.assert_allclose(final, initial, atol=ROUNDING)


def test_a_joint_carries_what_a_bounce_leaves() -> None:
    """A pendulum bounces on the ground: its momentum changes by its weight, the force of the
    ground and that of its hinge, in the steps with a bounce too."""
    builder, hard = ModelBuilder(), Material(restitution=1.0)
    builder.add_shape(0, Plane(), (0, 0, -0.2), material=hard)
    bob = builder.add_solid(Sphere(0.05), 1.0, hard, position=(0.5, 0, 0))
    builder.add_joint(Revolute((0, 1, 0)), 0, bob, (0, 0, 0), collide=True)
    model, state = builder.build()
    h = 5e-3
    _, path = rollout(model, state, EulerImplicitLinearized(h), 60)
    velocity = np.concatenate([state.velocity[None], path.state.velocity])[:, bob]
    assert velocity[:, 2].max() > 1
    report = path.report
    force = report.reactions[:, 0, :3] + report.contact_wrenches[:, bob, :3] + model.gravity
    np.testing.assert_allclose(np.diff(velocity, axis=0) / h, force, atol=1e-9)


@CONVEX_LAW_LONG
def test_they_do_collide(law: Law) -> None:
    for name in ("collide", "bounce", "elastic", "pile"):
        report = runs(law)[name].trajectory.report
        assert report.contacts.max() >= 4 and not report.overflow.any()
    assert not runs(law)["apart"].trajectory.report.contacts.any()


@CONVEX_LAW_LONG
@pytest.mark.parametrize("name", ["collide", "pile"])
def test_energy_never_grows_without_restitution(law: Law, name: str) -> None:
    """Energy grows by no more per step than rounding and an impulse's error leave. The
    linearised non-penetration takes energy out of every impact, and undoing what curvature lets
    penetrate costs less than the impact gave."""
    energy = runs(law)[name].energy
    assert np.diff(energy).max() <= 1e-9 * np.abs(energy).max()
    assert energy[-1] < energy[0] - 1.0


@CONVEX_LAW_LONG
def test_energy_survives_elastic_collisions(law: Law) -> None:
    """Collisions with e = 1 without friction keep the energy to first order in the step; e = 0.5
    loses some."""
    elastic, bounce = runs(law)["elastic"].energy, runs(law)["bounce"].energy
    np.testing.assert_allclose(elastic[-1], elastic[0], rtol=2e-3)
    assert bounce[-1] < 0.9 * bounce[0]
    assert runs(law)["collide"].energy[-1] < bounce[-1]


def test_energy_of_torque_free_tumbling_is_conserved() -> None:
    energy = runs("ncp")["apart"].energy
    np.testing.assert_allclose(energy, energy[0], rtol=ROUNDING)


def test_tumbling_follows_eulers_equations() -> None:
    """Tumbling agrees with scipy's adaptive integrator to an error of second order in the step."""
    _, state = scene()
    end = runs("ncp")["apart"].trajectory.state
    for i, (shape, mass) in enumerate(SOLIDS, start=FIRST):
        inertia = shape.inertia(mass)
        start = Rotation.from_quat(np.array(state.quaternion[i]), scalar_first=True)
        spin = start.inv().apply(np.array(state.angular_velocity[i]))

        def turning(_, y: np.ndarray, inertia=inertia) -> np.ndarray:
            q, w = y[:4], y[4:]
            rate = 0.5 * np.array([-q[1:] @ w, *(q[0] * w + np.cross(q[1:], w))])
            return np.concatenate([rate, np.linalg.solve(inertia, np.cross(inertia @ w, w))])

        first = np.concatenate([np.array(state.quaternion[i]), spin])
        exact = solve_ivp(turning, (0, STEPS * H), first, rtol=1e-11, atol=1e-12).y[:, -1]
        orientation = Rotation.from_quat(exact[:4], scalar_first=True)
        computed = Rotation.from_quat(np.array(end.quaternion[-1, i]), scalar_first=True)
        speed = float(np.linalg.norm(spin))
        assert (orientation.inv() * computed).magnitude() <= speed * STEPS * H * (speed * H) ** 2
        np.testing.assert_allclose(
            end.angular_velocity[-1, i],
            orientation.apply(exact[4:]),
            atol=speed * (speed * H) ** 2 * 10,
        )


@CONVEX_LAW_LONG
@pytest.mark.parametrize("name", ["collide", "bounce", "elastic"])
def test_every_step_converges(law: Law, name: str) -> None:
    solver = runs(law)[name].trajectory.report.solver
    assert np.all(solver.status == 0)
    assert np.all(getattr(solver, f"residual_{law}") <= TOLERANCE)
