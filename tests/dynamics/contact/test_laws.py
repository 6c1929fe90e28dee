"""Test force laws and imposed lengths of tendons against analytic mechanics and quadrature."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from jax.tree_util import Partial
from scipy.integrate import solve_ivp

from jaxccp.dynamics import (
    EulerImplicitLinearized,
    EulerImplicitProjected,
    Trajectory,
    accelerations,
    rollout,
)
from jaxccp.model import (
    Actuator,
    Coupling,
    Model,
    Prismatic,
    Revolute,
    State,
    TendonPath,
    forward_kinematics,
)
from jaxccp.scene import ModelBuilder

G, H, STEPS, MASS, INERTIA = 9.81, 1e-3, 500, 2.0, 0.02
CUBIC, LOSS = 300.0, 1.5
SLOPE = 20.0
AMPLITUDE, PULSE = 0.4, 3.0
STEPPERS = {"linearized": EulerImplicitLinearized(H), "projected": EulerImplicitProjected(H)}


def hardening(k: Array, c: Array, x: Array, v: Array, t: Array) -> Array:
    return -k * x**3 - c * v


def shaking_force(x: Array, v: Array, t: Array) -> Array:
    return 5 * jnp.sin(10 * t)


def toppling(x: Array, v: Array, t: Array) -> Array:
    return SLOPE * x


def swing(t: Array) -> Array:
    return AMPLITUDE * jnp.sin(PULSE * t)


def reach(speed: Array, t: Array) -> Array:
    return 1 + speed * t


@cache
def scene() -> tuple[Model, State]:
    builder = ModelBuilder(gravity=(0, 0, -G))

    def cart(name: str, y: float, place: float = 0.0) -> int:
        body = builder.add_body(MASS, (0.01,) * 3, (place, y, 0), name=name)
        builder.add_joint(Prismatic((1, 0, 0)), 0, body, (0, y, 0), name=name)
        return body

    for i, (name, k) in enumerate((("soft", CUBIC), ("hard", 4 * CUBIC))):
        cart(name, i)
        builder.add_tendon(Coupling({name: 1.0}, law=Partial(hardening, k, LOSS)), f"{name} law")
    cart("shaken", 2)
    builder.add_tendon(Coupling({"shaken": 1.0}, law=shaking_force), "shaker")
    cart("toppling", 3)
    builder.add_tendon(Coupling({"toppling": 1.0}, law=toppling), "push")
    cart("servoed", 5)
    builder.add_tendon(Coupling({"servoed": 1.0}), "drive")
    servo = Actuator(gain=50.0, stiffness=50.0, damping=2.0, gear=2.0)
    builder.add_actuator(servo, "drive")
    wheel = builder.add_body(1.0, (INERTIA,) * 3, (0, 4, 0), name="wheel")
    builder.add_joint(Revolute((0, 0, 1)), 0, wheel, (0, 4, 0), name="wheel")
    builder.add_tendon(Coupling({"wheel": 1.0}, length=swing), "crank")
    weight = builder.add_body(MASS, (0.01,) * 3, (0, 6, -1), name="hung")
    points = [(0, (0, 6, 0)), (weight, (0, 0, 0))]
    builder.add_tendon(TendonPath(points, length=Partial(reach, 0.5)), "winch")
    model, state = builder.build()
    start = jnp.zeros(len(model.topology.linkage.axes))
    for name in ("soft", "hard", "toppling", "servoed"):
        start = start.at[model.topology.linkage.axis(name)].set(0.3)
    placed = forward_kinematics(model, state, start, start.at[:].set(0.0))
    wheel_rate = placed.angular_velocity.at[wheel, 2].set(AMPLITUDE * PULSE)
    falling = placed.velocity.at[weight, 2].set(-0.5)
    return model, replace(placed, angular_velocity=wheel_rate, velocity=falling)


@cache
def record(name: str) -> Trajectory:
    model, state = scene()
    return jax.device_get(rollout(model, state, STEPPERS[name], STEPS)[1])


@pytest.fixture(params=STEPPERS)
def path(request: pytest.FixtureRequest) -> Trajectory:
    return record(request.param)


def slid(path: Trajectory, name: str) -> np.ndarray:
    return np.asarray(path.state.position)[:, scene()[0].topology.body(name), 0]


def force(path: Trajectory, name: str) -> np.ndarray:
    index = scene()[0].topology.linkage.tendon(name)
    return np.asarray(path.report.tendon_forces)[:, index]


TIME = H * np.arange(1, STEPS + 1)


@pytest.mark.parametrize(("name", "k"), [("soft", CUBIC), ("hard", 4 * CUBIC)])
def test_hardening_springs_of_one_law(path: Trajectory, name: str, k: float) -> None:
    """The motion follows the linearly implicit Euler rule to rounding, and so the differential
    equation to O(h).

    Args:
        path: trajectory of the scene
        name: name of the cart
        k: coefficient of the cubic spring [N/m³]
    """
    place, speed, steps = 0.3, 0.0, []
    for _ in TIME:
        resisting = H * LOSS + H * H * 3 * k * place**2
        speed = (MASS * speed - H * k * place**3) / (MASS + resisting)
        steps.append((k * place**3 + resisting / H * speed, place := place + H * speed))
    expected = np.array(steps)
    np.testing.assert_allclose(slid(path, name), expected[:, 1], atol=1e-9)
    np.testing.assert_allclose(force(path, f"{name} law"), -expected[:, 0], atol=1e-6)
    exact = solve_ivp(
        lambda _, y: [y[1], (-k * y[0] ** 3 - LOSS * y[1]) / MASS], (0, TIME[-1]), [0.3, 0.0],
        t_eval=TIME, rtol=1e-10, atol=1e-12,
    ).y[0]  # fmt: skip
    np.testing.assert_allclose(slid(path, name), exact, atol=10 * H)


def test_force_of_time_is_that_of_the_end_of_each_step(path: Trajectory) -> None:
    np.testing.assert_allclose(force(path, "shaker"), 5 * np.sin(10 * TIME), atol=1e-12)
    rate = np.cumsum(5 * np.sin(10 * TIME)) * H / MASS
    np.testing.assert_allclose(slid(path, "shaken"), np.cumsum(rate) * H, atol=1e-12)


def test_negative_stiffness(path: Trajectory) -> None:
    place = 0.3 * np.cosh(np.sqrt(SLOPE / MASS) * TIME)
    np.testing.assert_allclose(slid(path, "toppling"), place, rtol=5 * H)
    np.testing.assert_allclose(force(path, "push"), SLOPE * place, rtol=10 * H)


def test_force_of_a_geared_servo_along_its_tendon(path: Trajectory) -> None:
    """The reported force of a geared servo is the body's change of momentum: it moves with the
    velocity that the step's impulse has given it."""
    change = np.diff(np.diff(slid(path, "servoed"), prepend=0.3), prepend=0.0) / H
    np.testing.assert_allclose(force(path, "drive"), MASS * change / H, atol=1e-6)
    assert force(path, "drive").min() < -10


