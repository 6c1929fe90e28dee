"""MuJoCo's ``qpos``, ``qvel``, ``qacc``, ``ctrl``, ``act`` to and from states of any model."""

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.content import ByContent
from jaxccp.dynamics.acceleration import Acceleration
from jaxccp.math import quaternion
from jaxccp.math.array_input import Dimension, Floats, as_floats
from jaxccp.math.linear3 import cross
from jaxccp.model.forward_kinematics import forward_kinematics
from jaxccp.model.kinematics import joint_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.model.state_input import checked_state
from jaxccp.sensors.expected import checked_acceleration, coordinate_dimensions
from jaxccp.sensors.nodal_coordinates import of_nodes, with_nodes


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
    """Coordinate, rate and body of bodies that no joint places [3 n]."""
    control: np.ndarray
    """Place in ``ctrl`` of each actuator's control."""
    na: int
    activation: np.ndarray
    """Place in ``act`` of each activation."""
    captured: np.ndarray
    """Fixed bodies that motion capture places."""
    nodes: np.ndarray
    """Family, coordinate, rate and number among the family's velocities of nodes [4 n]; a
    coordinate is 0 where the node starts."""
    control_names: tuple[str, ...]
    """Actuator of each entry of ``ctrl``."""
    activation_names: tuple[str, ...]
    """Actuator of each entry of ``act``."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Coordinates:
    """Both directions are pure functions: ``jit``, ``vmap`` and differentiate them at will."""

    reference: Float[Array, " n"]
    """Coordinates of the single axes where ours are zero [m, rad]."""
    facing: Float[Array, "b 4"]
    """Orientations of the balls where our coordinates are zero."""
    centre: Float[Array, "f 3"]
    """Of mass of the free bodies, in the frame whose place ``qpos`` has [m]."""
    places: Places = field(metadata={"static": True})

    def state(
        self,
        model: Model,
        state: State,
        qpos: Float[Floats, " nq"],
        qvel: Float[Floats, " nv"] | None = None,
    ) -> State:
        """Return ``state`` with its bodies placed and moving as MuJoCo's coordinates have it;
        loops that these leave open stay open (:func:`jaxccp.close_loops` closes them).

        Args:
            model: that the layout belongs to.
            state: of the model; what no coordinate stands for stays as it is.
            qpos: coordinates [m, rad, quaternions].
            qvel: rates [m/s, rad/s], 0 when None.

        Raises:
            ValueError: arrays of other shapes.
        """
        places, state = self.places, checked_state(model, state)
        tables = {"axis": places.single, "ball": places.ball, "body": places.free}
        counts = places.nq, places.nv
        nq, nv = coordinate_dimensions(model.topology, counts, tables, places.nodes)
        dtype = state.position.dtype
        qpos = as_floats("qpos", qpos, [nq], dtype)
        qvel = as_floats("qvel", jnp.zeros(places.nv) if qvel is None else qvel, [nv], dtype)
        at, speed, body = places.free
        facing = quaternion.normalize(qpos[run(at + 3, 4)])
        arm = quaternion.rotate(facing, self.centre)
        spin = quaternion.rotate(facing, qvel[run(speed + 3, 3)])
        started = replace(
            state,
            position=state.position.at[body].set(qpos[run(at, 3)] + arm),
            quaternion=state.quaternion.at[body].set(facing),
            velocity=state.velocity.at[body].set(qvel[run(speed, 3)] + cross(spin, arm)),
            angular_velocity=state.angular_velocity.at[body].set(spin),
        )
        started = with_nodes(model, started, places.nodes, qpos, qvel)
        if not model.topology.linkage.joints:
            return started
        coordinate, rate = (
            jnp.zeros_like(state.joint_positions),
            jnp.zeros_like(state.joint_positions),
        )
        at, speed, axis = places.single
        coordinate = coordinate.at[axis].set(qpos[at] - self.reference)
        rate = rate.at[axis].set(qvel[speed])
        at, speed, axis = places.ball
        turned = quaternion.normalize(qpos[run(at, 4)])
        turned = quaternion.multiply(quaternion.conjugate(self.facing), turned)
        coordinate = coordinate.at[run(axis, 3)].set(quaternion.log(turned))
        rate = rate.at[run(axis, 3)].set(qvel[run(speed, 3)])
        placed = forward_kinematics(model, started, coordinate, rate)
        if not len(model.topology.linkage.loops):
            return placed
        # Joints that close loops have coordinates of their own.
        return replace(placed, joint_positions=joint_motion(model, placed).coordinate)

    def coordinates(
        self, model: Model, state: State
    ) -> tuple[Float[Array, " nq"], Float[Array, " nv"]]:
        """``qpos`` and ``qvel`` of a state."""
        places, state = self.places, checked_state(model, state)
        qpos = jnp.zeros(places.nq, state.position.dtype)
        qvel = jnp.zeros(places.nv, state.position.dtype)
        at, speed, body = places.free
        facing, spin = state.quaternion[body], state.angular_velocity[body]
        arm = quaternion.rotate(facing, self.centre)
        qpos = qpos.at[run(at, 3)].set(state.position[body] - arm)
        qpos = qpos.at[run(at + 3, 4)].set(facing)
        qvel = qvel.at[run(speed, 3)].set(state.velocity[body] - cross(spin, arm))
        back = quaternion.conjugate(facing)
        qvel = qvel.at[run(speed + 3, 3)].set(quaternion.rotate(back, spin))
        qpos, qvel = of_nodes(model, state, places.nodes, qpos, qvel)
        if not model.topology.linkage.joints:
            return qpos, qvel
        motion = joint_motion(model, state)
        at, speed, axis = places.single
        qpos = qpos.at[at].set(motion.coordinate[axis] + self.reference)
        qvel = qvel.at[speed].set(motion.rate[axis])
        at, speed, axis = places.ball
        turned = quaternion.exp(motion.coordinate[run(axis, 3)])
        qpos = qpos.at[run(at, 4)].set(quaternion.multiply(self.facing, turned))
        return qpos, qvel.at[run(speed, 3)].set(motion.rate[run(axis, 3)])

    def acceleration(self, state: State, acceleration: Acceleration) -> Float[Array, " nv"]:
        """``qacc`` of accelerations at a state; 0 of nodes of flexible bodies."""
        places = self.places
        acceleration = checked_acceleration(state, acceleration)
        qacc = jnp.zeros(places.nv, state.position.dtype)
        _, speed, body = places.free
        facing, spin = state.quaternion[body], state.angular_velocity[body]
        arm = quaternion.rotate(facing, self.centre)
        linear, angular = acceleration.body[body, :3], acceleration.body[body, 3:]
        swung = cross(angular, arm) + cross(spin, cross(spin, arm))
        qacc = qacc.at[run(speed, 3)].set(linear - swung)
        back = quaternion.conjugate(facing)
        qacc = qacc.at[run(speed + 3, 3)].set(quaternion.rotate(back, angular))
        _, speed, axis = places.single
        qacc = qacc.at[speed].set(acceleration.axis[axis])
        _, speed, axis = places.ball
        return qacc.at[run(speed, 3)].set(acceleration.axis[run(axis, 3)])

    def velocities(
        self, model: Model, state: State, qvel: Float[Floats, " nv"]
    ) -> Float[Array, " nv"]:
        """Return velocities in the order of :func:`jaxccp.tangent_names` from ``qvel``.

        Args:
            model: rigid bodies and joints.
            state: the pose.
            qvel: rates [m/s, rad/s].

        Raises:
            ValueError: ``qvel`` of another shape, or a model with flexible bodies.
        """
        topology, places = model.topology, self.places
        if model.families or topology.loose.any():
            raise ValueError("velocities: the model has flexible or many loose bodies")
        state = checked_state(model, state)
        tables = {"axis": places.single, "ball": places.ball, "body": places.free}
        counts = places.nq, places.nv
        _, nv = coordinate_dimensions(topology, counts, tables, places.nodes)
        qvel = as_floats("qvel", qvel, [nv], state.position.dtype)
        _, speed, body = places.free
        facing = state.quaternion[body]
        spin = quaternion.rotate(facing, qvel[run(speed + 3, 3)])
        linear = qvel[run(speed, 3)] + cross(spin, quaternion.rotate(facing, self.centre))
        order = np.argsort(body)
        six = jnp.concatenate([linear, spin], axis=1)[order].reshape(-1)
        rates = jnp.zeros_like(state.joint_positions)
        rates = rates.at[places.single[2]].set(qvel[places.single[1]])
        _, speed, axis = places.ball
        rates = rates.at[run(axis, 3)].set(qvel[run(speed, 3)])
        return jnp.concatenate([six, rates[topology.dofs.axes]])

    def forces(
        self, model: Model, state: State, force: Float[Floats, " nv"]
    ) -> Float[Array, " nv"]:
        """Return generalised forces in MuJoCo's coordinates (``qfrc_…``) [N, N m].

        Args:
            model: rigid bodies and joints.
            state: the pose.
            force: in the order of :func:`jaxccp.tangent_names`, such as
                :func:`jaxccp.inverse_dynamics` returns.

        Raises:
            ValueError: as :meth:`velocities`.
        """
        zero = jnp.zeros(self.places.nv, state.position.dtype)
        _, back = jax.vjp(lambda qvel: self.velocities(model, state, qvel), zero)
        force = as_floats("force", force, [self.places.nv], state.position.dtype)
        return back(force)[0]

    def captured(
        self,
        model: Model,
        state: State,
        positions: Float[Floats, "n 3"],
        quaternions: Float[Floats, "n 4"],
    ) -> State:
        """``state`` with its bodies of motion capture placed as ``mocap_pos`` [m] and
        ``mocap_quat`` have them, and what hangs on them by joints with them; what is tied to them
        by equality constraints follows in the next step. They are fixed bodies: they have no
        velocity."""
        bodies, linkage = self.places.captured, model.topology.linkage
        state = checked_state(model, state)
        dtype = state.position.dtype
        names = Dimension.named("bodies", [model.topology.bodies[body] for body in bodies])
        positions = as_floats("positions", positions, [names, 3], dtype)
        quaternions = as_floats("quaternions", quaternions, [names, 4], dtype)
        facing = quaternion.normalize(quaternions)
        placed = replace(
            state,
            position=state.position.at[bodies].set(positions),
            quaternion=state.quaternion.at[bodies].set(facing),
        )
        if not np.isin(linkage.bodies[linkage.tree[0]], bodies).any():
            return placed
        motion = joint_motion(model, state)
        return forward_kinematics(model, placed, motion.coordinate, motion.rate)

    def activated(self, state: State, act: Float[Floats, " na"]) -> State:
        """``state`` with the activations that ``act`` has."""
        expected = [Dimension.named("activations", self.places.activation_names)]
        act = as_floats("act", act, expected, state.position.dtype)
        if state.activation is None:
            return state
        return replace(state, activation=act[self.places.activation])

    def activation(self, state: State) -> Float[Array, " na"]:
        """``act`` of a state."""
        act = jnp.zeros(self.places.na, state.position.dtype)
        if state.activation is None:
            return act
        expected = [Dimension("activations", len(self.places.activation))]
        known = as_floats("state.activation", state.activation, expected, act.dtype)
        return act.at[self.places.activation].set(known)

    def control(self, ctrl: Float[Floats, "*b nu"]) -> Float[Array, "*b nm"]:
        """Controls of the actuators from ``ctrl``."""
        expected = [..., Dimension.named("actuators", self.places.control_names)]
        return as_floats("ctrl", ctrl, expected)[..., self.places.control]


def run(start: np.ndarray, length: int) -> np.ndarray:
    """Addresses [n length] from their first ones."""
    return start[:, None] + np.arange(length)


def coordinates(model: Model) -> Coordinates:
    """MuJoCo's coordinates of a model.

    They go through the bodies in the model's order. A free body that no joint places has seven in
    ``qpos``, position and quaternion, and six in ``qvel``, linear in world axes and angular in
    the body's; a body that a joint places has those of the joint's axes in their order, a ball
    four and three. Joints that close loops have none.
    """
    topology = model.topology
    linkage = topology.linkage
    placing: dict[int, int] = {}
    for joint, outwards in zip(*linkage.tree, strict=True):
        placing[int(linkage.bodies[joint, int(outwards)])] = int(joint)
    single: list[tuple[int, int, int]] = []
    ball: list[tuple[int, int, int]] = []
    free: list[tuple[int, int, int]] = []
    nq = nv = 0
    for body in np.flatnonzero(topology.free).tolist():
        if body not in placing:
            free.append((nq, nv, body))
            nq, nv = nq + 7, nv + 6
            continue
        own = linkage.slots[placing[body]]
        own = own[own < len(linkage.axes)].tolist()
        balls = [axis for axis in own if linkage.motions[axis] == "ball"]
        for axis in own[: len(own) - len(balls)]:
            single.append((nq, nv, axis))
            nq, nv = nq + 1, nv + 1
        if balls:
            ball.append((nq, nv, balls[0]))
            nq, nv = nq + 4, nv + 3
    actuators = np.arange(len(linkage.actuators), dtype=np.int32)
    activated = () if model.activations is None else model.activations.actuators
    activations = np.arange(len(activated), dtype=np.int32)
    dtype = model.gravity.dtype
    return Coordinates(
        jnp.zeros(len(single), dtype),
        jnp.zeros((len(ball), 4), dtype).at[:, 0].set(1.0),
        jnp.zeros((len(free), 3), dtype),
        Places(
            *(nq, nv, len(actuators), _table(single), _table(ball), _table(free), actuators),
            *(len(activated), activations, np.zeros(0, np.int32), np.zeros((4, 0), np.int32)),
            *(linkage.actuators, tuple(linkage.actuators[i] for i in activated)),
        ),
    )


def _table(rows: list[tuple[int, int, int]]) -> np.ndarray:
    return np.array(rows, np.int32).reshape(-1, 3).T
