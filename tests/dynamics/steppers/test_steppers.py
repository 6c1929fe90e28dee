"""Test every time stepper: its motion is that of mechanics to the order of its step."""

from dataclasses import dataclass, replace
from functools import cache
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

from jaxccp.ccp import Stop
from jaxccp.collision.detect import detect
from jaxccp.dynamics import (
    STEPPERS,
    Carry,
    EulerImplicitLinearized,
    Stepper,
    describe_step,
    rollout,
)
from jaxccp.model import (
    Box,
    Material,
    Model,
    Plane,
    Prismatic,
    Revolute,
    Sphere,
    State,
    joint_motion,
)
from jaxccp.scene import ModelBuilder
from jaxccp.testing import explain_gradient

SIBLINGS = ("newmark", "trapezoidal", "generalised-alpha")
"""The same code as HHT with other coefficients."""


def stepping(long: tuple[str, ...]) -> list:
    """Return all steppers but rk4, which refuses contacts and is tested in
    tests/dynamics/steppers/test_second_order.py. Those in ``long`` are marked as long."""
    names = [name for name in STEPPERS if name != "rk4"]
    return [pytest.param(name, marks=pytest.mark.long) if name in long else name for name in names]


NAMES = stepping(SIBLINGS)
IN_THE_PARK = stepping((*SIBLINGS, "hht"))
"""HHT shows the same on smaller models in tests/dynamics/steppers/test_second_order.py."""
MOMENTUM = ("euler", "projected")
"""Steppers that carry momentum over, and so keep it, and the energy of free rotation, to rounding;
the others to the order of their step."""
G, H, SPAN = 9.81, 2e-3, 0.6
MASS, MOMENT, ARM, ANGLE = 0.7, 0.02, 0.4, 1.0
"""Numbers of the pendulum: mass, moment about its centre of mass, distance from there to the hinge,
and angle at the start [rad]."""
STIFFNESS, STRETCH = 60.0, 0.1
FRICTION, SPEED = 0.4, 1.5
MOMENTS, SPIN = (0.02, 0.03, 0.045), (0.5, 4.0, 0.3)
"""Principal moments of the tumbling body, and its angular velocity about its own axes."""
THROWN = np.array([1.0, -0.5, 3.0])


@cache
def park() -> tuple[Model, State]:
    """Build mechanisms side by side that do not touch each other: the solution of each motion is
    known."""
    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.add_shape(0, Plane(), material=Material(friction=1.0))
    builder.add_body(2.0, (0.1, 0.1, 0.1), (0, 0, 5), velocity=THROWN, name="thrown")
    builder.add_body(1.0, MOMENTS, (0, 3, 5), angular_velocity=SPIN, name="tumbling")
    place = (ARM * np.sin(ANGLE), 6, 2 - ARM * np.cos(ANGLE))
    bob = builder.add_body(MASS, (MOMENT, MOMENT, MOMENT), place, name="bob")
    builder.add_joint(Revolute((0, -1, 0)), 0, bob, (0, 6, 2), name="pendulum")
    cart = builder.add_body(1.5, (0.01, 0.01, 0.01), (0, 9, 2), name="cart")
    spring = Prismatic((1, 0, 0), stiffness=STIFFNESS, rest=-STRETCH)
    builder.add_joint(spring, 0, cart, (0, 9, 2), name="spring")
    cube, rough = Box((0.05, 0.05, 0.05)), Material(friction=FRICTION)
    builder.add_solid(cube, 1.0, rough, position=(0, 12, 0.07), name="dropped")
    slab = Box((0.1, 0.1, 0.01))
    place, velocity = (0, 15, 0.01), (SPEED, 0, 0)
    builder.add_solid(slab, 1.0, rough, position=place, velocity=velocity, name="sliding")
    pair = [
        builder.add_body(m, (0.02, 0.03, 0.01), (x, 18, 4), velocity=v, angular_velocity=(1, 0, 3))
        for m, x, v in ((1.0, 0.0, (0, 0, 1)), (0.5, 0.4, (0, 1.2, 1)))
    ]
    builder.add_joint(Revolute((0.1, 0.2, 1)), pair[0], pair[1], (0.2, 18, 4), name="floating")
    corners = np.array([[0, 21, 1], [-0.1, 21, 1.2], [0.4, 21, 1.3], [0.5, 21, 1]])
    above = 0
    for i in range(3):
        middle = 0.5 * (corners[i] + corners[i + 1])
        bar = builder.add_body(0.3 + 0.1 * i, (0.002, 0.003, 0.002), middle)
        builder.add_joint(Revolute((0, 1, 0)), above, bar, corners[i], name=f"bar{i}")
        above = bar
    builder.add_joint(Revolute((0, 1, 0)), above, 0, corners[3], name="closing")
    # Nothing else could meet but the slab and the cube, which are metres apart.
    builder.collide_only((0, shape) for shape in ("dropped", "sliding"))
    return builder.build(max_contacts=8)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Worst:
    """The largest value of each quantity over all steps."""

    status: jax.Array
    open: jax.Array
    """Error of any joint [m, rad]."""
    overlap: jax.Array
    """Overlap of any contact [m]."""
    swing: jax.Array
    """Change of the pendulum's energy [J]."""
    spin: jax.Array
    """Relative change of the tumbling body's energy."""
    rate: jax.Array
    """Angular speed of any body [rad/s]."""