def test_imposed_rotation_and_its_torque(path: Trajectory) -> None:
    spin = np.asarray(path.state.angular_velocity)[:, scene()[0].topology.body("wheel"), 2]
    steps = np.diff(swing(jnp.append(0.0, TIME)))
    np.testing.assert_allclose(spin, steps / H, atol=1e-6)
    # A second difference: the mean over a step of what acts a step before its end.
    torque = -INERTIA * AMPLITUDE * PULSE**2 * np.sin(PULSE * (TIME - H))
    np.testing.assert_allclose(force(path, "crank")[1:], torque[1:], atol=1e-5)


def test_rod_that_gets_longer(path: Trajectory) -> None:
    """A rod that lowers a body at constant speed carries its weight."""
    depth = np.asarray(path.state.position)[:, scene()[0].topology.body("hung"), 2]
    np.testing.assert_allclose(depth, -1 - 0.5 * TIME, atol=1e-9)
    np.testing.assert_allclose(force(path, "winch"), -MASS * G, rtol=1e-6)


def test_stiff_law_is_implicit() -> None:
    """A law a million times stiffer than an explicit step of this length would bear is stable."""
    builder = ModelBuilder(gravity=(0, 0, -G))
    body = builder.add_body(1.0, (0.01,) * 3)
    builder.add_joint(Prismatic(), 0, body, name="up")
    builder.add_tendon(Coupling({"up": 1.0}, law=lambda x, v, t: -4e12 * x), "floor")
    model, state = builder.build()
    after, path = rollout(model, state, EulerImplicitLinearized(H), 20)
    assert float(after.position[body, 2]) == pytest.approx(-G / 4e12, rel=1e-6)
    np.testing.assert_allclose(path.report.tendon_forces[-1], G, rtol=1e-9)


