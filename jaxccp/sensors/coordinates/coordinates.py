"""MuJoCo's ``qpos``, ``qvel``, ``qacc``, ``ctrl``, ``act`` to and from states of any model."""

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.dynamics.acceleration import Acceleration
from jaxccp.dynamics.rows.row import relative_rotors
from jaxccp.math import quaternion
from jaxccp.math.array_input import Dimension, Floats, as_floats
from jaxccp.math.linear3 import cross
from jaxccp.model.inputs.state_input import checked_state
from jaxccp.model.kinematics.configuration import (
    VelocityParts,
    join_velocities,
    root_and_free_bodies,
    with_loop_coordinates,
)
from jaxccp.model.kinematics.forward_kinematics import forward_kinematics
from jaxccp.model.kinematics.joint_motion import joint_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.sensors.coordinates.addresses import Places, address_range
from jaxccp.sensors.coordinates.dimensions import checked_acceleration, coordinate_dimensions
from jaxccp.sensors.coordinates.nodal import with_nodal_coordinates, with_nodes


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Coordinates:
    """Conversion between MuJoCo's coordinates and states of a model; pure functions of JAX."""

    reference: Float[Array, " n"]
    """Values in ``qpos`` of the single axes at the model's zero coordinates [m, rad]."""
    ball_reference: Float[Array, "b 4"]
    """Quaternions in ``qpos`` of the balls at the model's zero coordinates."""
    centre: Float[Array, "f 3"]
    """Centres of mass of the free bodies, in the body frame whose position is in ``qpos`` [m]."""
    places: Places = field(metadata={"static": True})
    """Addresses of the coordinates."""

    def state(
        self,
        model: Model,
        state: State,
        qpos: Float[Floats, " nq"],
        qvel: Float[Floats, " nv"] | None = None,
    ) -> State:
        """Return ``state`` with the poses and velocities of ``qpos`` and ``qvel``.

        Loops that they leave open stay open; :func:`jaxccp.close_loops` closes them.

        Args:
            model: the model of the layout.
            state: a state of the model; all that has no coordinate is kept, except for the rotors,
                which turn at the rates of their axes and tendons.
            qpos: coordinates [m, rad, quaternions].
            qvel: rates [m/s, rad/s], 0 when None.

        Raises:
            ValueError: an array has another shape.
        """
        places, state = self.places, checked_state(model, state)
        nq, nv = coordinate_dimensions(model.topology, places)
        dtype = state.position.dtype
        qpos = as_floats("qpos", qpos, [nq], dtype)
        qvel = as_floats("qvel", jnp.zeros(places.nv) if qvel is None else qvel, [nv], dtype)
        address, _, body = places.free
        orientation = quaternion.normalize(qpos[address_range(address + 3, 4)])
        arm = quaternion.rotate(orientation, self.centre)
        linear, spin = self._free_twists(orientation, arm, qvel)
        with_free_bodies = replace(
            state,
            position=state.position.at[body].set(qpos[address_range(address, 3)] + arm),
            quaternion=state.quaternion.at[body].set(orientation),
            velocity=state.velocity.at[body].set(linear),
            angular_velocity=state.angular_velocity.at[body].set(spin),
            rotors=jax.tree.map(jnp.zeros_like, state.rotors),
        )
        with_free_bodies = with_nodes(model, with_free_bodies, places.nodes, qpos, qvel)
        if not model.topology.linkage.joints:
            return with_free_bodies
        address, _, axis = places.single
        coordinate = jnp.zeros_like(state.joint_positions)
        coordinate = coordinate.at[axis].set(qpos[address] - self.reference)
        address, _, axis = places.ball
        rotation = quaternion.normalize(qpos[address_range(address, 4)])
        rotation = quaternion.multiply(quaternion.conjugate(self.ball_reference), rotation)
        coordinate = coordinate.at[address_range(axis, 3)].set(quaternion.log(rotation))
        posed = forward_kinematics(model, with_free_bodies, coordinate, self._rates(state, qvel))
        return with_loop_coordinates(model, posed)

    def coordinates(
        self, model: Model, state: State
    ) -> tuple[Float[Array, " nq"], Float[Array, " nv"]]:
        """Return ``qpos`` and ``qvel`` of a state.

        Args:
            model: the model of the layout.
            state: the state.
        """
        places, state = self.places, checked_state(model, state)
        qpos = jnp.zeros(places.nq, state.position.dtype)
        qvel = jnp.zeros(places.nv, state.position.dtype)
        address, speed, body = places.free
        orientation, spin = state.quaternion[body], state.angular_velocity[body]
        arm = quaternion.rotate(orientation, self.centre)
        qpos = qpos.at[address_range(address, 3)].set(state.position[body] - arm)
        qpos = qpos.at[address_range(address + 3, 4)].set(orientation)
        qvel = qvel.at[address_range(speed, 3)].set(state.velocity[body] - cross(spin, arm))
        inverse = quaternion.conjugate(orientation)
        qvel = qvel.at[address_range(speed + 3, 3)].set(quaternion.rotate(inverse, spin))
        qpos, qvel = with_nodal_coordinates(model, state, places.nodes, qpos, qvel)
        if not model.topology.linkage.joints:
            return qpos, qvel
        motion = joint_motion(model, state)
        address, speed, axis = places.single
        qpos = qpos.at[address].set(motion.coordinate[axis] + self.reference)
        qvel = qvel.at[speed].set(motion.rate[axis])
        address, speed, axis = places.ball
        rotation = quaternion.exp(motion.coordinate[address_range(axis, 3)])
        qpos = qpos.at[address_range(address, 4)].set(
            quaternion.multiply(self.ball_reference, rotation)
        )
        return qpos, qvel.at[address_range(speed, 3)].set(motion.rate[address_range(axis, 3)])

    def acceleration(self, state: State, acceleration: Acceleration) -> Float[Array, " nv"]:
        """Return ``qacc`` of the accelerations of bodies and axes; 0 for nodes of flexible bodies.

        Args:
            state: the state that they belong to.
            acceleration: accelerations of bodies and axes.
        """
        places = self.places
        acceleration = checked_acceleration(state, acceleration)
        qacc = jnp.zeros(places.nv, state.position.dtype)
        _, speed, body = places.free
        orientation, spin = state.quaternion[body], state.angular_velocity[body]
        arm = quaternion.rotate(orientation, self.centre)
        linear, angular = acceleration.body[body, :3], acceleration.body[body, 3:]
        centre_part = cross(angular, arm) + cross(spin, cross(spin, arm))
        qacc = qacc.at[address_range(speed, 3)].set(linear - centre_part)
        inverse = quaternion.conjugate(orientation)
        qacc = qacc.at[address_range(speed + 3, 3)].set(quaternion.rotate(inverse, angular))
        _, speed, axis = places.single
        qacc = qacc.at[speed].set(acceleration.axis[axis])
        _, speed, axis = places.ball
        return qacc.at[address_range(speed, 3)].set(acceleration.axis[address_range(axis, 3)])

    def velocities(
        self, model: Model, state: State, qvel: Float[Floats, " nv"]
    ) -> Float[Array, " nv"]:
        """Return the velocities ``qvel`` in the model's order (:func:`jaxccp.tangent_names`).

        Args:
            model: a model of rigid bodies and joints.
            state: the pose.
            qvel: rates [m/s, rad/s].

        Raises:
            ValueError: ``qvel`` has another shape, or the model has flexible bodies.
        """
        topology = model.topology
        if model.families:
            raise ValueError("velocities: the model has flexible bodies")
        state = checked_state(model, state)
        _, nv = coordinate_dimensions(topology, self.places)
        qvel = as_floats("qvel", qvel, [nv], state.position.dtype)
        body = self.places.free[2]
        orientation = state.quaternion[body]
        arm = quaternion.rotate(orientation, self.centre)
        free = jnp.concatenate(self._free_twists(orientation, arm, qvel), axis=1)
        twists = jnp.zeros_like(state.twist).at[body].set(free)
        twists = twists[root_and_free_bodies(topology)]
        rates = self._rates(state, qvel)[topology.dofs.axes]
        return join_velocities(topology, VelocityParts(twists, rates, []))

    def _free_twists(
        self, orientation: Float[Array, "f 4"], arm: Float[Array, "f 3"], qvel: Float[Array, " nv"]
    ) -> tuple[Float[Array, "f 3"], Float[Array, "f 3"]]:
        """Return velocities of the centres of mass [m/s] and angular velocities [rad/s] of the free
        bodies, in world axes."""
        speed = self.places.free[1]
        spin = quaternion.rotate(orientation, qvel[address_range(speed + 3, 3)])
        return qvel[address_range(speed, 3)] + cross(spin, arm), spin

    def _rates(self, state: State, qvel: Float[Array, " nv"]) -> Float[Array, " na"]:
        """Return the rates of all axes [m/s, rad/s]; 0 for axes without a coordinate."""
        _, speed, axis = self.places.single
        rates = jnp.zeros_like(state.joint_positions).at[axis].set(qvel[speed])
        _, speed, axis = self.places.ball
        return rates.at[address_range(axis, 3)].set(qvel[address_range(speed, 3)])

    def forces(
        self, model: Model, state: State, force: Float[Floats, " nv"]
    ) -> Float[Array, " nv"]:
        """Return generalised forces in the order and axes of ``qvel`` (MuJoCo's ``qfrc_…``) [N, N
        m].

        Args:
            model: a model of rigid bodies and joints.
            state: the pose.
            force: generalised forces in the order of :func:`jaxccp.tangent_names`, such as the
                result of :func:`jaxccp.inverse_dynamics`.

        Raises:
            ValueError: see :meth:`velocities`.
        """
        zero = jnp.zeros(self.places.nv, state.position.dtype)
        _, transpose = jax.vjp(lambda qvel: self.velocities(model, state, qvel), zero)
        force = as_floats("force", force, [self.places.nv], state.position.dtype)
        return transpose(force)[0]

    def with_mocap(
        self,
        model: Model,
        state: State,
        positions: Float[Floats, "n 3"],
        quaternions: Float[Floats, "n 4"],
    ) -> State:
        """Return ``state`` with its motion-capture bodies and the bodies jointed to them placed.

        Bodies that equality constraints connect to them follow in the next step. Motion-capture
        bodies are fixed bodies: their velocity is zero.

        Args:
            model: the model of the layout.
            state: the state.
            positions: ``mocap_pos`` [m].
            quaternions: ``mocap_quat``.
        """
        bodies, linkage = self.places.mocap_bodies, model.topology.linkage
        state = checked_state(model, state)
        dtype = state.position.dtype
        names = Dimension.named("bodies", [model.topology.bodies[body] for body in bodies])
        positions = as_floats("positions", positions, [names, 3], dtype)
        quaternions = as_floats("quaternions", quaternions, [names, 4], dtype)
        orientation = quaternion.normalize(quaternions)
        posed = replace(
            state,
            position=state.position.at[bodies].set(positions),
            quaternion=state.quaternion.at[bodies].set(orientation),
        )
        if not np.isin(linkage.bodies[linkage.tree[0]], bodies).any():
            return posed
        motion = joint_motion(model, state)
        posed = forward_kinematics(model, posed, motion.coordinate, motion.rate)
        return replace(posed, rotors=relative_rotors(model, state, motion))

    def with_activation(self, state: State, act: Float[Floats, " na"]) -> State:
        """Return ``state`` with the activations of ``act``.

        Args:
            state: the state.
            act: activations in MuJoCo's order.
        """
        expected = [Dimension.named("activations", self.places.activation_names)]
        act = as_floats("act", act, expected, state.position.dtype)
        if state.activation is None:
            return state
        return replace(state, activation=act[self.places.activation])

    def activation(self, state: State) -> Float[Array, " na"]:
        """Return ``act`` of a state."""
        act = jnp.zeros(self.places.na, state.position.dtype)
        if state.activation is None:
            return act
        expected = [Dimension("activations", len(self.places.activation))]
        activation = as_floats("state.activation", state.activation, expected, act.dtype)
        return act.at[self.places.activation].set(activation)

    def control(self, ctrl: Float[Floats, "*b nu"]) -> Float[Array, "*b nm"]:
        """Return the controls of the actuators from ``ctrl``."""
        expected = [..., Dimension.named("actuators", self.places.control_names)]
        return as_floats("ctrl", ctrl, expected)[..., self.places.control]
