"""Euler implicit linearised: one cone problem per step, on velocities."""

from dataclasses import dataclass

from jaxtyping import Array, Float

from jaxccp.dynamics.step_report import StepReport
from jaxccp.dynamics.stepper import StepLength, Stepper
from jaxccp.dynamics.steppers.parts import (
    assemble_step,
    integrate_step,
    mask_invalid,
    pack_carry,
    report_step,
    solve_step,
)
from jaxccp.dynamics.steppers.settings import ImpulseCarry, Settings
from jaxccp.model.model import Model


@dataclass(frozen=True)
class EulerImplicitLinearized(Settings, Stepper[ImpulseCarry]):
    """Semi-implicit time stepping with hard contact at velocity level.

    Stewart & Trinkle, IJNME 39 (1996); Anitescu, Math. Program. 105 (2006), for the convex law.
    First the velocities are computed (gravity, applied forces, contact impulses), then the poses
    with the new velocities. It is of first order; it conserves linear and angular momentum to
    rounding, and the energy of torque-free rotation. Penetration is undone through the velocities,
    with which bodies may separate: ``StepReport.recovery`` tells at which speed, and what to do
    about it.
    """

    def advance(
        self,
        model: Model,
        carry: ImpulseCarry,
        force: Float[Array, "nb 6"] | None = None,
        control: Float[Array, " nm"] | None = None,
        *,
        h: StepLength | None = None,
    ) -> tuple[ImpulseCarry, StepReport]:
        step = assemble_step(self, model, carry, force, control, h)
        solution, outcome = solve_step(self, step)
        after = integrate_step(step, outcome)
        report = report_step(self, step, solution, outcome, after)
        return mask_invalid(self, pack_carry(step, outcome, after), report)
