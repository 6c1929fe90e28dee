"""The implicit step of second order of HHT, Newmark, the trapezoidal rule and generalised-α."""

from dataclasses import dataclass

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.collision.contact_cache import (
    cache_size,
    empty_warm_start,
    recall,
    resized,
    update_means,
)
from jaxccp.collision.contact_memory import ContactMemory
from jaxccp.dynamics.inputs import checked_inputs
from jaxccp.dynamics.second_order.applied_forces import applied_forces
from jaxccp.dynamics.second_order.contact_stage import ContactStage, has_impulses
from jaxccp.dynamics.second_order.contact_stage_problem import Impulses
from jaxccp.dynamics.second_order.newton import NewtonReport, find_root
from jaxccp.dynamics.second_order.newton_variables import NewtonVariables
from jaxccp.dynamics.second_order.smooth_motion import (
    advance_memory,
    second_order_model,
    smooth_motion,
)
from jaxccp.dynamics.second_order.smooth_report import (
    ContactResult,
    end_memory,
    report_smooth_step,
    with_rotors,
)
from jaxccp.dynamics.second_order.state_projection import project_state, with_fitting_velocities
from jaxccp.dynamics.smooth import empty_memory, resized_memory
from jaxccp.dynamics.step_report import StepReport
from jaxccp.dynamics.stepper import StepLength, Stepper, checked_carried, checked_start, step_length
from jaxccp.dynamics.steppers.alpha_carry import AlphaCarry, Coefficients, StepEnd
from jaxccp.dynamics.steppers.alpha_sweeps import sweeps
from jaxccp.dynamics.steppers.parts import mask_invalid
from jaxccp.dynamics.steppers.settings import ConeSettings
from jaxccp.model.actuators.activation import advance_activations
from jaxccp.model.kinematics.configuration import (
    count_velocities,
    integrate_configuration,
    with_joint_coordinates,
)
from jaxccp.model.model import Model
from jaxccp.model.row_order import row_order
from jaxccp.model.state import State

ROUNDED = 2 / 3
"""Exponent of the machine epsilon: changes up to that power of it, times the size of the
coordinates, may be rounding. Positions of nodes have the rounding errors of metres, but strains are
their differences over short elements."""


