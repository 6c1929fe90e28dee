"""Test gears, rods, ropes and pulleys against analytic mechanics."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array
from scipy.integrate import solve_ivp

from jaxccp.ccp import Stop
from jaxccp.ccp.operators.blocks import BlockDiagonal
from jaxccp.ccp.solvers.newton import Newton
from jaxccp.ccp.solvers.psor import PSOR
from jaxccp.collision.detect import detect
from jaxccp.dynamics import (
    STEPPERS,
    EulerImplicitLinearized,
    StepReport,
    accelerations,
    describe,
    energy,
    matrices,
    rollout,
)
from jaxccp.dynamics.step import StepSystem, assemble_system
from jaxccp.io import read_problem, write_system
from jaxccp.math import quaternion
from jaxccp.model import (
    Coupling,
    JointMotion,
    Model,
    Prismatic,
    Revolute,
    Spherical,
    State,
    TendonPath,
    forward_kinematics,
    gear,
    joint_motion,
    motor,
)
from jaxccp.model.cut_joints import with_block_diagonal_mass
from jaxccp.scene import ModelBuilder
from tests.ccp.compiled import solve

G, H, STEPS = 9.81, 1e-3, 400
RATIO, TORQUE, CAM_TORQUE = -2.5, 0.3, 12.0
CURVE = (0.1, 0.8, 0.3)
STIFFNESS, REST, PULL = 40.0, 1.0, 5.0
INERTIA = 0.02


@cache
def scene() -> tuple[Model, State]:
    builder = ModelBuilder(gravity=(0, 0, -G))

    def wheel(name: str, x: float) -> None:
        body = builder.add_body(1.0, (INERTIA,) * 3, (x, 5, 0), name=name)
        builder.add_joint(Revolute(), 0, body, (x, 5, 0), name=name)

    def mass(name: str, value: float, position: tuple) -> int:
        return builder.add_body(value, (0.01, 0.02, 0.03), position, name=name)

    for i, name in enumerate(("driver", "driven", "cam", "sun", "ring", "carrier", "one", "two")):
        wheel(name, i)
    cart = mass("cart", 2.0, (0, 7, 0))
    builder.add_joint(Prismatic((1, 0, 0)), 0, cart, name="cart")
    builder.add_tendon(gear("driven", "driver", RATIO), "gear")
    builder.add_tendon(Coupling({"cart": 1.0, "cam": [-c for c in CURVE]}, length=-CURVE[0]))
    builder.add_tendon(
        Coupling({"sun": 1.0, "ring": 2.0, "carrier": -3.0}, length=0.0), "differential"
    )
    builder.add_tendon(Coupling({"one": 1.0, "two": 0.5}, limits=(-0.02, 0.01)), "wire")

    left, right = mass("left", 3.0, (-1, 0, -2)), mass("right", 2.0, (1, 0, -2))
    points = [(left, (0, 0, 0)), (0, (-1, 0, 0)), (0, (1, 0, 0)), (right, (0, 0, 0))]
    builder.add_tendon(TendonPath(points, length=6.0), "pulley")
    bob = mass("bob", 1.0, (0.8, 10, -0.6))
    builder.add_tendon(TendonPath([(0, (0, 10, 0)), (bob, (0, 0, 0))], length=1.0), "rod")
    fallen = mass("fallen", 1.0, (0, 12, 0))
    line = TendonPath([(0, (0, 12, 0.1)), (fallen, (0, 0, 0))], limits=(-np.inf, 0.4))
    builder.add_tendon(line, "rope")
    light, heavy = mass("near", 1.0, (0, 14, 0)), mass("far", 3.0, (1.4, 14, 0))
    spring = TendonPath([(light, (0, 0, 0)), (heavy, (0, 0, 0))], stiffness=STIFFNESS, rest=REST)
    builder.add_tendon(spring, "spring")
    hanging, drawn = mass("hung", 1.0, (0, 16, -1)), mass("drawn", 1.0, (1, 16, -1))
    builder.add_joint(Spherical(), 0, hanging, (0, 16, 0))
    builder.add_tendon(TendonPath([(hanging, (0, 0, 0.2)), (drawn, (0.1, 0, 0))]), "winch")

    for name in ("driver", "cam", "sun", "one"):
        builder.add_actuator(motor(), name, name)
    builder.add_actuator(motor(), "winch", "winch")
    return builder.build()


@cache
def record() -> tuple[State, JointMotion, StepReport]:
    model, state = scene()
    control = jnp.array([TORQUE, CAM_TORQUE, TORQUE, TORQUE, -PULL])
    stepper = EulerImplicitLinearized(H, stop=Stop(1e-11))
    controls = jnp.broadcast_to(control, (STEPS, 5))
    _, path = rollout(model, state, stepper, STEPS, controls=controls)
    motion = jax.jit(jax.vmap(joint_motion, (None, 0)))(model, path.state)
    return jax.device_get((path.state, motion, path.report))


def axis(name: str) -> tuple[np.ndarray, np.ndarray]:
    index, motion = scene()[0].topology.linkage.axis(name), record()[1]
    return np.asarray(motion.coordinate)[:, index], np.asarray(motion.rate)[:, index]


def tendon(name: str) -> np.ndarray:
    return np.asarray(record()[1].tendon.length)[:, scene()[0].topology.linkage.tendon(name)]


def force(name: str) -> np.ndarray:
    forces = np.asarray(record()[2].tendon_forces)
    return forces[:, scene()[0].topology.linkage.tendon(name)]


def body(name: str) -> tuple[np.ndarray, np.ndarray]:
    state, index = record()[0], scene()[0].topology.body(name)
    return np.asarray(state.position)[:, index], np.asarray(state.velocity)[:, index]


TIME = H * np.arange(1, STEPS + 1)
ROTATION_ERROR = (H * 6) ** 2 / 12
"""Relative amount by which a wheel turns less than h times its rate in a step, 2 atan(h ω/2), at
6 rad/s."""


def test_every_step_converges() -> None:
    assert not np.any(record()[2].solver.status)


def test_gear() -> None:
    rate = TORQUE / (INERTIA * (1 + RATIO**2)) * TIME
    np.testing.assert_allclose(axis("driver")[1], rate, rtol=ROTATION_ERROR)
    np.testing.assert_allclose(axis("driven")[1], RATIO * rate, rtol=ROTATION_ERROR)
    assert axis("driver")[0][-1] * RATIO == pytest.approx(axis("driven")[0][-1], rel=1e-5)


def test_polynomial_coupling() -> None:
    """The cart follows the cam's polynomial, and the work of the motor is the energy of the cam
    and the cart."""
    angle, rate = axis("cam")
    place, speed = axis("cart")
    expected = CURVE[1] * angle + CURVE[2] * angle**2
    assert angle[-1] > 0.5
    np.testing.assert_allclose(place, expected, atol=2 * (H * rate.max()) ** 2)
    energy = 0.5 * INERTIA * rate**2 + 0.5 * 2.0 * speed**2
    np.testing.assert_allclose(energy[100:], CAM_TORQUE * angle[100:], rtol=0.03)


def test_differential_couples_three_bodies() -> None:
    """The row's multiplier λ changes the accelerations in proportion to the row's factors."""
    factors = np.array([1.0, 2.0, -3.0])
    free = np.array([TORQUE, 0, 0])
    rates = (free - factors * (factors @ free) / (factors @ factors)) / INERTIA
    speeds = [axis(name)[1][-1] for name in ("sun", "ring", "carrier")]
    np.testing.assert_allclose(speeds, rates * TIME[-1], rtol=ROTATION_ERROR)


def test_limit_of_a_sum_of_coordinates() -> None:
    assert tendon("wire")[-1] == pytest.approx(0.01, abs=1e-6)
    assert tendon("wire").max() < 0.01 + 1e-5
    # Beyond the limit only the direction (1, 0.5) is held.
    torque = np.array([TORQUE, 0.0])
    factors = np.array([1.0, 0.5])
    projected = torque - factors * (factors @ torque) / (factors @ factors)
    rate = [np.diff(axis(name)[1])[-1] / H for name in ("one", "two")]
    np.testing.assert_allclose(rate, projected / INERTIA, rtol=1e-6)


def test_pulley() -> None:
    fall = G * (3 - 2) / (3 + 2) * TIME
    np.testing.assert_allclose(body("left")[1][:, 2], -fall, rtol=1e-9)
    np.testing.assert_allclose(body("right")[1][:, 2], fall, rtol=1e-9)


def test_forces_along_tendons() -> None:
    """Forces of tendons that pull are negative; nothing is reported of motors, which are no
    rows."""
    np.testing.assert_allclose(force("pulley"), -G * 2 * 3 * 2 / (3 + 2), rtol=1e-9)
    transmitted = TORQUE - INERTIA * TORQUE / (INERTIA * (1 + RATIO**2))
    np.testing.assert_allclose(force("gear"), transmitted / RATIO, rtol=ROTATION_ERROR)
    stretch = tendon("spring") - REST
    np.testing.assert_allclose(force("spring"), -STIFFNESS * stretch, atol=1e-9)
    place, speed = body("bob")
    rod = place - np.array([0, 10, 0])
    tension = -G * rod[:, 2] + np.sum(speed**2, axis=1)
    np.testing.assert_allclose(force("rod"), -tension, atol=4 * H * G)
    assert force("rope")[0] == 0
    assert force("rope")[-1] == pytest.approx(-G, rel=1e-6)
    assert not force("winch").any()
    sum_of_torques = TORQUE / (1 + 0.5**2)
    assert force("wire")[-1] == pytest.approx(-sum_of_torques, rel=1e-6)


def test_rod_is_a_pendulum() -> None:
    assert np.abs(tendon("rod") - 1).max() < 2 * (H * 4) ** 2
    start = np.arctan2(0.8, 0.6)
    exact = solve_ivp(
        lambda _, y: [y[1], -G * np.sin(y[0])], (0, TIME[-1]), [start, 0], rtol=1e-10
    ).y[:, -1]
    place = body("bob")[0][-1]
    angle = np.arctan2(place[0], -place[2])
    assert angle == pytest.approx(exact[0], abs=H * abs(exact[1]))


def test_rope_pulls_and_does_not_push() -> None:
    length, (place, speed) = tendon("rope"), body("fallen")
    slack = np.sqrt(2 * 0.3 / G) - 3 * H > TIME
    np.testing.assert_allclose(speed[slack, 2], -G * TIME[slack], rtol=1e-12)
    assert length.max() < 0.4 + 1e-9
    assert abs(speed[-1, 2]) < 1e-9
    assert place[-1, 2] == pytest.approx(-0.3, abs=1e-6)


def test_spring_between_points() -> None:
    """Two masses on a spring move by the implicit Euler rule of the reduced mass."""
    model = scene()[0]
    stiffened = replace(model, axes=replace(model.axes, stiffness=2 * model.axes.stiffness))
    last = jax.tree.map(lambda leaf: leaf[-1], record()[0])
    stored = jax.jit(energy)(stiffened, last) - jax.jit(energy)(model, last)
    assert stored == pytest.approx(0.5 * STIFFNESS * (tendon("spring")[-1] - REST) ** 2, rel=1e-9)

    reduced, alpha = 1.0 * 3.0 / 4.0, H * H * STIFFNESS
    stretch, rate = 0.4, 0.0
    for length in tendon("spring"):
        rate = (reduced * rate - H * STIFFNESS * stretch) / (reduced + alpha)
        stretch += H * rate
        assert length - REST == pytest.approx(stretch, abs=1e-9)


def test_winch() -> None:
    """The first step's velocity is h M⁻¹ f, f being the pull along the line from point to point,
    plus gravity."""
    line = np.array([1.1, 0, -0.2])
    force = -PULL * line / np.linalg.norm(line)
    velocity, spin = body("drawn")[1][0], record()[0].angular_velocity[0]
    index = scene()[0].topology.body("drawn")
    np.testing.assert_allclose(velocity, H * (force - np.array([0, 0, G])), atol=1e-9)
    expected_spin = H * np.cross([0.1, 0, 0], force) / [0.01, 0.02, 0.03]
    np.testing.assert_allclose(spin[index], expected_spin, atol=1e-6)


def test_accelerations_of_coupled_bodies_that_move() -> None:
    model, start = scene()
    linkage = model.topology.linkage
    spin, speed = 2.0, 1.3
    rate = np.zeros(len(linkage.axes))
    rate[linkage.axis("cam")], rate[linkage.axis("cart")] = spin, CURVE[1] * spin
    state = forward_kinematics(model, start, jnp.zeros_like(rate), jnp.asarray(rate))
    bob = model.topology.body("bob")
    state = replace(state, velocity=state.velocity.at[bob, 1].set(speed))
    control = jnp.array([TORQUE, CAM_TORQUE, 0.0, 0.0, 0.0])
    acceleration = jax.jit(accelerations)(model, state, control)
    rod = np.array([0.8, 0, -0.6])
    pull = np.array([0, 0, -G])
    swing = pull - rod * (pull @ rod) - speed**2 * rod
    np.testing.assert_allclose(acceleration.body[bob, :3], swing, atol=1e-9)
    cam, cart = acceleration.axis[linkage.axis("cam")], acceleration.axis[linkage.axis("cart")]
    slope, curvature = CURVE[1], 2 * CURVE[2]
    expected = (CAM_TORQUE - 2.0 * slope * curvature * spin**2) / (INERTIA + 2.0 * slope**2)
    assert cam == pytest.approx(expected, rel=1e-9)
    assert cart == pytest.approx(slope * expected + curvature * spin**2, rel=1e-9)
    driver = acceleration.axis[linkage.axis("driver")]
    assert driver == pytest.approx(TORQUE / (INERTIA * (1 + RATIO**2)), rel=1e-9)


@pytest.mark.parametrize("name", ["euler", "hht"])
def test_what_friction_holds_turns_no_rotor(name: str) -> None:
    """Dry friction holds a mass: the rotor of a coupling has no force, the joint carries the
    weight."""
    builder = ModelBuilder(gravity=(0, 0, -9.81))
    body = builder.add_body(1.0, (0.1, 0.1, 0.1))
    builder.add_joint(Prismatic((0, 0, 1), friction=100.0), 0, body, (0, 0, 0), name="slide")
    builder.add_tendon(Coupling({"slide": 1.0}, armature=1.0))
    _, report = STEPPERS[name](1e-3, stop=Stop(1e-12)).step(*builder.build())
    np.testing.assert_allclose(report.tendon_forces, 0.0, atol=1e-6)
    np.testing.assert_allclose(report.reactions[0, 2], 9.81, atol=1e-6)


def test_rows_are_derivatives_of_lengths() -> None:
    model, state = scene()
    rng = np.random.default_rng(3)
    moving = np.asarray(model.topology.free)[:, None]
    start = replace(
        state,
        position=state.position + moving * 0.1 * rng.normal(size=state.position.shape),
        velocity=jnp.asarray(moving * rng.normal(size=state.position.shape)),
        angular_velocity=jnp.asarray(moving * rng.normal(size=state.position.shape)),
    )

    @jax.jit
    def motion_at(t: jax.Array) -> JointMotion:
        rotation = quaternion.exp(t * start.angular_velocity)
        after = replace(
            start,
            position=start.position + t * start.velocity,
            quaternion=quaternion.multiply(rotation, start.quaternion),
        )
        return joint_motion(model, after)

    e = 1e-5
    before, middle, after = (motion_at(jnp.asarray(t)).tendon for t in (-e, 0.0, e))
    np.testing.assert_allclose(middle.rate, (after.length - before.length) / (2 * e), atol=1e-8)


@pytest.fixture(scope="module")
def problems() -> tuple[StepSystem, Array, Array]:
    """Return a step's problem over all rows, the matrix over the rows left after elimination,
    and its diagonal, computed separately."""
    model, state = scene()

    @jax.jit
    def build(state: State) -> tuple[StepSystem, Array, Array]:
        contacts, block_diagonal = detect(model, state), with_block_diagonal_mass(model)
        complete, eliminated = (
            assemble_system(
                block_diagonal, state, contacts, H, None, jnp.ones(5), eliminate=eliminate
            )[0]
            for eliminate in (False, True)
        )
        operator = eliminated.problem.delassus
        return complete, operator.dense(), operator.diagonal()

    return build(state)


def test_rows_over_more_than_two_bodies(problems, tmp_path) -> None:
    """The operator's parts, the problem read back from disk, and the eliminated problem agree
    with matrices."""
    system, left, diagonal = problems
    descriptor, bodies = describe(scene()[0], system), system.free_bodies
    assert bodies is not None and bodies.delassus is not None
    assert bodies.delassus.scalar_bodies.shape[1] == 3
    blocks = matrices(descriptor)
    h, j = blocks.h.toarray(), blocks.j.toarray()
    n = j @ np.linalg.solve(h, j.T) + np.diag(blocks.e)
    r = blocks.b + j @ np.linalg.solve(h, blocks.f)
    for form in (system.problem, read_problem(write_system(tmp_path, descriptor)).problem):
        np.testing.assert_allclose(jax.jit(lambda p: p.delassus.dense())(form), n, atol=1e-10)
        np.testing.assert_allclose(form.delassus.diagonal(), np.diag(n), atol=1e-10)
        np.testing.assert_allclose(form.r, r, atol=1e-10)

    weights = np.random.default_rng(1).uniform(0.5, 2, len(n))
    free = np.flatnonzero(scene()[0].topology.free)
    places = (6 * free[:, None] + np.arange(6)).reshape(-1)
    gram = bodies.delassus.gram(BlockDiagonal(jnp.asarray(weights), jnp.zeros((0, 3, 3))))
    white = np.linalg.inv(np.linalg.cholesky(h)) @ j.T
    # Square roots of H differ by a rotation of each body's part: traces and spectra do not.
    spectrum = np.linalg.eigvalsh(white @ np.diag(weights) @ white.T)
    np.testing.assert_allclose(np.linalg.eigvalsh(gram)[-len(places) :], spectrum, atol=1e-9)

    bilateral = np.isinf(system.problem.cones.lo)
    inner = np.linalg.pinv(n[bilateral][:, bilateral], rcond=1e-11)
    rest = (
        n[~bilateral][:, ~bilateral]
        - n[~bilateral][:, bilateral] @ inner @ n[bilateral][:, ~bilateral]
    )
    np.testing.assert_allclose(left, rest, atol=1e-9)
    np.testing.assert_allclose(diagonal, np.diag(rest), atol=1e-9)


@pytest.mark.parametrize("solver", [Newton(), PSOR()], ids=["newton", "psor"])
def test_solvers_over_all_rows(problems, solver) -> None:
    """Solutions agree with the linear system of all equality rows, by least squares, where no
    limit is reached."""
    system = problems[0]
    blocks, bilateral = matrices(describe(scene()[0], system)), np.isinf(system.problem.cones.lo)
    kept = np.concatenate([np.ones(len(blocks.f), bool), bilateral])
    x = np.linalg.lstsq(blocks.z.toarray()[kept][:, kept], blocks.rhs[kept], rcond=1e-12)[0]
    stop = Stop(1e-11, max_iterations=20000)
    solution = solve(system.problem, solver, stop=stop)
    assert not int(solution.statistics.status)
    outcome = system.after(solution.lam)
    twist = outcome.twist[np.asarray(scene()[0].topology.free)]
    np.testing.assert_allclose(twist.reshape(-1), x[: len(blocks.f)], atol=1e-8)
