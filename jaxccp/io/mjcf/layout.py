"""MuJoCo's ``qpos``, ``qvel``, ``qacc`` and ``ctrl`` to and from our states, in JAX."""

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.content import ByContent
from jaxccp.dynamics.acceleration import Acceleration
from jaxccp.io.mjcf.bodies import Frames
from jaxccp.io.mjcf.joints import BALL, FREE, Axes
from jaxccp.io.mjcf.source import Source
from jaxccp.math import quaternion
from jaxccp.model.kinematics import joint_motion
from jaxccp.model.model import Model
from jaxccp.model.place import place
from jaxccp.model.state import State


@dataclass(frozen=True, eq=False)
class Places(ByContent):
    """Addresses; static. Coordinates are in ``qpos``, rates in ``qvel`` and ``qacc``."""

    nq: int
    nv: int
    nu: int
    single: np.ndarray
    """Coordinate, rate and axis of hinges, slides and the shifts of free joints [3 n]."""
    ball: np.ndarray
    """Coordinate, rate and first axis of balls and the rotations of free joints [3 n]."""
    free: np.ndarray
    """Coordinate, rate and body of bodies that no joint holds [3 n]."""
    control: np.ndarray
    """Control of each of our actuators."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Layout:
    """Both directions are pure functions: ``jit``, ``vmap`` and differentiate them at will."""

    reference: Float[Array, " n"]
    """Coordinates of the single axes where ours are zero [m, rad]."""
    facing: Float[Array, "b 4"]
    """Orientations of the balls where our coordinates are zero."""
    centre: Float[Array, "f 3"]
    """Of mass of the free bodies, in their frame in the file [m]."""
    places: Places = field(metadata={"static": True})

    def state(
        self,
        model: Model,
        state: State,
        qpos: Float[Array, " nq"],
        qvel: Float[Array, " nv"] | None = None,
    ) -> State:
        """``state`` with its bodies placed and moving as ``qpos`` [m, rad, unit quaternions] and
        ``qvel`` [m/s, rad/s], at rest when None, have it."""
        places = self.places
        qvel = jnp.zeros(places.nv, qpos.dtype) if qvel is None else qvel
        at, speed, body = places.free
        facing = quaternion.normalize(qpos[_run(at + 3, 4)])
        arm = quaternion.rotate(facing, self.centre)
        spin = quaternion.rotate(facing, qvel[_run(speed + 3, 3)])
        started = replace(
            state,
            position=state.position.at[body].set(qpos[_run(at, 3)] + arm),
            quaternion=state.quaternion.at[body].set(facing),
            velocity=state.velocity.at[body].set(qvel[_run(speed, 3)] + jnp.cross(spin, arm)),
            angular_velocity=state.angular_velocity.at[body].set(spin),
        )
        if not model.topology.linkage.joints:
            return started
        coordinate, rate = jnp.zeros_like(state.turns), jnp.zeros_like(state.turns)
        at, speed, axis = places.single
        coordinate = coordinate.at[axis].set(qpos[at] - self.reference)
        rate = rate.at[axis].set(qvel[speed])
        at, speed, axis = places.ball
        turned = quaternion.normalize(qpos[_run(at, 4)])
        turned = quaternion.multiply(quaternion.conjugate(self.facing), turned)
        coordinate = coordinate.at[_run(axis, 3)].set(quaternion.log(turned))
        rate = rate.at[_run(axis, 3)].set(qvel[_run(speed, 3)])
        placed = place(model, started, coordinate, rate)
        # Joints that close loops have coordinates of their own.
        return replace(placed, turns=joint_motion(model, placed).coordinate)

    def coordinates(
        self, model: Model, state: State
    ) -> tuple[Float[Array, " nq"], Float[Array, " nv"]]:
        """``qpos`` and ``qvel`` of a state."""
        places = self.places
        qpos = jnp.zeros(places.nq, state.position.dtype)
        qvel = jnp.zeros(places.nv, state.position.dtype)
        at, speed, body = places.free
        facing, spin = state.quaternion[body], state.angular_velocity[body]
        arm = quaternion.rotate(facing, self.centre)
        qpos = qpos.at[_run(at, 3)].set(state.position[body] - arm)
        qpos = qpos.at[_run(at + 3, 4)].set(facing)
        qvel = qvel.at[_run(speed, 3)].set(state.velocity[body] - jnp.cross(spin, arm))
        back = quaternion.conjugate(facing)
        qvel = qvel.at[_run(speed + 3, 3)].set(quaternion.rotate(back, spin))
        if not model.topology.linkage.joints:
            return qpos, qvel
        motion = joint_motion(model, state)
        at, speed, axis = places.single
        qpos = qpos.at[at].set(motion.coordinate[axis] + self.reference)
        qvel = qvel.at[speed].set(motion.rate[axis])
        at, speed, axis = places.ball
        turned = quaternion.exp(motion.coordinate[_run(axis, 3)])
        qpos = qpos.at[_run(at, 4)].set(quaternion.multiply(self.facing, turned))
        return qpos, qvel.at[_run(speed, 3)].set(motion.rate[_run(axis, 3)])

    def acceleration(self, state: State, acceleration: Acceleration) -> Float[Array, " nv"]:
        """``qacc`` of accelerations at a state."""
        places = self.places
        qacc = jnp.zeros(places.nv, state.position.dtype)
        _, speed, body = places.free
        facing, spin = state.quaternion[body], state.angular_velocity[body]
        arm = quaternion.rotate(facing, self.centre)
        linear, angular = acceleration.body[body, :3], acceleration.body[body, 3:]
        swung = jnp.cross(angular, arm) + jnp.cross(spin, jnp.cross(spin, arm))
        qacc = qacc.at[_run(speed, 3)].set(linear - swung)
        back = quaternion.conjugate(facing)
        qacc = qacc.at[_run(speed + 3, 3)].set(quaternion.rotate(back, angular))
        _, speed, axis = places.single
        qacc = qacc.at[speed].set(acceleration.axis[axis])
        _, speed, axis = places.ball
        return qacc.at[_run(speed, 3)].set(acceleration.axis[_run(axis, 3)])

    def control(self, ctrl: Float[Array, "*b nu"]) -> Float[Array, "*b nm"]:
        """Controls of our actuators from ``ctrl``."""
        return ctrl[..., self.places.control]


def _run(start: np.ndarray, length: int) -> np.ndarray:
    """Addresses [n length] from their first ones."""
    return start[:, None] + np.arange(length)


def layout(source: Source, frames: Frames, axes: Axes, actuators: np.ndarray) -> Layout:
    """Where everything of a compiled model is in ours; ``actuators`` has the file's number of
    each of ours."""
    m = source.m
    address = source.column("actuator_ctrladr")
    control = np.asarray(address[actuators], np.int32) if len(address) else actuators
    single: list[tuple[int, int, int]] = []
    ball: list[tuple[int, int, int]] = []
    free: list[tuple[int, int, int]] = []
    for joint in range(m.njnt):
        at, speed, axis = (
            int(m.jnt_qposadr[joint]),
            int(m.jnt_dofadr[joint]),
            int(axes.first[joint]),
        )
        kind = m.jnt_type[joint]
        if kind == FREE and axis < 0:
            free.append((at, speed, int(m.jnt_bodyid[joint])))
        elif kind == FREE:
            single += [(at + i, speed + i, axis + i) for i in range(3)]
            ball.append((at + 3, speed + 3, axis + 3))
        elif kind == BALL:
            ball.append((at, speed, axis))
        else:
            single.append((at, speed, axis))

    def table(rows: list[tuple[int, int, int]]) -> np.ndarray:
        return np.array(rows, np.int32).reshape(-1, 3).T

    singles, balls, loose = table(single), table(ball), table(free)
    centre = -frames.position[loose[2]]
    loose[2] = frames.body[loose[2]]
    return Layout(
        jnp.asarray(m.qpos0[singles[0]], float),
        jnp.asarray(m.qpos0[_run(balls[0], 4)], float),
        jnp.asarray(centre, float),
        Places(m.nq, m.nv, m.nu, singles, balls, loose, control),
    )
