"""Mass matrices, inverse dynamics and Jacobians in tangent coordinates."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.dynamics.inputs import checked_inputs
from jaxccp.dynamics.rows.friction import friction_level
from jaxccp.dynamics.second_order.applied_forces import applied_forces
from jaxccp.dynamics.second_order.mobility import Configuration
from jaxccp.dynamics.second_order.smooth_motion import (
    check_forces_at_instants,
    check_rotors_are_known,
    check_states_tell_forces,
)
from jaxccp.dynamics.tangent import tangent_names
from jaxccp.dynamics.trees.screws import screws
from jaxccp.dynamics.trees.velocity_space import VelocitySpace
from jaxccp.execution.jitted import jitted
from jaxccp.math.array_input import Dimension, Floats, as_floats
from jaxccp.math.linear3 import cross
from jaxccp.model.family import FrameMap
from jaxccp.model.inputs.state_input import checked_state
from jaxccp.model.kinematics.joint_motion import tree_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.names import index


def mass_matrix(model: Model, state: State) -> Float[Array, "nv nv"]:
    """Return the mass matrix of a mechanism, with the inertia of its rotors (MuJoCo's ``qM``).

    A mechanism with closed loops has the mass matrix of its spanning tree.

    Args:
        model: a model with nv degrees of freedom, named by :func:`jaxccp.tangent_names`.
        state: poses that agree with its ``joint_positions``, as after a step or
            :func:`jaxccp.forward_kinematics`.

    Raises:
        ValueError: an array has another shape; or there is armature along a coordinate that a
            flexible body moves, but there was none when the model was built. Within ``jit`` the
            latter is not seen, and the inertia of such a rotor is left out.
    """
    state = checked_state(model, state)
    check_rotors_are_known(model, "mass_matrix")
    return _mass_matrix(model, state)


@jitted
def _mass_matrix(model: Model, state: State) -> Float[Array, "nv nv"]:
    """Return :func:`mass_matrix` of a state that was checked."""
    return Configuration.of(model, state, tree_motion(model, state)).mass_matrix()


def inverse_dynamics(
    model: Model,
    state: State,
    acceleration: Float[Floats, " nv"],
    control: Float[Floats, " nm"] | None = None,
    force: Float[Floats, "nb 6"] | None = None,
) -> Float[Array, " nv"]:
    """Return the generalised forces that an acceleration needs in addition to the forces that act
    [N, N m].

    Gravity, the fluid, springs, dampers, rotors, actuators, smooth contacts and applied forces act,
    as in :func:`jaxccp.accelerations`. Hard contacts, limits, dry friction and closed loops do not
    act: without loops the accelerations of that function need no additional force. Joints are taken
    to be where ``state.joint_positions`` has them. This is MuJoCo's ``qfrc_inverse`` without
    constraints, less ``qfrc_actuator``, ``qfrc_applied`` and ``xfrc_applied``.

    Args:
        model: a model with nv degrees of freedom, named by :func:`jaxccp.tangent_names`.
        state: pose and velocities.
        acceleration: rates of the nv velocities [m/s², rad/s²].
        control: control of each actuator, 0 when None.
        force: applied forces [N] and torques [N m] on the bodies, world axes.

    Raises:
        ValueError: an array has another shape; smooth contact has the tangential springs of one
            step, or forces that depend on the speed at which surfaces met, and no step is taken; or
            there is armature along a coordinate that a flexible body moves, but there was none when
            the model was built. Within ``jit`` the last is not seen, and the inertia of such a
            rotor is left out.
    """
    state = checked_state(model, state)
    check_rotors_are_known(model, "inverse_dynamics")
    check_forces_at_instants(model, "inverse_dynamics")
    check_states_tell_forces(model, "inverse_dynamics")
    force, control = checked_inputs(model, force, control, state.position.dtype)
    expected = [Dimension.named("velocities", tangent_names(model))]
    acceleration = as_floats("acceleration", acceleration, expected, state.position.dtype)
    return _inverse_dynamics(model, state, acceleration, control, force)


@jitted
def _inverse_dynamics(
    model: Model,
    state: State,
    acceleration: Float[Array, " nv"],
    control: Float[Array, " nm"] | None,
    force: Float[Array, "nb 6"] | None,
) -> Float[Array, " nv"]:
    """Return :func:`inverse_dynamics` of arguments that were checked."""
    applied = applied_forces(model, state, control, force)
    return applied.at.momenta(acceleration) - applied.generalised_force


@jitted
def sliding_friction(
    model: Model, state: State, direction: Float[Floats, " k"]
) -> Float[Array, " nv"]:
    """Return the generalised forces of dry friction along moving axes and tendons [N, N m].

    Args:
        model: a model with nv degrees of freedom, named by :func:`jaxccp.tangent_names`.
        state: pose and velocities.
        direction: number in [−1, 1] for each axis, then for each tendon: the sign of its rate, or
            the mean of the sign over a time in which it reverses.

    Raises:
        ValueError: an array has another shape.
    """
    state = checked_state(model, state)
    at = Configuration.of(model, state, tree_motion(model, state))
    step = at.step(0.0)
    sign = as_floats("direction", direction, [len(step.rate)], step.rate.dtype)
    return -(friction_level(step) * sign) @ at.coordinate_jacobian


@partial(jax.jit, static_argnames=("name",))
def site_jacobian(model: Model, state: State, name: str) -> Float[Array, "6 nv"]:
    """Return the Jacobian of a site (MuJoCo's ``mj_jacSite``): its velocity, linear [m/s] then
    angular [rad/s] in world axes, for a unit value of each generalised velocity.

    Args:
        model: a model with nv degrees of freedom, named by :func:`jaxccp.tangent_names`.
        state: poses that agree with its ``joint_positions``, as after a step or
            :func:`jaxccp.forward_kinematics`.
        name: name of a site, or of a body, whose centre of mass is meant then.

    Raises:
        ValueError: the model has neither a site nor a body of that name, or an array has another
            shape.
    """
    state = checked_state(model, state)
    sites, topology = model.sites, model.topology
    if name in sites.names:
        place = sites.index(name)
        body = sites.bodies[place]
        arm = sites.poses(state)[0][place] - state.position[body]
    else:
        body = index("the model", "site or body", (*sites.names, *topology.bodies), name)
        body, arm = body - len(sites.names), jnp.zeros(3, state.position.dtype)
    trees = FrameMap(screws(model, state).body_jacobian(state.position))
    identity = jnp.eye(6, dtype=arm.dtype)[None, None]
    space = VelocitySpace.of(model, state, trees, free_bodies=True)
    rows = space.project_rows(identity, np.array([[body]]))
    linear, angular = rows[0, :3], rows[0, 3:]
    return jnp.concatenate([linear + cross(angular.T, arm).T, angular])