def swinging(model: Model, state: State) -> jax.Array:
    """Return the energy of the pendulum, written out in full [J]."""
    bob = model.topology.body("bob")
    kinetic = MASS * jnp.sum(state.velocity[bob] ** 2)
    turning = MOMENT * jnp.sum(state.angular_velocity[bob] ** 2)
    return 0.5 * (kinetic + turning) + MASS * G * state.position[bob, 2]


def tumbling(model: Model, state: State) -> jax.Array:
    """Return the rotational energy of the tumbling body, L·ω/2, written out in full [J]."""
    body = model.topology.body("tumbling")
    w, x, y, z = state.quaternion[body]
    rotation = jnp.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
            [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
            [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
        ]
    )
    return 0.5 * jnp.sum(jnp.asarray(MOMENTS) * (rotation.T @ state.angular_velocity[body]) ** 2)


@cache
def program(name: str):
    model, state = park()
    swing, spin = swinging(model, state), tumbling(model, state)

    @jax.jit
    def run(h: jax.Array, steps: jax.Array) -> tuple[State, jax.Array, Worst]:
        # One program for all step lengths.
        stepper = STEPPERS[name](law="ncp", stop=Stop(1e-11))

        def step(_: int, carried: tuple[Any, jax.Array, Worst]) -> tuple[Carry, jax.Array, Worst]:
            carry, report = stepper.advance(model, carried[0], h=h)
            at = carry.state
            contacts = detect(model, at)
            values = Worst(
                report.solver.status,
                jnp.max(jnp.abs(joint_motion(model, at).error)),
                jnp.max(jnp.where(contacts.live, -contacts.gap, 0.0)),
                jnp.abs(swinging(model, at) - swing),
                jnp.abs(tumbling(model, at) / spin - 1.0),
                jnp.max(jnp.abs(at.angular_velocity)),
            )
            return carry, report.contact_wrenches, jax.tree.map(jnp.maximum, carried[2], values)

        zero = jnp.zeros(())
        worst = Worst(jnp.int32(0), zero, zero, zero, zero, zero)
        start = (stepper.init(model, state), jnp.zeros((len(state.position), 6)), worst)
        carry, wrenches, worst = lax.fori_loop(0, steps, step, start)
        return carry.state, wrenches, worst

    return run


@cache
def run(name: str, halvings: int = 0, span: float = SPAN) -> tuple[State, np.ndarray, Worst]:
    h = H / 2**halvings
    outcome = jax.device_get(program(name)(h, round(span / h)))
    assert outcome[2].status == 0
    return outcome


