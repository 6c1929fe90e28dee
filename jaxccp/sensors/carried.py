"""Sensors of the force by which a body is carried: what moves it less what else acts on it."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.dynamics.inertia import world_inertia
from jaxccp.math import quaternion
from jaxccp.math.linear3 import cross
from jaxccp.model.kinematics import joint_frames
from jaxccp.sensors.reading import Index, Reading, into


def force(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the force of what a body hangs on, on it and all that hangs on it, in the frame's own
    axes [N]."""
    return _seen(r, i, carrying(r, i)[0])


def torque(r: Reading, i: Index) -> Float[Array, "n 3"]:
    """Return the torque of the same, about the frame's origin [N m]."""
    return _seen(r, i, carrying(r, i)[1])


def carrying(r: Reading, i: Index) -> tuple[Float[Array, "n 3"], Float[Array, "n 3"]]:
    """Force and torque about the frames' origins, world axes: by Newton's and Euler's laws, with
    gravity, contacts and joints that close loops, as MuJoCo has it (``mj_rnePostConstraint``)."""
    details = [r.details[one] for one in i]
    whole, pushed = (np.stack([getattr(d, name) for d in details]) for name in ("bodies", "shapes"))
    needed = _needed(r)
    wrench = jnp.asarray(whole, needed.dtype) @ needed + _parts(r, i)
    wrench = wrench - _contacts(r, pushed) - _loops(r, whole)
    force, about_origin = wrench[:, :3], wrench[:, 3:]
    return force, about_origin - cross(r.frames[0].position[i], force)


def _seen(r: Reading, i: Index, vector: Float[Array, "n 3"]) -> Float[Array, "n 3"]:
    return into(jax.tree.map(lambda part: part[i], r.frames[0]), vector)


def _about_origin(force: Array, torque: Array, point: Array) -> Array:
    """A wrench at points as one at the world's origin."""
    return jnp.concatenate([force, torque + cross(point, force)], axis=-1)


def _needed(r: Reading) -> Float[Array, "nb 6"]:
    """What each body needs to move as it does, gravity apart, about the world's origin."""
    assert r.acceleration is not None
    state, model = r.state, r.model
    mass = jnp.where(jnp.asarray(model.topology.free), model.bodies.mass, 0.0)[:, None]
    tensor = world_inertia(model, quaternion.to_matrix(state.quaternion))
    tensor = jnp.where(mass[:, :, None] > 0, tensor, 0.0)
    torque = _spun(tensor, r.acceleration[:, 3:], state.angular_velocity)
    force = mass * (r.acceleration[:, :3] - model.gravity)
    return _about_origin(force, torque, state.position)


def _spun(tensor: Array, rate: Array, spin: Array) -> Array:
    momentum = jnp.einsum("bij,bj->bi", tensor, spin)
    return jnp.einsum("bij,bj->bi", tensor, rate) + cross(spin, momentum)


def _parts(r: Reading, i: Index) -> Float[Array, "n 6"]:
    """Return the same for the parts of bodies."""
    assert r.acceleration is not None
    details = [r.details[one] for one in i]
    body = np.array([d.body for d in details])
    facing = quaternion.to_matrix(r.state.quaternion[body])
    dtype = facing.dtype
    mass, centre, inertia = (
        jnp.asarray(np.stack([getattr(d, name) for d in details]), dtype)
        for name in ("mass", "centre", "inertia")
    )
    arm = jnp.einsum("nij,nj->ni", facing, centre)
    spin, moving = r.state.angular_velocity[body], r.acceleration[body]
    linear = moving[:, :3] + cross(moving[:, 3:], arm) + cross(spin, cross(spin, arm))
    tensor = jnp.einsum("nij,njk,nlk->nil", facing, inertia, facing)
    return _about_origin(
        mass[:, None] * (linear - r.model.gravity),
        _spun(tensor, moving[:, 3:], spin),
        r.state.position[body] + arm,
    )


def _contacts(r: Reading, pushed: np.ndarray) -> Float[Array, "n 6"]:
    """Return the wrench of all contacts on some shapes, about the world's origin."""
    contacts = r.contacts
    wrench = _about_origin(contacts.force, contacts.torque, contacts.point)
    wrench = jnp.where(contacts.live[:, None], wrench, 0.0)
    own = jnp.asarray(pushed, wrench.dtype)[:, contacts.shapes]
    return (own[:, :, 1] - own[:, :, 0]) @ wrench


def _loops(r: Reading, whole: np.ndarray) -> Float[Array, "n 6"]:
    """Return the wrench of the joints that close loops, on some bodies."""
    linkage = r.model.topology.linkage
    loops = linkage.loops
    if not len(loops):
        return jnp.zeros((len(whole), 6), r.state.position.dtype)
    acting = r.acting.reactions[loops]
    origin = joint_frames(r.model, r.state)[1][loops, 1]
    own = jnp.asarray(whole, acting.dtype)[:, linkage.bodies[loops]]
    return (own[:, :, 1] - own[:, :, 0]) @ _about_origin(acting[:, :3], acting[:, 3:], origin)
