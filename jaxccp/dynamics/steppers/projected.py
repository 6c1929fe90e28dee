"""Euler implicit projected: velocities first, then positions."""

from dataclasses import dataclass

from jaxtyping import Array, Float

from jaxccp.ccp.derivative import plain
from jaxccp.dynamics.projection import project
from jaxccp.dynamics.step_report import StepReport, with_solve
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

CORRECTIONS = 4
"""Number of corrections of the velocities; each reduces the errors by a factor of about h ω. The
remaining errors are projected out of the positions, which costs angular momentum."""


@dataclass(frozen=True)
class EulerImplicitProjected(Settings, Stepper[ImpulseCarry]):
    """The step of :class:`jaxccp.EulerImplicitLinearized`, followed by a projection of joint errors
    and penetration out of the positions.

    Moving in a straight line over a step h leaves an error to the arc of a joint. It is not left to
    the next step, as in Chrono's ``EULER_IMPLICIT_PROJECTED``: joints are closed to the tolerance
    of the solver, in m.

    Before the poses change, the velocities are corrected along the joints' rows at the start of the
    step, by the errors that they would lead to (SHAKE, Ryckaert, Ciccotti & Berendsen, J. Comput.
    Phys. 23, 1977). This keeps momentum, and energy over long times. The projections of the new
    poses, mainly for contacts and limits, do not change velocities: bodies that overlap are
    separated at once and remain at rest, whatever the model's recovery speed is. Without
    ``eliminate`` there are only projections, and joints lose energy.
    """

    projections: int = 1
    """Number of Newton steps of the projection."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.projections < 1:
            raise ValueError(f"projections must be at least 1, not {self.projections!r}")

    def stepping_model(self, model: Model) -> Model:
        # If the velocities undid penetration, bodies would separate with them.
        return super().stepping_model(model).with_recovery_speed(0.0)

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
        outcome = step.system.close_joints(step.model, step.state, outcome, CORRECTIONS)
        after = integrate_step(step, outcome)
        report = report_step(self, step, solution, outcome, after)
        gradient, length = plain(self.gradient), step.system.h
        after, statistics = project(
            step.model, after, self.projections, self.solver, self.stop, gradient, length
        )
        carry_after = pack_carry(step, outcome, after)
        return mask_invalid(self, carry_after, with_solve(report, statistics))