def final_errors(name: str, halvings: int) -> dict[str, float]:
    """Return the error of each body's final position against mechanics [m or rad]."""
    model, _ = park()
    state, _, _ = run(name, halvings)
    body, axis = model.topology.body, model.topology.linkage.axis
    thrown = np.array([0, 0, 5]) + THROWN * SPAN - [0, 0, 0.5 * G * SPAN**2]
    moment = MOMENT + MASS * ARM**2

    def swing(_: float, y: np.ndarray) -> list[float]:
        return [y[1], -MASS * G * ARM / moment * np.sin(y[0])]

    def tumble(_: float, y: np.ndarray) -> np.ndarray:
        q, w, inertia = y[:4], y[4:], np.array(MOMENTS)
        rate = 0.5 * np.array([-q[1:] @ w, *(q[0] * w + np.cross(q[1:], w))])
        return np.concatenate([rate, np.cross(inertia * w, w) / inertia])

    angle = solve_ivp(swing, (0, SPAN), [ANGLE, 0.0], rtol=1e-11, atol=1e-12).y[0, -1]
    still = [1, 0, 0, 0, *SPIN]
    orientation = solve_ivp(tumble, (0, SPAN), still, rtol=1e-11, atol=1e-12).y[:4, -1]
    frequency = np.sqrt(STIFFNESS / 1.5)
    spring = STRETCH * (np.cos(frequency * SPAN) - 1)
    rotation = Rotation.from_quat(orientation, scalar_first=True).inv() * Rotation.from_quat(
        np.asarray(state.quaternion[body("tumbling")]), scalar_first=True
    )
    slid = SPEED**2 / (2 * FRICTION * G)
    return {
        "thrown": float(np.linalg.norm(state.position[body("thrown")] - thrown)),
        "tumbling": float(rotation.magnitude()),
        "pendulum": float(abs(ANGLE + state.joint_positions[axis("pendulum")] - angle)),
        "spring": float(abs(state.joint_positions[axis("spring")] - spring)),
        "sliding": float(abs(state.position[body("sliding"), 0] - slid)),
    }


@pytest.mark.parametrize("name", IN_THE_PARK)
def test_motion_converges_to_that_of_mechanics(name: str) -> None:
    """Half the step halves the error, or better, for flight, free rotation, a pendulum, a
    spring, and a slab that friction stops."""
    coarse, fine = final_errors(name, 0), final_errors(name, 1)
    for what, error in fine.items():
        assert error < max(0.55 * coarse[what], 1e-12), (what, coarse[what], error)
        assert coarse[what] < 0.036, (what, coarse[what])


@pytest.mark.parametrize("name", MOMENTUM)
def test_energy_over_long_times(name: str) -> None:
    """The energy of a pendulum is kept to the order of the step in a swing, and stays bounded
    over 2; that of free rotation is kept to rounding."""
    (*_, short), (*_, swing), (*_, fine), (*_, long) = (
        run(name, *args) for args in ((0, SPAN), (0, 1.5), (1, 1.5), (0, 3.0))
    )
    depth = MASS * G * ARM
    assert long.swing < 0.01 * depth
    assert long.swing < 2.5 * short.swing
    assert fine.swing < 0.55 * swing.swing
    assert long.spin < 1e-9


@pytest.mark.parametrize("name", IN_THE_PARK)
def test_constraints_hold(name: str) -> None:
    """Joints of trees and of a loop are closed to the square of a bar's rotation in a step; what
    rests on the ground carries its weight and does not penetrate it."""
    model, _ = park()
    (state, wrenches, worst), (*_, fine) = run(name), run(name, 1)
    angle = joint_motion(model, state).coordinate[model.topology.linkage.axis("bar0")]
    assert abs(angle) > 0.1
    assert worst.open < 0.5 * (H * worst.rate) ** 2
    assert fine.open < 0.3 * worst.open or worst.open < 1e-9
    assert worst.overlap < 1e-7
    for what in ("dropped", "sliding"):
        body = model.topology.body(what)
        assert np.abs(state.twist[body]).max() < 1e-7
        np.testing.assert_allclose(wrenches[body], [0, 0, G, 0, 0, 0], atol=1e-5)
    resting = state.position[model.topology.body("dropped"), 2]
    assert resting == pytest.approx(0.05, abs=1e-6)


