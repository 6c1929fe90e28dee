"""Euler implicit projected: velocities first, then positions."""

from dataclasses import dataclass, replace

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.dynamics.projection import project
from jaxccp.dynamics.report import StepReport
from jaxccp.dynamics.steppers.euler import EulerImplicitLinearized
from jaxccp.model.model import Model
from jaxccp.model.state import State


@dataclass(frozen=True)
class EulerImplicitProjected(EulerImplicitLinearized):
    """The same step, after which joint errors and penetration are projected out of the positions.

    What a chord of length h misses of an arc is then not left to the next step's velocities, as in
    Chrono's ``EULER_IMPLICIT_PROJECTED``: joints are closed to the tolerance of the solver, in m. A
    step costs a solve more for each projection. Velocities keep the direction they had before,
    of which the next step takes what joints do not allow: more energy is lost than without
    projection, to first order in h (``experiments/drift``).
    """

    projections: int = 1
    """Newton steps on the positions."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.projections < 1:
            raise ValueError(f"projections must be at least 1, not {self.projections!r}")

    def step(
        self,
        model: Model,
        state: State,
        force: Float[Array, "nb 6"] | None = None,
        control: Float[Array, " nm"] | None = None,
    ) -> tuple[State, StepReport]:
        after, report = super().step(model, state, force, control)
        after, found = project(model, after, self.projections, self.solver, self.stop)
        statistics = replace(
            report.solver,
            status=jnp.maximum(report.solver.status, found.status),
            iterations=report.solver.iterations + found.iterations,
        )
        return after, replace(report, solver=statistics)
