"""Forward dynamics without contacts: accelerations under given forces, with joints as
constraints."""

from dataclasses import dataclass

import jax
from jaxtyping import Array, Float

from jaxccp.dynamics.inputs import checked_inputs
from jaxccp.dynamics.second_order.smooth_motion import (
    check_states_tell_forces,
    second_order_model,
    smooth_motion,
)
from jaxccp.dynamics.stepper import StepLength, step_length
from jaxccp.execution.jitted import jitted
from jaxccp.math.array_input import Floats, as_floats
from jaxccp.model.inputs.state_input import checked_state
from jaxccp.model.kinematics.configuration import with_joint_coordinates
from jaxccp.model.model import Model
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Acceleration:
    """Accelerations of the bodies and of the joints' axes."""

    body: Float[Array, "nb 6"]
    """Acceleration of each centre of mass [m/s²], then angular acceleration [rad/s²]; world axes,
    zero for fixed bodies."""
    axis: Float[Array, " na"]
    """Rate of the rate of each axis [m/s², rad/s²]: the second time derivative of its coordinate.
    For a ball, whose coordinate is a rotation vector, it is the rate of the relative angular
    velocity in the axes of the second body's joint frame."""


def accelerations(
    model: Model,
    state: State,
    control: Float[Floats, " nm"] | None = None,
    force: Float[Floats, "nb 6"] | None = None,
) -> Acceleration:
    """Return the accelerations of bodies and joints at a state that satisfies the joints.

    Gravity, gyroscopic torques, the fluid, springs, dampers, rotors, actuators and smooth contacts
    act explicitly, and joints (closed loops too) are constraints; frames of flexible bodies move by
    their equations. Hard contacts, limits and dry friction do not act: their forces are impulses of
    a step. This is MuJoCo's ``qacc_smooth`` with hard equality constraints.

    Args:
        model: the mechanism.
        state: pose and velocities; its ``joint_positions`` tell how often a hinge has gone round.
        control: control of each actuator, 0 when None.
        force: applied force [N] and torque [N m] on each body, world axes.

    Raises:
        ValueError: an array has another shape; the mass matrix is block diagonal; smooth contact
            has the tangential springs of one step, or forces that depend on the speed at which
            surfaces met, and no step is taken; or there is armature along
            a coordinate that a flexible body moves, but there was none when the model was built.
            Within ``jit`` the last is not seen, and the inertia of such a rotor is left out.
    """
    state = checked_state(model, state)
    check_states_tell_forces(model, "accelerations")
    model = second_order_model(model, "accelerations")
    return _accelerations(
        model, state, *checked_inputs(model, force, control, state.position.dtype)
    )


@jitted
def _accelerations(
    model: Model, state: State, force: Float[Array, "nb 6"] | None, control: Array | None
) -> Acceleration:
    """Return the accelerations of bodies and joints for inputs that are checked."""
    if model.topology.linkage.linked:
        state = with_joint_coordinates(model, state)
    motion = smooth_motion(model, state, control, force)
    axes = len(model.topology.linkage.axes)
    return Acceleration(motion.body_acceleration, motion.coordinate_acceleration[:axes])


def mean_acceleration(before: State, after: State, h: StepLength) -> Float[Array, "nb 6"]:
    """Return the mean acceleration of each body between two states [m/s², rad/s²].

    Unlike :func:`accelerations` it includes hard contacts, limits and dry friction, whose impulses
    change the velocities within a step.

    Args:
        before: the earlier state.
        after: the later state, of as many bodies.
        h: time that passes between them [s], such as the length of a step. The clocks of the states
            do not tell it: they are rounded, in single precision to 6e-5 s after 10 minutes.

    Returns:
        Accelerations of the centres of mass [m/s²] and angular accelerations [rad/s²], world axes.

    Raises:
        ValueError: the two states have different numbers of bodies, or ``h`` is not positive.
    """
    as_floats("after.velocity", after.velocity, before.velocity.shape)
    return (after.twist - before.twist) / step_length(h, h, after.twist.dtype)
