"""Sensors of the force and torque between a body and its parent, as a load cell shows them."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.dynamics.inertia import world_inertia
from jaxccp.dynamics.rows.servo import rate_independent
from jaxccp.math import quaternion
from jaxccp.math.linear3 import cross
from jaxccp.model.kinematics.joint_motion import joint_frames
from jaxccp.sensors.reading import Index, Reading, rotate_into


def force(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the force that the parent exerts on a body with its descendants, in the axes of the
    sensor's frame [N]."""
    return _in_frame(r, i, frame_wrench(r, i)[0])


def torque(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the torque that the parent exerts on a body with its descendants, about the origin of
    the sensor's frame, in its axes [N m]."""
    return _in_frame(r, i, frame_wrench(r, i)[1])


def frame_wrench(r: Reading, i: Index) -> tuple[Float[Array, "n 3"], Float[Array, "n 3"]]:
    """Return the force [N] and the torque [N m], about the frames' origins, that parents exert,
    world axes.

    They follow from Newton's and Euler's laws, with gravity, contacts, joints that close loops and
    tendons along paths, as in MuJoCo (``mj_rnePostConstraint``).

    Args:
        r: inputs of the sensors.
        i: index of each sensor.
    """
    details = [r.sensor_scopes[sensor] for sensor in i]
    bodies_, shapes_ = (
        np.stack([getattr(d, name) for d in details]) for name in ("bodies", "shapes")
    )
    needed = _needed(r)
    wrench = jnp.asarray(bodies_, needed.dtype) @ needed + _parts(r, i)
    wrench = wrench - _contacts(r, shapes_) - _loops(r, bodies_) - _tendons(r, bodies_)
    force, about_origin = wrench[:, :3], wrench[:, 3:]
    return force, about_origin - cross(r.frames[0].position[i], force)


def _in_frame(r: Reading, i: Index, vector: Float[Array, "n 3"]) -> Float[Array, "n 3"]:
    return rotate_into(jax.tree.map(lambda part: part[i], r.frames[0]), vector)


def _about_origin(force: Array, torque: Array, point: Array) -> Array:
    """Return wrenches about the world's origin, given force and torque at points."""
    return jnp.concatenate([force, torque + cross(point, force)], axis=-1)


def _needed(r: Reading) -> Float[Array, "nb 6"]:
    """Return the wrench that each body needs for its acceleration in addition to gravity, about the
    world's origin [N, N m]."""
    assert r.acceleration is not None
    state, model = r.state, r.model
    mass = jnp.where(jnp.asarray(model.topology.free), model.bodies.mass, 0.0)[:, None]
    tensor = world_inertia(model, quaternion.to_matrix(state.quaternion))
    tensor = jnp.where(mass[:, :, None] > 0, tensor, 0.0)
    torque = _euler_torque(tensor, r.acceleration[:, 3:], state.angular_velocity)
    force = mass * (r.acceleration[:, :3] - model.gravity)
    return _about_origin(force, torque, state.position)


def _euler_torque(tensor: Array, rate: Array, spin: Array) -> Array:
    momentum = jnp.einsum("bij,bj->bi", tensor, spin)
    return jnp.einsum("bij,bj->bi", tensor, rate) + cross(spin, momentum)


def _parts(r: Reading, i: Index) -> Float[Array, "n 6"]:
    """Return the wrench that the part of a body which each sensor carries needs for its
    acceleration in addition to gravity, about the world's origin [N, N m]."""
    assert r.acceleration is not None
    details = [r.sensor_scopes[sensor] for sensor in i]
    body = np.array([d.body for d in details])
    orientation = quaternion.to_matrix(r.state.quaternion[body])
    dtype = orientation.dtype
    mass, centre, inertia = (
        jnp.asarray(np.stack([getattr(d, name) for d in details]), dtype)
        for name in ("mass", "centre", "inertia")
    )
    arm = jnp.einsum("nij,nj->ni", orientation, centre)
    spin, acceleration = r.state.angular_velocity[body], r.acceleration[body]
    linear = acceleration[:, :3] + cross(acceleration[:, 3:], arm) + cross(spin, cross(spin, arm))
    tensor = jnp.einsum("nij,njk,nlk->nil", orientation, inertia, orientation)
    return _about_origin(
        mass[:, None] * (linear - r.model.gravity),
        _euler_torque(tensor, acceleration[:, 3:], spin),
        r.state.position[body] + arm,
    )


def _contacts(r: Reading, shapes_: np.ndarray) -> Float[Array, "n 6"]:
    """Return the wrench of all contacts on the shapes of each sensor, about the world's origin."""
    contacts = r.contacts
    wrench = _about_origin(contacts.force, contacts.torque, contacts.point)
    wrench = jnp.where(contacts.live[:, None], wrench, 0.0)
    counted_ = jnp.asarray(shapes_, wrench.dtype)[:, contacts.shapes]
    return (counted_[:, :, 1] - counted_[:, :, 0]) @ wrench


def _loops(r: Reading, bodies_: np.ndarray) -> Float[Array, "n 6"]:
    """Return the wrench of joints that close loops on the bodies of each sensor, about the world's
    origin."""
    linkage = r.model.topology.linkage
    loops = linkage.loops
    if not len(loops):
        return jnp.zeros((len(bodies_), 6), r.state.position.dtype)
    reactions = r.step_report.reactions[loops]
    origin = joint_frames(r.model, r.state)[1][loops, 1]
    counted_ = jnp.asarray(bodies_, reactions.dtype)[:, linkage.bodies[loops]]
    return (counted_[:, :, 1] - counted_[:, :, 0]) @ _about_origin(
        reactions[:, :3], reactions[:, 3:], origin
    )


def _tendons(r: Reading, bodies_: np.ndarray) -> Float[Array, "n 6"]:
    """Return the wrench of tendons along paths on the bodies of each sensor, about the world's
    origin. Those of couplings act along joints, which transmit them."""
    linkage, state = r.model.topology.linkage, r.state
    paths, count = np.unique(linkage.routing.segments[:, 0]), len(linkage.axes)
    if not len(paths):
        return jnp.zeros((len(bodies_), 6), state.position.dtype)
    # Servos are rows of the tendon, and in its force already, unless it does not depend on rates.
    applied = np.ones(len(linkage.actuated), bool)
    applied[linkage.servos] = False
    applied = jnp.asarray(applied) | rate_independent(r.model.actuators)
    motors = jnp.where(applied, r.model.actuators.gear * r.forces, 0.0)
    force = jnp.concatenate([jnp.zeros(count, motors.dtype), r.step_report.tendon_forces])
    force = force.at[linkage.actuated].add(motors)[count + paths]
    wrench = r.step.body_wrenches(count + paths, force)
    wrench = _about_origin(wrench[:, :3], wrench[:, 3:], state.position)
    return jnp.asarray(bodies_, wrench.dtype) @ wrench
