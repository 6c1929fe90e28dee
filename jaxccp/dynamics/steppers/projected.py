"""Euler implicit projected: velocities first, then positions."""

from dataclasses import dataclass, replace

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.derivative import plain
from jaxccp.dynamics.projection import project
from jaxccp.dynamics.step_report import StepReport, with_solve
from jaxccp.dynamics.stepper import StepLength, Stepper
from jaxccp.dynamics.steppers.parts import (
    assemble_step,
    correct_velocities,
    integrate_step,
    mask_invalid,
    pack_carry,
    report_step,
    solve_step,
)
from jaxccp.dynamics.steppers.settings import ImpulseCarry, Settings
from jaxccp.model.model import Model

CORRECTIONS = 4
"""Number of corrections of the velocities; each leaves h ω of the errors of the one before. The
rest is projected out of the positions, at the expense of angular momentum."""


@dataclass(frozen=True)
class EulerImplicitProjected(Settings, Stepper[ImpulseCarry]):
    """The step of :class:`jaxccp.EulerImplicitLinearized`, after which joint errors and penetration
    are projected out of the positions.

    The difference between a chord of length h and its arc is not left to the next step, as in
    Chrono's ``EULER_IMPLICIT_PROJECTED``: joints are closed to the tolerance of the solver, in m.
    Before the poses move, the velocities are corrected, along the joints' present rows, by the
    errors to which they would lead: that is SHAKE (Ryckaert, Ciccotti & Berendsen, J. Comput. Phys.
    23, 1977), which keeps momentum, and energy over long times. The projections of the new poses,
    of contacts and limits above all, are no velocity: bodies that overlap are moved apart at once
    and stay at rest, whatever the model's recovery speed. Without elimination there are only these,
    and joints lose energy.
    """

    projections: int = 1
    """Number of Newton steps on the positions."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.projections < 1:
            raise ValueError(f"projections must be at least 1, not {self.projections!r}")

    def advance(
        self,
        model: Model,
        carry: ImpulseCarry,
        force: Float[Array, "nb 6"] | None = None,
        control: Float[Array, " nm"] | None = None,
        *,
        h: StepLength | None = None,
    ) -> tuple[ImpulseCarry, StepReport]:
        """Take one step of a sequence, as :meth:`jaxccp.EulerImplicitLinearized.advance` does.

        Args:
            model: the model.
            carry: result of :meth:`init` or of the last :meth:`advance`.
            force: applied force [N] and torque [N m] on each body, world axes.
            control: control of each actuator, 0 when None.
            h: length of this step [s]; that of the settings when None.

        Returns:
            The carry of the next step, and the report.
        """
        model = self.stepping_model(model)
        # Were penetration undone through the velocities, bodies would depart with them.
        still = jnp.zeros_like(model.contact.recovery_speed)
        without_recovery = replace(model, contact=replace(model.contact, recovery_speed=still))
        step = assemble_step(self, without_recovery, carry, force, control, h)
        solution, outcome = solve_step(self, step)
        outcome = correct_velocities(step, outcome, CORRECTIONS)
        after = integrate_step(step, outcome)
        report = report_step(self, step, solution, outcome, after)
        reduces, many = self.reduces(model), self.projections
        gradient, length = plain(self.gradient), step.system.h
        after, statistics = project(
            model, after, many, self.solver, self.stop, gradient, reduces, length
        )
        carry_after = pack_carry(step, outcome, after)
        return mask_invalid(self, carry_after, with_solve(report, statistics))