def test_accelerations() -> None:
    """Accelerations are those of the laws as they stand, and of imposed motion its second
    derivative."""
    model, state = scene()
    later = replace(state, time=jnp.asarray(0.2))
    computed = jax.jit(accelerations)(model, later)
    axes = model.topology.linkage
    expected = {
        "soft": -CUBIC * 0.3**3 / MASS,
        "shaken": 5 * np.sin(10 * 0.2) / MASS,
        "toppling": SLOPE * 0.3 / MASS,
        "wheel": -AMPLITUDE * PULSE**2 * np.sin(PULSE * 0.2),
    }
    for name, value in expected.items():
        assert computed.axis[axes.axis(name)] == pytest.approx(value, rel=1e-9), name
    np.testing.assert_allclose(computed.body[model.topology.body("hung"), :3], 0, atol=1e-9)


def with_stiffness(model: Model, k: Array) -> Model:
    """Return the model with the given stiffness [2] of its two hardening springs."""
    tendons = model.tendons
    (group,) = (i for i, members in enumerate(tendons.laws.tendons) if len(members) == 2)
    groups = list(tendons.laws.groups)
    law = groups[group]
    assert isinstance(law, Partial)
    assert law.args[0].shape == k.shape
    groups[group] = Partial(law.func, k, *law.args[1:])
    return replace(
        model, tendons=replace(tendons, laws=replace(tendons.laws, groups=tuple(groups)))
    )


def test_parameters_are_differentiated() -> None:
    """Derivatives by the parameters of two springs of one law agree with central differences."""
    model, state = scene()
    bodies = np.array([model.topology.body(name) for name in ("soft", "hard")])

    def speed(k: Array) -> Array:
        stepper = EulerImplicitLinearized(H)
        return stepper.step(with_stiffness(model, k), state)[0].velocity[bodies, 0]

    @jax.jit
    def both(k: Array) -> tuple[Array, Array]:
        value, back = jax.vjp(speed, k)
        return value, jax.vmap(back)(jnp.eye(2))[0]

    start = jnp.asarray([CUBIC, 4 * CUBIC])
    _, slopes = both(start)
    differences = [(both(start + d)[0] - both(start - d)[0]) / 2.0 for d in jnp.eye(2)]
    np.testing.assert_allclose(slopes, jnp.stack(differences, axis=1), atol=1e-14, rtol=1e-6)
    assert np.all(np.diag(slopes) < 0)


def test_float32_batch_of_parameters() -> None:
    """A batch in single precision, of which a copy has the springs of the carts swapped, agrees
    with the motion in double precision."""
    bodies = np.array(
        [scene()[0].topology.body(what) for what in ("soft", "hard", "wheel", "hung")]
    )
    model, start = jax.tree.map(
        lambda leaf: leaf.astype(jnp.float32) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf,
        scene(),
    )
    several, steps = jnp.asarray([[CUBIC, 4 * CUBIC], [4 * CUBIC, CUBIC]], jnp.float32), 100
    stepper = EulerImplicitLinearized(H)
    after = jax.vmap(lambda k: rollout(with_stiffness(model, k), start, stepper, steps)[0])(several)
    assert after.position.dtype == jnp.float32
    single = np.concatenate([after.position[:, bodies], after.angular_velocity[:, bodies]], -1)

    exact = record("linearized").state
    position, spin = exact.position[steps - 1, bodies], exact.angular_velocity[steps - 1, bodies]
    swapped = position.copy()
    swapped[[0, 1], 0] = position[[1, 0], 0]
    for copy, place in zip(single, (position, swapped), strict=True):
        np.testing.assert_allclose(copy, np.concatenate([place, spin], axis=-1), atol=1e-4)
    assert np.ptp(single[:, 0, 0]) > 1e-3
    assert single[0, 0, 0] == pytest.approx(single[1, 1, 0], abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"law": 3.0}, "Coupling: law must be a function, not 3.0"),
        ({"law": lambda x, v: -x}, "Coupling: law must be a function of 3 scalars that JAX can"),
        ({"law": lambda x, v, t: -x if x > 0 else x}, "jnp.where in place of if"),
        ({"law": lambda x, v, t: jnp.stack([x, v])}, "Coupling: law must give one number, not"),
        ({"length": lambda: 1.0}, "Coupling: length must be a function of 1 scalar that JAX can"),
    ],
)
def test_functions_that_are_none(arguments: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Coupling({"up": 1.0}, **arguments)


def test_bodies_must_be_where_a_motion_starts() -> None:
    builder = ModelBuilder()
    body = builder.add_body(1.0, (0.01,) * 3, (0, 0, -1))
    builder.add_tendon(
        TendonPath([(0, (0, 0, 0)), (body, (0, 0, 0))], length=lambda t: 2 + t), "rod"
    )
    with pytest.raises(ValueError, match="tendon 'rod': it is 1 m or rad from the length"):
        builder.build()