@pytest.mark.parametrize("name", IN_THE_PARK)
def test_momentum_of_what_floats(name: str) -> None:
    """Linear momentum of two thrown bodies on a hinge gains that of their weight, and angular
    momentum about their centre of mass stays, to rounding or to the order of the step."""
    model, start = park()
    joint = model.topology.linkage.joints.index("floating")
    pair = np.asarray(model.topology.linkage.bodies[joint])
    mass, inertia = (np.asarray(x)[pair] for x in (model.bodies.mass, model.bodies.inertia))

    def momenta(state: State) -> tuple[np.ndarray, np.ndarray]:
        place, velocity, spin = (
            np.asarray(x)[pair] for x in (state.position, state.velocity, state.angular_velocity)
        )
        rotation = Rotation.from_quat(
            np.asarray(state.quaternion)[pair], scalar_first=True
        ).as_matrix()
        spins = np.einsum("bij,bjk,blk,bl->bi", rotation, inertia, rotation, spin)
        centre = mass @ place / mass.sum()
        return mass @ velocity, (spins + np.cross(place - centre, mass[:, None] * velocity)).sum(0)

    (linear, angular), (linear_after, angular_after) = momenta(start), momenta(run(name)[0])
    if name in MOMENTUM:
        np.testing.assert_allclose(linear_after, linear - [0, 0, mass.sum() * G * SPAN], atol=1e-10)
        np.testing.assert_allclose(angular_after, angular, atol=1e-10)
        return
    linear_fine, angular_fine = momenta(run(name, 1)[0])
    fallen = linear - [0, 0, mass.sum() * G * SPAN]
    for coarse, fine, right in (
        (linear_after, linear_fine, fallen),
        (angular_after, angular_fine, angular),
    ):
        errors = [np.abs(value - right).max() for value in (coarse, fine)]
        assert errors[0] < 1e-3 and errors[1] < max(0.55 * errors[0], 1e-10)


@cache
def ball_and_pendulum() -> tuple[Model, State]:
    """Build a ball that slides on the ground, and a damped pendulum."""
    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.add_shape(0, Plane(), material=Material(friction=FRICTION))
    rough = Material(friction=FRICTION)
    place, velocity = (0, 0, 0.1), (2, 0.5, 0)
    builder.add_solid(Sphere(0.1), 1.0, rough, position=place, velocity=velocity, name="ball")
    bob = builder.add_body(0.5, (0.01, 0.02, 0.01), (0.3, 1, 0.8), name="bob")
    hinge = Revolute((0, 1, 0.2), stiffness=2.0, damping=0.1, armature=0.01)
    builder.add_joint(hinge, 0, bob, (0, 1, 1), name="hinge")
    with jax.ensure_compile_time_eval():  # first asked for while another program is traced
        return builder.build(max_contacts=2)


