"""Euler implicit linearised: one cone problem per step, on velocities."""

from dataclasses import dataclass

from jaxtyping import Array, Float

from jaxccp.dynamics.step_report import StepReport
from jaxccp.dynamics.stepper import Stepper
from jaxccp.dynamics.steppers.parts import (
    assembled,
    moved,
    remembered,
    reported,
    solved,
    trusted,
)
from jaxccp.dynamics.steppers.settings import ImpulseCarry, Settings
from jaxccp.model.model import Model


@dataclass(frozen=True)
class EulerImplicitLinearized(Settings, Stepper[ImpulseCarry]):
    """Semi-implicit time stepping with hard contact at velocity level.

    Stewart & Trinkle, IJNME 39 (1996); Anitescu, Math. Program. 105 (2006), for the convex law.
    Velocities first (gravity, applied forces, contact impulses), then poses with the new
    velocities. First order; conserves linear and angular momentum to rounding, and the energy
    of torque-free rotation. Penetration is undone through the velocities, with which bodies may
    depart: ``StepReport.recovery`` says how fast, and what helps.
    """

    def advance(
        self,
        model: Model,
        carry: ImpulseCarry,
        force: Float[Array, "nb 6"] | None = None,
        control: Float[Array, " nm"] | None = None,
    ) -> tuple[ImpulseCarry, StepReport]:
        """One step of a sequence under applied forces [N] and torques [N m] (world), and with the
        actuators' controls, 0 unless given, from what :meth:`init` or this has returned.

        Raises:
            ValueError: for a force or a control of another shape, such as one in the other's place.
        """
        step = assembled(self, model, carry, force, control)
        solution, outcome = solved(self, step)
        after = moved(step, outcome)
        report = reported(self, step, solution, outcome, after)
        return trusted(self, remembered(step, outcome, after), report)
