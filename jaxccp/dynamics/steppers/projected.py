"""Euler implicit projected: velocities first, then positions."""

from dataclasses import dataclass, replace

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.derivative import plain
from jaxccp.dynamics.projection import project
from jaxccp.dynamics.step_report import StepReport, with_solve
from jaxccp.dynamics.stepper import Stepper
from jaxccp.dynamics.steppers.parts import (
    assembled,
    corrected,
    moved,
    remembered,
    reported,
    solved,
    trusted,
)
from jaxccp.dynamics.steppers.settings import ImpulseCarry, Settings
from jaxccp.model.model import Model

CORRECTIONS = 4
"""Of the velocities; each leaves h ω of the one before. What they leave is projected out of the
positions, at the expense of angular momentum."""


@dataclass(frozen=True)
class EulerImplicitProjected(Settings, Stepper[ImpulseCarry]):
    """The step of :class:`jaxccp.EulerImplicitLinearized`, after which joint errors and penetration
    are projected out of the positions.

    What a chord of length h misses of an arc is not left to the next step, as in Chrono's
    ``EULER_IMPLICIT_PROJECTED``: joints are closed to the tolerance of the solver, in m. Before the
    poses move, the velocities are corrected, along the joints' present rows, by what their end
    would miss: that is SHAKE (Ryckaert, Ciccotti & Berendsen, J. Comput. Phys. 23, 1977), which
    keeps momentum, and energy over long times. The projections of the moved poses, of contacts and
    limits above all, are no velocity: bodies that overlap are moved apart at once and stay at rest,
    whatever the model's recovery speed. Without elimination there are only these, and joints lose
    energy.
    """

    projections: int = 1
    """Newton steps on the positions."""

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
    ) -> tuple[ImpulseCarry, StepReport]:
        """Take one step of a sequence, as :meth:`jaxccp.EulerImplicitLinearized.advance` does."""
        model = self.seen(model)
        # Were penetration undone through the velocities, bodies would depart with them.
        still = jnp.zeros_like(model.contact.recovery_speed)
        patient = replace(model, contact=replace(model.contact, recovery_speed=still))
        step = assembled(self, patient, carry, force, control)
        solution, outcome = solved(self, step)
        outcome = corrected(step, outcome, CORRECTIONS)
        after = moved(step, outcome)
        report = reported(self, step, solution, outcome, after)
        reduces, many = self.reduces(model), self.projections
        after, found = project(
            model, after, many, self.solver, self.stop, plain(self.gradient), reduces, self.h
        )
        left = remembered(step, outcome, after)
        return trusted(self, left, with_solve(report, found))