@dataclass(frozen=True)
class AlphaScheme(ConeSettings, Stepper[AlphaCarry]):
    """Implicit steps of second order, with hard contact at velocity level.

    The smooth part of the motion, M v̇ = f (:mod:`jaxccp.dynamics.second_order.smooth_motion`) with
    loops of joints as constraints, is solved by Newton's method on generalised coordinates, with
    Lie group updates of rotations (Arnold & Brüls, Multibody Syst. Dyn. 18, 2007; Brüls, Cardona &
    Arnold, Mech. Mach. Theory 48, 2012). The impulses of hard contacts, limits and dry friction
    come from one cone problem and change the velocities instantaneously (Chen, Acary, Virlez &
    Brüls, IJNME 96, 2013); errors of positions are projected out (Brüls, Acary & Cardona, CMAME
    281, 2014). Impulses of lasting contacts act in the middle of the step, those of impacts when
    they happen, so that rest, rolling and sliding are of second order too. ``report.newton`` is the
    report of Newton's iterations.
    """

    @property
    def coefficients(self) -> Coefficients:
        """The coefficients of the scheme."""
        raise NotImplementedError

    def init(self, model: Model, state: State | AlphaCarry) -> AlphaCarry:
        state = checked_start(model, state, carry_type=AlphaCarry)
        model = second_order_model(model, type(self).__name__)
        if isinstance(state, AlphaCarry):
            warm_start = resized(state.warm_start, cache_size(model.topology))
            memory = resized_memory(state.smooth, model)
            return AlphaCarry(
                with_joint_coordinates(model, state.state), warm_start, state.lag, memory
            )
        dtype = state.position.dtype
        count = count_velocities(model.topology, state.families)
        warm_start = empty_warm_start(model.topology, dtype)
        still, memory = jnp.zeros(count, dtype), empty_memory(model)
        state = with_fitting_velocities(model, with_joint_coordinates(model, state))
        return AlphaCarry(state, warm_start, still, memory)

    def advance(
        self,
        model: Model,
        carry: AlphaCarry,
        force: Float[Array, "nb 6"] | None = None,
        control: Float[Array, " nm"] | None = None,
        *,
        h: StepLength | None = None,
    ) -> tuple[AlphaCarry, StepReport]:
        c, state = self.coefficients, checked_carried(model, carry, AlphaCarry)
        model = second_order_model(model, type(self).__name__)
        h = step_length(h, self.h, state.position.dtype)
        force, control = checked_inputs(model, force, control, state.position.dtype)
        memory = carry.smooth
        start = smooth_motion(model, state, control, force, memory)
        memory = advance_memory(model, state, memory, 0.5 * h)
        before = start.acceleration + carry.lag
        variables = NewtonVariables.of(model, state)
        inputs_at_end = advance_activations(
            model.actuators, model.activations, state, control, h, exact=True
        )

        def end_of(x: Array, prior: Impulses | None) -> StepEnd:
            return c.end(h, start, before, x[variables.multipliers :], prior)

        def state_at(end: StepEnd) -> State:
            return integrate_configuration(model, inputs_at_end, end.displacement, end.velocity)

        def solve_motion(guess: Array, prior: Impulses | None) -> tuple[Array, NewtonReport]:
            def residual(x: Array) -> Array:
                end_state = state_at(end_of(x, prior))
                return variables.residual(
                    x, applied_forces(model, end_state, control, force, memory, 0.5 * h)
                )

            tolerance = self.stop.absolute(state.position.dtype) / h
            rounding = _rounding(state) / (soft * soft)
            return find_root(
                residual, guess, tolerance, rounding, variables.factorise, variables.multipliers
            )

        soft = h * (c.beta * (1.0 - c.alpha_f) / (1.0 - c.alpha_m)) ** 0.5
        contact_result = None
        if has_impulses(model):
            stage = ContactStage.of(model, start, before, h, soft, self.gradient)
            rows = row_order(model.topology.linkage).impulsive
            guesses = recall(carry.warm_start, stage.contacts)
            prior = stage.guessed_impulses(guesses.impulses, guesses.scalars[rows])
            guess = variables.start(start), prior
            last_sweep = sweeps(self, stage, guess, solve_motion, end_of, state_at)
            contact_result = ContactResult(stage, guesses, last_sweep)
            end, newton = last_sweep.end, last_sweep.newton
        else:
            x, newton = solve_motion(variables.start(start), None)
            end = end_of(x, None)
        return self._finish(
            model, carry, memory, inputs_at_end, end, newton, contact_result, control, force, h
        )

    def _finish(
        self,
        model: Model,
        carry: AlphaCarry,
        memory: ContactMemory | None,
        inputs_at_end: State,
        end: StepEnd,
        newton: NewtonReport,
        contact_result: ContactResult | None,
        control: Array | None,
        force: Array | None,
        h: StepLength,
    ) -> tuple[AlphaCarry, StepReport]:
        """Return the carry and the report of a step that ends at ``end``."""
        velocity = end.velocity
        after = integrate_configuration(model, inputs_at_end, end.displacement, velocity)
        projected = None
        if contact_result is not None or len(row_order(model.topology.linkage).loop_rows):
            after, velocity, projected = project_state(
                model, after, velocity, h, self.algorithm(model), self.stop, self.gradient
            )
        last = smooth_motion(model, after, control, force, memory, 0.5 * h)
        report, scalars = report_smooth_step(
            self, model, last, newton, contact_result, projected, control, h
        )
        warm_start = carry.warm_start
        if contact_result is not None:
            impulses, count = contact_result.sweep.impulses.contacts, cache_size(model.topology)
            warm_start = update_means(contact_result.guesses, impulses, h * scalars, count)
        carry = AlphaCarry(with_rotors(last), warm_start, end.lag, end_memory(last))
        return mask_invalid(self, carry, report)


def _rounding(state: State) -> Float[Array, ""]:
    """Return the change of coordinates that may be due to rounding [m; slopes have no unit]: the
    machine epsilon to the power :data:`ROUNDED`, times the largest coordinate."""
    coordinates = [state.position, *(family_state.q for family_state in state.families)]
    largest = jnp.stack([jnp.max(jnp.abs(x), initial=0.0) for x in coordinates]).max()
    return float(jnp.finfo(largest.dtype).eps) ** ROUNDED * lax.stop_gradient(largest)
