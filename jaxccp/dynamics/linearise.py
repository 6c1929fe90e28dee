"""Linearisation of a step about a state: A and B in tangent coordinates."""

from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.dynamics.inputs import checked_inputs
from jaxccp.dynamics.step_report import StepReport
from jaxccp.dynamics.stepper import StepLength, Stepper, check_model_and_stepper, step_length
from jaxccp.dynamics.tangent import difference_by, retract, tangent_names
from jaxccp.math.array_input import Floats
from jaxccp.model.inputs.state_input import checked_state
from jaxccp.model.kinematics.joint_motion import joint_motion, tree_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Linearisation:
    """The linear map of one step about a state and a control: x⁺ ≈ A x + B u.

    x is the change (:func:`jaxccp.retract`) of the state before the step, x⁺ that of ``after``, u
    the change of the control. Rows and columns are named by :func:`jaxccp.tangent_names`, first for
    the pose, then for the velocities; those of the activations, if any, come last.
    """

    A: Float[Array, "2*nv+ma 2*nv+ma"]
    """Derivative of the state after the step with respect to the state before it."""
    B: Float[Array, "2*nv+ma nm"]
    """Derivative of the state after the step with respect to the control."""
    after: State
    """State after the step, from which the motion goes on."""
    report: StepReport
    """Report of the step; ``report.solver.derivative`` says whether A and B are valid."""


def linearise(
    model: Model,
    state: State,
    control: Float[Floats, " nm"] | None = None,
    *,
    stepper: Stepper,
    force: Float[Floats, "nb 6"] | None = None,
    h: StepLength | None = None,
) -> Linearisation:
    """Linearise one step of ``stepper``, contacts and limits included; use ``vmap`` for several
    states.

    It costs one step and a forward derivative for each column; all columns share the solve and the
    factors of its derivative. At the border between two regimes of a contact or a limit, A and B
    are those of one regime (docs/derivative.md). A change of the state changes the rate of each
    rotor by as much as that of its axis. The product of A along a motion is the derivative of the
    motion, up to an error that vanishes with ``h``.

    Args:
        model: nv degrees of freedom, nm actuators, ma of them with activations.
        state: the state to linearise about; at rest in contact or moving.
        control: the control to linearise about; 0 when None.
        stepper: the stepper, with its step length and law.
        force: applied force [N] and torque [N m] on each body, world axes.
        h: length of the step [s]; that of the stepper when None.

    Raises:
        TypeError: model, state or stepper is something else, such as a carry or the name of a
            stepper.
        ValueError: an array has another shape, ``h`` is known and not positive and finite, or see
            :func:`jaxccp.retract`.
    """
    check_model_and_stepper(model, stepper)
    if h is not None:
        step_length(h, stepper.h, None)
    return _linearise(model, state, control, stepper, force, h)


@partial(jax.jit, static_argnames=("stepper",))
def _linearise(
    model: Model,
    state: State,
    control: Float[Floats, " nm"] | None,
    stepper: Stepper,
    force: Float[Floats, "nb 6"] | None,
    h: StepLength | None,
) -> Linearisation:
    """Linearise a step of a length that :func:`linearise` has checked."""
    state = checked_state(model, state)
    force, control = checked_inputs(model, force, control, state.position.dtype)
    if control is None:
        control = jnp.zeros(len(model.topology.linkage.actuators), state.position.dtype)

    start = stepper.init(model, state)
    # After a step in reduced coordinates the joint coordinates are known without the poses.
    motion = tree_motion if stepper.reduces(model) else joint_motion

    def step_from(
        pose: Array, velocity: Array, activation: Array, control: Array
    ) -> tuple[Array, tuple]:
        posed, faster = (
            retract(model, start.state, jnp.concatenate([pose, change, activation]))
            for change in (zero_velocity, velocity)
        )
        changed = replace(
            posed,
            velocity=faster.velocity,
            angular_velocity=faster.angular_velocity,
            rotors=faster.rotors,
            families=tuple(
                replace(tangent_, v=faster_family.v)
                for tangent_, faster_family in zip(posed.families, faster.families, strict=True)
            ),
        )
        carry = replace(start, state=changed)
        carry, report = stepper.advance(model, carry, force, control, h=h)
        after = carry.state
        change_after = difference_by(motion, model, jax.lax.stop_gradient(after), after)
        return change_after, (after, report)

    zero_velocity = jnp.zeros(len(tangent_names(model)), state.position.dtype)
    activation_before = start.state.activation
    zero_activation = (
        jnp.zeros(0, zero_velocity.dtype)
        if activation_before is None
        else jnp.zeros_like(activation_before)
    )
    zeros = (zero_velocity, zero_velocity, zero_activation, jnp.zeros_like(control))
    _, pushforward, (after, report) = jax.linearize(step_from, *zeros[:3], control, has_aux=True)
    # One call for each part: velocities and controls do not affect what depends on poses, and zeros
    # that all columns share are computed once.
    columns = [
        jax.vmap(
            lambda tangent_, k=k: pushforward(*zeros[:k], tangent_, *zeros[k + 1 :]), out_axes=1
        )(jnp.eye(len(zero), dtype=zero_velocity.dtype))
        for k, zero in enumerate(zeros)
    ]
    return Linearisation(jnp.concatenate(columns[:3], axis=1), columns[3], after, report)
