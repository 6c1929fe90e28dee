"""Test eliminated joints against joints solved by iteration, conservation laws and reactions."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import (
    EulerImplicitLinearized,
    Fixed,
    Model,
    ModelBuilder,
    Plane,
    Prismatic,
    Revolute,
    Sphere,
    Spherical,
    State,
    Stop,
    Universal,
    position_servo,
    rollout,
)
from jaxccp.ccp import Newton
from jaxccp.dynamics import StepReport

G, H, STEPS = 9.81, 2e-3, 40
CHAIN, HEAVY = 8, 30.0


def add_ball(builder: ModelBuilder, radius: float, mass: float, position: tuple, **options) -> int:
    """Add a ball that meets only the ground, and return its body."""
    body = builder.add_body(mass, Sphere(radius).inertia(mass), position, **options)
    builder.add_shape(body, Sphere(radius), mask=2)
    return body


def add_arm(builder: ModelBuilder) -> None:
    """Add an arm that reaches its limits and the ground."""
    upper = builder.add_body(1.0, (0.01, 0.01, 0.002), (0, 0, 0.6), name="upper")
    lower = builder.add_body(0.7, (0.007, 0.007, 0.002), (0, 0, 0.2), name="lower")
    hand = add_ball(builder, 0.06, 0.3, (0.1, 0, 0.06), name="hand")
    shoulder = Revolute((0, 1, 0), armature=0.01, damping=0.1, limits=(-0.3, 0.02))
    builder.add_joint(shoulder, 0, upper, (0, 0, 0.8), name="shoulder")
    builder.add_joint(Universal(), lower, upper, (0, 0, 0.4), name="elbow")
    rail = Prismatic((1, 0, 0), stiffness=20.0, friction=0.4)
    builder.add_joint(rail, lower, hand, (0, 0, 0.06), name="rail")
    builder.add_actuator(position_servo(5.0, 0.5), "shoulder", "unlimited")
    builder.add_actuator(position_servo(5.0, 0.5, (-0.4, 0.4)), "elbow.0", "limited")


def add_four_bar_linkage(builder: ModelBuilder) -> None:
    crank = builder.add_body(0.3, (0.001, 0.001, 0.001), (-0.05, 2, 2.1), name="crank")
    coupler = builder.add_body(0.5, (0.002, 0.01, 0.01), (0.15, 2, 2.25), name="coupler")
    rocker = builder.add_body(0.4, (0.004, 0.004, 0.001), (0.45, 2, 2.15), name="rocker")
    hinge = Revolute((0, 1, 0))
    builder.add_joint(hinge, 0, crank, (0, 2, 2), name="crank")
    builder.add_joint(hinge, crank, coupler, (-0.1, 2, 2.2), name="crank pin")
    builder.add_joint(hinge, coupler, rocker, (0.4, 2, 2.3), name="rocker pin")
    builder.add_joint(hinge, rocker, 0, (0.5, 2, 2), name="rocker")


@cache
def scene() -> tuple[Model, State]:
    """Build side by side an arm that reaches its limits and the ground, a linkage that falls on
    the ground and one that nothing touches, a four-bar linkage, and a chain with a heavy end."""
    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.add_shape(0, Plane(), group=2)

    add_arm(builder)
    for x, z in ((3.0, 0.11), (6.0, 40.0)):
        parts = []
        for i, where in enumerate(("front", "middle", "back")):
            place, moving = (x + 0.25 * i, 0, z), {"velocity": (0.3, 0.1 * i, 0)}
            name = f"{where} {x}"
            parts.append(add_ball(builder, 0.1, 0.8 + 0.1 * i, place, name=name, **moving))
        wrist = Revolute((0, 1, 0), stiffness=1.0, damping=0.01)
        builder.add_joint(Spherical(), parts[1], parts[0], (x + 0.12, 0, z))
        builder.add_joint(wrist, parts[1], parts[2], (x + 0.37, 0, z))

    add_four_bar_linkage(builder)
    above = 0
    for i in range(CHAIN):
        mass = HEAVY if i == CHAIN - 1 else 1.0
        inertia = (1e-3 * mass, 1e-3 * mass, 1e-3 * mass)
        link = builder.add_body(mass, inertia, (0, 4, 9.95 - 0.1 * i), name=f"link {i}")
        joint = Fixed() if i == 3 else Spherical()
        builder.add_joint(joint, above, link, (0, 4, 10 - 0.1 * i), name=f"link {i}")
        above = link
    return builder.build()


def run(eliminate: bool) -> tuple[State, StepReport]:
    """Return the states and the reports of every step; time is the first axis."""
    model, state = scene()
    solver = None if eliminate else Newton()
    stepper = EulerImplicitLinearized(
        H, solver=solver, stop=Stop(1e-11), coordinates="maximal", eliminate=eliminate
    )
    controls = jnp.broadcast_to(jnp.array([0.5, 1.0]), (STEPS, 2))
    _, trajectory = rollout(model, state, stepper, STEPS, controls=controls)
    return jax.device_get((trajectory.state, trajectory.report))


eliminated = cache(lambda: run(True))


def test_motion_and_reactions_are_those_of_iterating_over_all_rows() -> None:
    (state, report), (reference, iterated) = eliminated(), run(False)
    assert not report.solver.status.any()
    assert not iterated.solver.status.any()
    # What is compared is worth it: contacts, a limit, a servo and dry friction at their bounds.
    linkage = scene()[0].topology.linkage
    assert report.contacts.max() == 4
    assert state.joint_positions[-1, linkage.axis("shoulder")] == pytest.approx(0.02, abs=1e-9)
    assert abs(report.reactions[-1, linkage.joint("rail"), 0]) > 0.4
    for name in ("position", "quaternion", "velocity", "angular_velocity"):
        np.testing.assert_allclose(
            getattr(state, name), getattr(reference, name), rtol=0, atol=1e-9
        )
    np.testing.assert_allclose(report.reactions, iterated.reactions, rtol=1e-6, atol=1e-6)


def test_momentum_of_a_free_linkage() -> None:
    model, start = scene()
    state, _ = eliminated()
    parts = [model.topology.body(f"{where} 6.0") for where in ("front", "middle", "back")]
    mass = np.asarray(model.bodies.mass)[parts]
    velocity = np.concatenate([start.velocity[None], state.velocity])[:, parts]
    position = np.concatenate([start.position[None], state.position])[:, parts]
    linear = np.einsum("b,tbi->ti", mass, velocity)
    fallen = linear[0] - np.outer(H * G * np.arange(STEPS + 1), [0, 0, mass.sum()])
    np.testing.assert_allclose(linear, fallen, rtol=0, atol=1e-10)
    inertia = np.asarray(model.bodies.inertia)[parts, 0, 0]
    spin = np.concatenate([start.angular_velocity[None], state.angular_velocity])[:, parts]
    centre = np.einsum("b,tbi->ti", mass / mass.sum(), position)
    orbital = np.cross(position - centre[:, None], mass[:, None] * velocity).sum(1)
    total = orbital + np.einsum("b,tbi->ti", inertia, spin)
    np.testing.assert_allclose(total, total[:1].repeat(len(total), 0), rtol=0, atol=1e-10)
    assert np.abs(np.diff(spin, axis=0)).max() > 1e-3


def test_hanging_chain_stays_and_its_joints_carry_what_hangs_on_them() -> None:
    model, _ = scene()
    state, report = eliminated()
    links = [model.topology.body(f"link {i}") for i in range(CHAIN)]
    assert np.abs(state.velocity[:, links]).max() < 1e-12
    joints = [model.topology.linkage.joint(f"link {i}") for i in range(CHAIN)]
    weight = G * (HEAVY + CHAIN - 1 - np.arange(CHAIN))
    np.testing.assert_allclose(report.reactions[-1, joints, 2], weight, rtol=1e-12)
    np.testing.assert_allclose(np.abs(report.reactions[-1, joints, 3:]).max(), 0, atol=1e-9)


def test_four_bar_linkage_conserves_energy_to_first_order() -> None:
    model, start = scene()
    state, _ = eliminated()
    bars = [model.topology.body(name) for name in ("crank", "coupler", "rocker")]
    mass, inertia = np.asarray(model.bodies.mass)[bars], np.asarray(model.bodies.inertia)[bars]
    speed, spin = state.velocity[:, bars], state.angular_velocity[:, bars]
    kinetic = 0.5 * np.sum(speed**2, axis=2) @ mass
    kinetic += 0.5 * np.sum(spin[..., 1] ** 2 * inertia[:, 1, 1], axis=1)
    drop = start.position[bars, 2] - state.position[:, bars, 2]
    assert np.abs(spin[..., [0, 2]]).max() < 1e-9
    assert kinetic[-1] > 0.02
    # Symplectic Euler lags by half of what gravity does in one step.
    lag = H * G * np.abs(speed[-1, :, 2]) @ mass
    assert abs(kinetic[-1] - G * drop[-1] @ mass) < lag


DIFFERENTIATED = ("damping", "stiffness", "armature", "anchor", "velocity", "mass")


@cache
def arm_and_linkage() -> tuple[Model, State]:
    """Build the arm and the four-bar linkage alone, at the end of the motion of all mechanisms."""
    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.add_shape(0, Plane(), group=2)
    add_arm(builder)
    add_four_bar_linkage(builder)
    model, state = builder.build()
    every, (end, _) = scene()[0].topology, eliminated()
    bodies = np.array([every.body(name) for name in model.topology.bodies])
    axes = np.array([every.linkage.axis(name) for name in model.topology.linkage.axes])
    names = ("position", "quaternion", "velocity", "angular_velocity")
    late = {name: jnp.asarray(getattr(end, name)[-1, bodies]) for name in names}
    rotors = replace(
        state.rotors, rate=end.rotors.rate[-1, axes], twist=end.rotors.twist[-1, bodies]
    )
    coordinates = jnp.asarray(end.joint_positions[-1, axes])
    return model, replace(state, **late, joint_positions=coordinates, rotors=rotors)


def test_gradients_match_central_differences() -> None:
    """Gradients through a step with a contact, a limit, servos, dry friction and a redundant loop
    match central differences."""
    model, late = arm_and_linkage()
    stepper = EulerImplicitLinearized(
        H, solver="apgd", stop=Stop(1e-12), coordinates="maximal", eliminate=True
    )
    random = np.random.default_rng(1)
    weights = jnp.array(random.normal(size=(2, len(model.topology.bodies), 3)))

    def loss(parts: dict[str, jax.Array]) -> tuple[jax.Array, StepReport]:
        axes = replace(model.axes, **{name: parts[name] for name in DIFFERENTIATED[:3]})
        joints = replace(model.joints, anchor=parts["anchor"])
        bodies = replace(model.bodies, mass=parts["mass"])
        changed = replace(model, axes=axes, joints=joints, bodies=bodies)
        begin = replace(late, velocity=parts["velocity"])
        end, report = stepper.step(changed, begin, None, jnp.array([0.5, 1.0]))
        return jnp.sum(weights * jnp.stack([end.position, end.velocity])), report

    values = {name: getattr(model.axes, name) for name in DIFFERENTIATED[:3]}
    values |= {"anchor": model.joints.anchor, "velocity": late.velocity, "mass": model.bodies.mass}
    both = jax.jit(jax.value_and_grad(loss, has_aux=True))
    (_, report), gradient = both(values)
    assert report.solver.status == 0 and report.contacts == 1
    for name in DIFFERENTIATED:
        direction = random.normal(size=values[name].shape)
        if name in DIFFERENTIATED[:3]:
            direction *= np.asarray(values[name]) > 0
        if name == "anchor":
            # In the plane of the four-bar linkage, out of which its hinges would contradict.
            direction[..., 1] = 0.0
        size = 1e-6

        def at(t: float) -> float:
            return float(both(values | {name: values[name] + t * direction})[0][0])  # noqa: B023

        difference = (at(size) - at(-size)) / (2 * size)
        slope = float(np.sum(np.asarray(gradient[name]) * direction))
        assert slope == pytest.approx(difference, rel=1e-6, abs=1e-7), name
