"""Test loops and tendons of given length in reduced coordinates.

Their motion is that of maximal coordinates, with redundant rows too.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from jaxccp.ccp import Stop
from jaxccp.dynamics import EulerImplicitLinearized, StepReport, momentum, rollout
from jaxccp.dynamics.steppers.settings import Coordinates, ImpulseCarry
from jaxccp.model import (
    Coupling,
    Model,
    Plane,
    Prismatic,
    Revolute,
    Sphere,
    Spherical,
    State,
    TendonPath,
    Universal,
    joint_motion,
    motor,
    velocity_servo,
)
from jaxccp.scene import ModelBuilder
from jaxccp.scenes.loops import slider_crank

H, STEPS = 1e-3, 40
SIDE, RADIUS = 0.4, 0.05
CONTROL = jnp.asarray([2.0, -0.4, 3.0])


def frame(builder: ModelBuilder, x: float, z: float, **options) -> None:
    """Build a floating parallelogram of four bars; off-centre spheres under three of them touch the
    ground at z = 0. The hinge that closes it has a spring and a damper.

    Args:
        builder: builder to add to
        x: position of the first corner along x [m]
        z: height of the spheres' lowest points [m]
        **options: further arguments of ``add_body``
    """
    corners = np.array([[0, 0], [1, 0], [1.2, 1], [0.2, 1]]) * SIDE + [x, 0]
    bars = []
    for i in range(4):
        middle = 0.5 * (corners[i] + corners[(i + 1) % 4])
        mass = 0.5 + 0.2 * i
        bar = builder.add_body(
            mass, (0.01, 0.01, 0.015), (*middle, z + RADIUS), name=f"{z} bar{i}", **options
        )
        if i < 3:
            builder.add_shape(bar, Sphere(RADIUS), position=(0.05, 0.03 * i, 0), group=1, mask=2)
        bars.append(bar)
    for i in range(4):
        pin = (*corners[(i + 1) % 4], z + RADIUS)
        hinge = Revolute((0, 0, 1))
        if i % 2:
            hinge = Revolute((0, 0, 1), stiffness=4.0, rest=0.4, damping=0.05)
        builder.add_joint(hinge, bars[i], bars[(i + 1) % 4], pin, name=f"{z} pin{i}")


def spatial_loop(builder: ModelBuilder, y: float) -> None:
    """Build a loop in space of a universal joint, a ball and two hinges askew. Its joints leave
    one freedom, and another is the rotation of the bar between two balls about itself."""
    first = builder.add_body(1.0, (0.01, 0.02, 0.015), (0.2, y, 0), name="first")
    second = builder.add_body(0.8, (0.01, 0.01, 0.02), (0.4, y + 0.2, 0.1), name="second")
    third = builder.add_body(0.6, (0.02, 0.01, 0.01), (0.6, y + 0.1, 0.2), name="third")
    builder.add_joint(Revolute((0, 1, 0.3), damping=0.1), 0, first, (0, y, 0), name="low")
    builder.add_joint(Universal(), first, second, (0.4, y, 0.05), name="cross")
    builder.add_joint(Spherical(), second, third, (0.5, y + 0.3, 0.1), name="ball")
    builder.add_joint(Revolute((0.2, 1, 0), armature=0.01), third, 0, (0.8, y, 0.2), name="high")


@cache
def scene() -> tuple[Model, State]:
    """Build mechanisms that are each closed by a loop, a coupling or a cable; the frames float,
    one on the ground."""
    builder = ModelBuilder(gravity=(0, 0, -9.81))
    builder.add_shape(0, Plane(), group=2, mask=1)
    slider_crank(builder, (0, 2, 1))
    spatial_loop(builder, 4.0)
    frame(builder, 0.0, 0.0, velocity=(0.8, 0.3, 0))
    frame(builder, 0.0, 20.0, velocity=(0.1, 0, 1.0))
    wheels = [
        builder.add_body(1.0, (0.02, 0.02, 0.02), (x, 6, 1), name=f"wheel{x}") for x in (0, 1)
    ]
    for i, wheel in enumerate(wheels):
        builder.add_joint(Revolute((0, 1, 0)), 0, wheel, (i, 6, 1), name=f"wheel{i}")
    cart = builder.add_body(2.0, (0.01, 0.01, 0.01), (0, 7, 1), name="cart")
    builder.add_joint(Prismatic((1, 0, 0), friction=0.5), 0, cart, (0, 7, 1), name="cart")
    builder.add_tendon(Coupling({"wheel1": 1.0, "wheel0": 2.0}, length=0.0), "gear")
    builder.add_tendon(Coupling({"cart": 1.0, "wheel1": (0, 0.2, 0.1)}, length=0.0), "cam")
    bob = builder.add_body(1.0, (0.01, 0.02, 0.01), (0.8, 10, 0.4), name="bob")
    builder.add_tendon(TendonPath([(0, (0, 10, 1)), (bob, (0, 0, 0.1))], length=0.9434), "rod")
    builder.add_actuator(velocity_servo(5.0), "crank")
    builder.add_actuator(velocity_servo(9.0, force_limits=(-0.2, 0.2)), "high")
    builder.add_actuator(motor(), "wheel0")
    model, state = builder.build()
    assert len(model.topology.linkage.loops) == 4
    return model, state


@cache
def program(coordinates: Coordinates) -> Callable[[float], tuple[State, StepReport]]:
    """Return a compiled function that makes STEPS steps of a length given later, and gives the
    final state and the report of each step."""
    model, state = scene()

    @jax.jit
    def run(h: jax.Array) -> tuple[State, StepReport]:
        stepper = EulerImplicitLinearized(law="ncp", stop=Stop(1e-11), coordinates=coordinates)

        def step(carry: ImpulseCarry, _: None) -> tuple[ImpulseCarry, StepReport]:
            return stepper.advance(model, carry, None, CONTROL, h=h)

        carry, reports = lax.scan(step, stepper.init(model, state), None, length=STEPS)
        return carry.state, reports

    return run


@cache
def run(coordinates: Coordinates, h: float = H) -> tuple[State, StepReport]:
    final, report = jax.device_get(program(coordinates)(h))
    assert not np.any(report.solver.status)
    assert np.all(np.any(report.contact_wrenches, axis=(1, 2)))
    return final, report


def test_both_coordinates_give_the_same_motion_to_the_order_of_the_step() -> None:
    """Positions of both coordinates differ by h² of a step and t², and forces by h, for as many
    steps of half the length."""

    def differences(h: float) -> np.ndarray:
        (a, report_a), (b, report_b) = (run(kind, h) for kind in ("reduced", "maximal"))
        pairs = (
            (a.position, b.position),
            (a.twist, b.twist),
            (report_a.reactions[-1], report_b.reactions[-1]),
            (report_a.tendon_forces[-1], report_b.tendon_forces[-1]),
        )
        return np.array([np.abs(x - y).max() for x, y in pairs])

    coarse, fine = differences(H), differences(0.5 * H)
    assert np.all(coarse / fine > (3.4, 3.4, 1.7, 1.7)), (coarse, fine)
    assert np.all(fine < (2e-7, 2e-5, 1e-3, 1e-7)), fine


def test_loops_and_tendons_stay_closed() -> None:
    model, _ = scene()
    final, _ = run("reduced")
    motion = joint_motion(model, final)
    kept = model.topology.linkage.routing.bilateral
    spin = np.linalg.norm(final.angular_velocity, axis=1).max()
    miss = np.concatenate([motion.error, (motion.tendon.length - model.tendons.length)[kept]])
    # What a chord misses of an arc.
    assert 0 < np.abs(miss).max() < 0.5 * (H * spin) ** 2


def test_coordinates_after_a_step_are_those_of_its_poses() -> None:
    for coordinates in ("reduced", "maximal"):
        final, _ = run(coordinates)
        expected = joint_motion(scene()[0], final).coordinate
        np.testing.assert_allclose(final.joint_positions, expected, atol=1e-12)


def test_what_floats_keeps_its_momentum() -> None:
    model, start = scene()
    final, _ = run("reduced")
    flying = jnp.asarray([name.startswith("20.0") for name in model.topology.bodies])
    alone = replace(model, bodies=replace(model.bodies, mass=flying * model.bodies.mass))
    alone = replace(
        alone, bodies=replace(alone.bodies, inertia=flying[:, None, None] * model.bodies.inertia)
    )
    (linear_after, spin), (linear_before, first) = (momentum(alone, s) for s in (final, start))
    mass = float(np.sum(alone.bodies.mass))
    fall = mass * H * STEPS * np.array([0, 0, -9.81])
    np.testing.assert_allclose(linear_after, linear_before + fall, atol=1e-10)
    place = np.asarray(alone.bodies.mass) @ np.asarray(final.position)
    old = np.asarray(alone.bodies.mass) @ np.asarray(start.position)
    np.testing.assert_allclose(
        spin - np.cross(place, linear_after) / mass,
        first - np.cross(old, linear_before) / mass,
        atol=1e-10,
    )
    angle = final.joint_positions[model.topology.linkage.axis("20.0 pin1")]
    assert abs(angle) > 0.05


@cache
def hanging() -> tuple[Model, State]:
    """Build a model that comes to rest: a planar linkage suspended at both ends, which three
    redundant rows close, a bob that a rod connects to its coupler, and a wheel on gears."""
    builder = ModelBuilder(gravity=(0, 0, -9.81))
    ends = np.array([[0, 0, 0], [0.1, 0, -0.3], [0.5, 0, -0.35], [0.6, 0, 0]])
    above = 0
    for i in range(3):
        middle = 0.5 * (ends[i] + ends[i + 1])
        bar = builder.add_body(0.5 + 0.2 * i, (0.01, 0.02, 0.015), middle, name=f"bar{i}")
        hinge = Revolute((0, 1, 0), damping=0.4, stiffness=0.5 * i)
        builder.add_joint(hinge, above, bar, ends[i], name=f"pin{i}")
        above = bar
    builder.add_joint(Revolute((0, 1, 0), damping=0.2), 0, above, ends[3], name="end")
    bob = builder.add_body(0.4, (0.01, 0.01, 0.01), (0.2, 0.1, -0.8), name="bob")
    ball = Spherical(damping=0.3)
    builder.add_joint(ball, 0, bob, (0.2, 0.1, -0.5), name="hung")
    points = [("bar1", (0, 0, 0)), (bob, (0, 0, 0.1))]
    length = float(np.linalg.norm(np.array([0.2, 0.1, -0.7]) - 0.5 * (ends[1] + ends[2])))
    builder.add_tendon(TendonPath(points, length=length), "rod")
    wheel = builder.add_body(1.0, (0.02, 0.02, 0.02), (1, 0, 0.05), name="wheel")
    builder.add_joint(Revolute((0, 1, 0)), 0, wheel, (1, 0, 0), name="wheel")
    builder.add_tendon(Coupling({"wheel": 1.0, "pin0": -2.0}, length=0.0), "gear")
    return builder.build()


@cache
def hanging_program(coordinates: Coordinates) -> Callable:
    """Return a compiled function of a model of ``hanging``, its state, the length of the steps and
    their number, which gives the final state, the reactions and forces of tendons in the last step
    and their means over all, and the worst status."""

    @jax.jit
    def run(model: Model, state: State, h: jax.Array, steps: jax.Array):
        stepper = EulerImplicitLinearized(coordinates=coordinates, stop=Stop(1e-12))

        def step(_: int, carried: tuple) -> tuple:
            carry, report = stepper.advance(model, carried[0], h=h)
            forces = report.reactions, report.tendon_forces
            means = jax.tree.map(lambda mean, x: mean + x / steps, carried[2], forces)
            return carry, forces, means, jnp.maximum(carried[3], report.solver.status)

        linkage = model.topology.linkage
        none = jnp.zeros((len(linkage.joints), 6)), jnp.zeros(len(linkage.routing.tendons))
        start = (stepper.init(model, state), none, none, jnp.int32(0))
        carry, *forces, status = lax.fori_loop(0, steps, step, start)
        return carry.state, *forces, status

    return run


def test_rest_is_the_same() -> None:
    """Velocities, positions and all forces of both coordinates agree at rest to 1e-9, those that
    redundant rows share included."""
    model, state = hanging()
    ends = []
    for coordinates in ("reduced", "maximal"):
        final, forces, _, status = hanging_program(coordinates)(model, state, 2e-2, 2000)
        assert np.abs(final.twist).max() < 1e-9 and status == 0
        ends.append((final.position, *forces))
    assert np.abs(ends[0][2]).min() > 1e-3
    for a, b in zip(*ends, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-9)


DIFFERENTIATED = ("mass", "velocity", "stiffness", "damping", "length", "control")


@cache
def motion() -> tuple[dict[str, jax.Array], Callable]:
    """Return the numbers that a few steps depend on, and a function of them that gives a scalar
    of the motion and its forces, with contact, dry friction, a limited servo and redundant
    loops."""
    model, _ = scene()
    start = jax.tree.map(jnp.asarray, run("reduced")[0])
    stepper = EulerImplicitLinearized(H, law="ncp", stop=Stop(1e-13))
    weight = jnp.asarray(np.random.default_rng(5).normal(size=start.position.shape))

    def end(x: dict[str, jax.Array]) -> jax.Array:
        axes = replace(model.axes, stiffness=x["stiffness"], damping=x["damping"])
        m = replace(model, axes=axes, bodies=replace(model.bodies, mass=x["mass"]))
        m = replace(m, tendons=replace(m.tendons, length=x["length"]))
        s = replace(start, velocity=x["velocity"])
        final, path = rollout(m, s, stepper, 3, None, jnp.tile(x["control"], (3, 1)), every=3)
        forces = jnp.sum(jnp.sin(jnp.arange(24.0)) * path.report.reactions[0, :4].reshape(-1))
        return jnp.sum(weight * (final.position + 0.1 * final.velocity)) + 1e-3 * forces

    values = {
        "mass": model.bodies.mass,
        "velocity": start.velocity,
        "stiffness": model.axes.stiffness,
        "damping": model.axes.damping,
        "length": model.tendons.length,
        "control": CONTROL,
    }
    return values, end


@cache
def backward() -> Callable:
    """Return a compiled function that gives the scalar of ``motion`` and its gradient: one
    program for all numbers."""
    return jax.jit(jax.value_and_grad(motion()[1]))


def direction_of(what: str) -> np.ndarray:
    values, _ = motion()
    direction = np.random.default_rng(7).normal(size=values[what].shape)
    if what in ("mass", "stiffness", "damping"):
        direction *= np.asarray(values[what]) > 0
    return direction


@pytest.mark.parametrize("what", DIFFERENTIATED)
def test_derivatives_agree_with_central_differences(what: str) -> None:
    """Reverse mode, which is forward mode transposed, agrees with central differences."""
    (values, _), direction = motion(), direction_of(what)
    h = 1e-5  # The solver's tolerance is in the forces as many times as 1/h.
    ahead, behind = (
        backward()(values | {what: values[what] + sign * h * direction})[0] for sign in (1, -1)
    )
    secant = float(ahead - behind) / (2 * h)
    slope = np.sum(np.asarray(backward()(values)[1][what]) * direction)
    assert slope == pytest.approx(secant, rel=1e-6, abs=1e-8)


@pytest.mark.long
def test_forward_mode_is_reverse_mode() -> None:
    values, end = motion()
    forward = jax.jit(lambda tangent: jax.jvp(end, (values,), (tangent,))[1])
    for what in DIFFERENTIATED:
        tangent = jax.tree.map(jnp.zeros_like, values) | {what: jnp.asarray(direction_of(what))}
        slope = np.sum(np.asarray(backward()(values)[1][what]) * np.asarray(tangent[what]))
        assert forward(tangent) == pytest.approx(slope, rel=1e-9)


def test_single_precision() -> None:
    """Redundant rows are detected in float32 too. Gravity is tilted, so that the linkage moves.

    Errors of loops are known to some eps · 1 m, velocities to that over h, forces over h².
    """
    h, steps = 1e-2, 50
    model, start = hanging()
    model = replace(model, gravity=jnp.asarray([4.0, 1.0, -9.0]))
    final, _, (reactions, _), status = hanging_program("reduced")(model, start, h, steps)
    assert status == 0
    ends = [(final.position, final.twist, reactions, joint_motion(model, final).error)]
    model, start = jax.tree.map(
        lambda x: x.astype(np.float32) if jnp.issubdtype(x.dtype, jnp.floating) else x,
        (model, start),
    )
    final, path = rollout(model, start, EulerImplicitLinearized(h), steps, every=steps)
    assert final.position.dtype == np.float32 and not np.any(path.report.solver.status)
    error = joint_motion(model, final).error
    ends.append((final.position, final.twist, path.report.reactions[0], error))
    assert np.abs(ends[0][1]).max() > 0.1
    eps = 20 * np.finfo(np.float32).eps
    for a, b, tolerance in zip(*ends, (eps, eps / h, eps / h**2, eps), strict=True):
        np.testing.assert_allclose(a, b, atol=tolerance)


def test_trees_know_nothing_of_loops() -> None:
    """A program of trees alone has no factors of loops' rows."""
    builder = ModelBuilder()
    bob = builder.add_body(1.0, (0.01, 0.01, 0.01), (0, 0, -1))
    builder.add_joint(Revolute((0, 1, 0), limits=(-1, 1)), 0, bob, (0, 0, 0))
    tree, loops = builder.build(), hanging()
    step = EulerImplicitLinearized().step
    assert "custom_linear_solve" not in str(jax.make_jaxpr(step)(*tree))
    assert "custom_linear_solve" in str(jax.make_jaxpr(step)(*loops))
