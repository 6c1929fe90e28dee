"""Test that closed loops with redundant rows stay closed, against plane and space geometry."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from scipy.spatial.transform import Rotation

from jaxccp.ccp import Stop
from jaxccp.dynamics import EulerImplicitLinearized, rollout
from jaxccp.model import Model, State, joint_motion, position_servo, velocity_servo
from jaxccp.scene import ModelBuilder
from jaxccp.scenes.loops import jansen_leg, jansen_points, slider_crank, stewart_platform

H, STEPS, EVERY = 2e-3, 600, 20
SPEED = 2 * np.pi
REACH = np.array([0.05, -0.04, 0.03, 0.0, 0.02, -0.03])
"""Target lengths of the platform's legs, relative to the start [m]."""
WALKS = np.array([0.0, 20.0, 0.0])


@cache
def scene() -> tuple[Model, State]:
    builder = ModelBuilder()
    slider_crank(builder, (0, 0, 0))
    stewart_platform(builder, (0, 10, 0))
    jansen_leg(builder, tuple(WALKS))
    builder.add_actuator(velocity_servo(50.0), "crank")
    builder.add_actuator(velocity_servo(50.0), "leg crank centre")
    for i in range(6):
        builder.add_actuator(position_servo(4e3, 200.0), f"leg{i}")
    return builder.build()


@cache
def record():
    model, state = scene()
    control = jnp.asarray([SPEED, SPEED, *REACH])
    controls = jnp.broadcast_to(control, (STEPS, len(control)))
    stepper = EulerImplicitLinearized(H, stop=Stop(1e-10))
    _, path = rollout(model, state, stepper, STEPS, controls=controls, every=EVERY)
    motion = jax.jit(jax.vmap(joint_motion, (None, 0)))(model, path.state)
    return jax.device_get((path.state, motion, path.report.solver.status))


def coordinate_of(name: str) -> np.ndarray:
    return record()[1].coordinate[:, scene()[0].topology.linkage.axis(name)]


def test_loops_stay_closed() -> None:
    states, motion, status = record()
    assert not np.any(status)
    spin = np.linalg.norm(states.angular_velocity, axis=2).max()
    # What a chord misses of the arc of the longest bar.
    assert np.abs(motion.error).max() < 0.5 * (H * spin) ** 2


def test_slider_crank() -> None:
    angle, slid = coordinate_of("crank"), coordinate_of("slider")
    assert angle[-1] > 2 * np.pi
    expected = 0.1 * np.cos(angle) + np.sqrt(0.3**2 - (0.1 * np.sin(angle)) ** 2)
    np.testing.assert_allclose(slid + 0.4, expected, atol=1e-4)


def test_leg_walks_as_its_circles_meet() -> None:
    """The centres of two bars are right at every angle of the crank, whose rotation about y is
    negative."""
    states, model = record()[0], scene()[0]
    angle = coordinate_of("leg crank centre")
    assert angle[-1] > 2 * np.pi
    for name, pins in (("foot", ("ankle", "heel", "foot")), ("upper", ("fixed", "knee", "hip"))):
        actual = states.position[:, model.topology.body(f"leg {name}")] - WALKS
        points = [jansen_points(-crank_angle) for crank_angle in angle]
        expected = [np.mean([at[pin] for pin in pins], axis=0) for at in points]
        np.testing.assert_allclose(actual[:, [0, 2]], expected, atol=1e-3)
        np.testing.assert_allclose(actual[:, 1], 0, atol=1e-9)


def test_platform_is_where_its_legs_reach() -> None:
    """The lengths of the legs, computed from the platform's pose in numpy, agree with the
    joints' coordinates."""
    model, state = scene()
    bodies, linkage = model.topology, model.topology.linkage
    heads = np.asarray(model.joints.anchor)[[linkage.joint(f"head{i}") for i in range(6)], 1]
    feet = np.asarray(model.joints.anchor)[[linkage.joint(f"foot{i}") for i in range(6)], 0]
    index = bodies.body("platform")

    def lengths(position: np.ndarray, orientation: np.ndarray) -> np.ndarray:
        rotation = Rotation.from_quat(np.array(orientation), scalar_first=True)
        return np.linalg.norm(position + rotation.apply(heads) - feet, axis=1)

    states = record()[0]
    start = lengths(np.asarray(state.position[index]), np.asarray(state.quaternion[index]))
    end = lengths(states.position[-1, index], states.quaternion[-1, index])
    extension = np.array([coordinate_of(f"leg{i}")[-1] for i in range(6)])
    np.testing.assert_allclose(extension, end - start, atol=1e-5)
    # The servos carry the weight by what is left to go.
    np.testing.assert_allclose(extension, REACH, atol=5e-3)