def result(stepper: Stepper, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return a weighted sum of the final state of a short run, as a function of factors of the
    ball's velocity, the friction, the bob's mass and the spring; and the worst status."""
    model, state = jax.tree.map(
        lambda leaf: leaf.astype(x.dtype) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf,
        ball_and_pendulum(),
    )
    shapes = replace(model.shapes, friction=model.shapes.friction * x[2])
    bodies = replace(model.bodies, mass=model.bodies.mass.at[2].multiply(x[3]))
    axes = replace(model.axes, stiffness=model.axes.stiffness * x[4])
    model = replace(model, shapes=shapes, bodies=bodies, axes=axes)
    state = replace(state, velocity=state.velocity.at[1, :2].multiply(x[:2]))
    after, path = rollout(model, state, stepper, 8, every=8)
    left = jnp.concatenate([after.position, after.quaternion, after.twist], axis=1)[1:]
    weights = jnp.asarray(np.random.default_rng(0).uniform(0.5, 1, left.shape), x.dtype)
    return jnp.sum(weights * left), jnp.max(path.report.solver.status)


DIRECTION, SIZE = np.array([0.6, -0.3, 0.5, 0.4, -0.7]), 1e-5


POINTS = 1.0 + SIZE * np.array([[0], [1], [-1]]) * DIRECTION
"""The point of the gradient, and one to each side of it along DIRECTION."""


@cache
def slopes(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return values and gradients at ``POINTS``. They are not computed as a batch, which takes a
    third longer to trace."""
    exact = STEPPERS[name](H, law="ncp", stop=Stop(1e-13))
    run = jax.jit(jax.value_and_grad(lambda x: result(exact, x), has_aux=True))
    outcomes = [jax.device_get(run(jnp.asarray(point))) for point in POINTS]
    (values, status), gradients = jax.tree.map(lambda *leaves: np.stack(leaves), *outcomes)
    assert not np.any(status)
    return values, gradients


@pytest.mark.parametrize("name", NAMES)
def test_gradient_and_single_precision(name: str) -> None:
    """The gradient agrees with central differences, and a batch in float32 has the values to its
    own precision."""
    values, gradients = slopes(name)
    difference = (values[1] - values[2]) / (2 * SIZE)
    assert np.abs(gradients[0]).min() > 1e-6
    np.testing.assert_allclose(gradients[0] @ DIRECTION, difference, rtol=1e-7)
    several = jax.jit(jax.vmap(lambda x: result(STEPPERS[name](H, law="ncp"), x)))
    single, failed = several(jnp.asarray(POINTS, jnp.float32))
    assert single.dtype == jnp.float32 and not np.any(failed)
    np.testing.assert_allclose(single, values, rtol=1e-5)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_a_batch_is_many_runs(name: str) -> None:
    """A batch agrees with single runs to rounding, which single precision shows of all steppers."""
    exact = STEPPERS[name](H, law="ncp", stop=Stop(1e-13))
    values, _ = jax.jit(jax.vmap(lambda x: result(exact, x)))(jnp.asarray(POINTS))
    np.testing.assert_allclose(values, slopes(name)[0], rtol=1e-13)


@pytest.mark.parametrize("dtype", [np.float32, pytest.param(np.float64, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", NAMES)
def test_a_step_leaves_what_it_takes(name: str, dtype: type) -> None:
    """A step's carry has the type of the one it takes, to the shape and precision of every
    number, so that a loop can carry it. The carry of ``init`` has the same type when run as when
    traced."""
    model, state = jax.tree.map(
        lambda x: x.astype(dtype) if jnp.issubdtype(x.dtype, jnp.floating) else x,
        ball_and_pendulum(),
    )
    stepper = STEPPERS[name](H)
    carry = stepper.init(model, state)

    def types(tree: object) -> list[tuple]:
        return [(x.shape, x.dtype) for x in jax.tree.leaves(tree)]

    assert types(jax.eval_shape(stepper.init, model, state)) == types(carry)
    after, _ = jax.eval_shape(stepper.advance, model, carry)
    assert jax.tree.structure(after) == jax.tree.structure(carry)
    assert types(after) == types(carry)
    floats = [kind for _, kind in types(after) if jnp.issubdtype(kind, jnp.floating)]
    assert set(floats) == {np.dtype(dtype)}
    single, _ = jax.eval_shape(stepper.step, model, state)
    assert types(single) == types(state)


@pytest.mark.parametrize("name", ["hht", *SIBLINGS, "rk4"])
def test_what_needs_a_single_cone_problem_refuses_other_steps(name: str) -> None:
    stepper, (model, state) = cast(Any, STEPPERS[name]()), ball_and_pendulum()
    with pytest.raises(ValueError, match="is no single cone problem"):
        describe_step(stepper, model, EulerImplicitLinearized().init(model, state))
    if name != "rk4":
        with pytest.raises(ValueError, match="is no single cone problem"):
            explain_gradient(model, state, stepper, 1)
