"""The classical Runge–Kutta method of fourth order, for smooth motion."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from jaxccp.ccp.solution import DerivativeStatus, Status
from jaxccp.collision.contact_cache import empty_warm_start
from jaxccp.collision.contact_memory import ContactMemory
from jaxccp.dynamics.inputs import checked_inputs
from jaxccp.dynamics.second_order.displacement_rate import displacement_rate
from jaxccp.dynamics.second_order.newton import NewtonReport
from jaxccp.dynamics.second_order.smooth_motion import (
    advance_memory,
    second_order_model,
    smooth_motion,
)
from jaxccp.dynamics.second_order.smooth_report import end_memory, report_smooth_step, with_rotors
from jaxccp.dynamics.second_order.state_projection import project_state, with_fitting_velocities
from jaxccp.dynamics.smooth import empty_memory, resized_memory
from jaxccp.dynamics.step_report import StepReport
from jaxccp.dynamics.stepper import StepLength, Stepper, checked_carried, checked_start, step_length
from jaxccp.dynamics.steppers.parts import mask_invalid
from jaxccp.dynamics.steppers.settings import ConeSettings, ImpulseCarry
from jaxccp.model.actuators.activation import advance_activations
from jaxccp.model.kinematics.configuration import (
    generalised_velocities,
    integrate_configuration,
    with_joint_coordinates,
)
from jaxccp.model.kinematics.joint_motion import tree_motion
from jaxccp.model.model import Model
from jaxccp.model.row_order import row_order
from jaxccp.model.state import State

NODES, WEIGHTS = np.array([0.0, 0.5, 0.5, 1.0]), np.array([1.0, 2.0, 2.0, 1.0]) / 6.0
"""Times of the stages, as fractions of the step, and their weights."""


@dataclass(frozen=True)
class RungeKutta4(ConeSettings, Stepper[ImpulseCarry]):
    """Explicit steps of fourth order, for models without hard contacts, limits and dry friction.

    Rotations have Lie group updates: stages are increments of the poses at the start of the step
    (Munthe-Kaas, BIT 38, 1998). Loops are closed by projection, the only use of the settings
    ``solver``, ``stop`` and ``gradient``. ``contact_data`` reports smooth contacts; ``law`` and
    ``unique`` have no effect.
    """

    def init(self, model: Model, state: State | ImpulseCarry) -> ImpulseCarry:
        state = checked_start(model, state, carry_type=ImpulseCarry)
        model = _checked(model)
        is_carry = isinstance(state, ImpulseCarry)
        before = state.state if is_carry else state
        memory = resized_memory(state.smooth, model) if is_carry else empty_memory(model)
        none = empty_warm_start(model.topology, before.position.dtype)
        before = with_joint_coordinates(model, before)
        if not is_carry:
            before = with_fitting_velocities(model, before)
        return ImpulseCarry(before, none, memory)

    def advance(
        self,
        model: Model,
        carry: ImpulseCarry,
        force: Float[Array, "nb 6"] | None = None,
        control: Float[Array, " nm"] | None = None,
        *,
        h: StepLength | None = None,
    ) -> tuple[ImpulseCarry, StepReport]:
        state = checked_carried(model, carry, ImpulseCarry)
        model = _checked(model)
        h = step_length(h, self.h, state.position.dtype)
        force, control = checked_inputs(model, force, control, state.position.dtype)
        memory: ContactMemory | None = carry.smooth
        start = generalised_velocities(model, state, tree_motion(model, state))

        def inputs_at(elapsed: Array | float) -> State:
            return advance_activations(
                model.actuators, model.activations, state, control, elapsed, exact=True
            )

        def memory_at(node: Array | float) -> ContactMemory | None:
            return advance_memory(model, state, memory, 0.5 * h * node)

        def stage(before: tuple[Array, Array], node: Array) -> tuple:
            displacement, velocity_change = (h * node * part for part in before)
            velocity = start + velocity_change
            stage_state = integrate_configuration(
                model, inputs_at(h * node), displacement, velocity
            )
            slopes = (
                displacement_rate(model, displacement, velocity),
                smooth_motion(
                    model, stage_state, control, force, memory_at(node), 0.5 * h * node
                ).acceleration,
            )
            return slopes, slopes

        still = jnp.zeros_like(start)
        nodes, weights = (jnp.asarray(part, start.dtype) for part in (NODES, WEIGHTS))
        _, slopes = lax.scan(stage, (still, still), nodes)
        displacement, velocity_change = (h * weights @ part for part in slopes)
        velocity = start + velocity_change
        after = integrate_configuration(model, inputs_at(h), displacement, velocity)
        projected = None
        if len(row_order(model.topology.linkage).loop_rows):
            after, velocity, projected = project_state(
                model, after, velocity, h, self.algorithm(model), self.stop, self.gradient
            )
        last = smooth_motion(model, after, control, force, memory_at(1.0), 0.5 * h)
        finite = jnp.all(jnp.isfinite(velocity))
        status = jnp.where(finite, Status.CONVERGED, Status.NON_FINITE).astype(jnp.int32)
        derivative = jnp.where(finite, DerivativeStatus.VALID, DerivativeStatus.INVALID)
        none = jnp.zeros((), start.dtype)
        explicit = NewtonReport(jnp.int32(0), none, status, derivative.astype(jnp.int32))
        report, _ = report_smooth_step(self, model, last, explicit, None, projected, control, h)
        carry = ImpulseCarry(with_rotors(last), carry.warm_start, end_memory(last))
        return mask_invalid(self, carry, report)


def _checked(model: Model) -> Model:
    """Return the model as steps use it, or raise ValueError if its velocities may jump."""
    model = second_order_model(model, "rk4")
    topology, linkage = model.topology, model.topology.linkage
    violations = []
    for group in topology.pairs:
        for first, second in zip(group.first[:1], group.second[:1], strict=True):
            shapes = topology.shape_names[first], topology.shape_names[second]
            violations.append(f"shapes {shapes[0]!r} and {shapes[1]!r} may touch")
    names = (*linkage.axes, *linkage.routing.tendons)
    for what, which in (
        ("a limit", np.concatenate([linkage.lower, linkage.upper, linkage.balls])),
        ("dry friction", linkage.dry_friction),
    ):
        violations += [f"{names[index]!r} has {what}" for index in which[:1]]
    if violations:
        raise ValueError(
            f"rk4 is for smooth motion, but {violations[0]}"
            + (f" (and {len(violations) - 1} more of other kinds)" if len(violations) > 1 else "")
            + ': take "hht", "trapezoidal", "generalised-alpha" or "newmark", or "euler"'
        )
    return model
