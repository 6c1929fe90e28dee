"""Euler implicit projected: velocities first, then positions."""

from dataclasses import dataclass, replace

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.dynamics import reduced
from jaxccp.dynamics.projection import project
from jaxccp.dynamics.reduced import ReducedSystem
from jaxccp.dynamics.step_report import StepReport
from jaxccp.dynamics.steppers.euler import EulerImplicitLinearized
from jaxccp.dynamics.system import Outcome, System
from jaxccp.model.kinematics import joint_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State

CORRECTIONS = 4
"""Of the velocities; each leaves h ω of the one before. What they leave is projected out of the
positions, at the expense of angular momentum."""


@dataclass(frozen=True)
class EulerImplicitProjected(EulerImplicitLinearized):
    """The same step, after which joint errors and penetration are projected out of the positions.

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
        state: State,
        force: Float[Array, "nb 6"] | None = None,
        control: Float[Array, " nm"] | None = None,
    ) -> tuple[State, StepReport]:
        # Were penetration undone through the velocities, bodies would depart with them.
        still = jnp.zeros_like(model.contact.recovery_speed)
        patient = replace(model, contact=replace(model.contact, recovery_speed=still))
        after, report = super().advance(patient, state, force, control)
        after, found = project(
            model,
            after,
            self.projections,
            self.solver,
            self.stop,
            self.gradient,
            self._reduces(model),
        )
        statistics = replace(
            report.solver,
            status=jnp.maximum(report.solver.status, found.status),
            derivative=jnp.maximum(report.solver.derivative, found.derivative),
            iterations=report.solver.iterations + found.iterations,
        )
        return self._trusted(after, replace(report, solver=statistics))

    def _corrected(
        self, model: Model, state: State, system: System | ReducedSystem, outcome: Outcome
    ) -> Outcome:
        if isinstance(system, ReducedSystem):
            return reduced.corrected(model, state, system, outcome, CORRECTIONS)
        if system.equalities is None or system.partition is None:
            return outcome
        equalities, kept = system.equalities, model.topology.linkage.routing.bilateral
        rows = system.partition.eliminated
        lengths = model.tendons.bilateral_length(state.time + self.h)
        none = jnp.zeros_like(outcome.twist)

        def plus(change: Array, impulses: Array) -> Outcome:
            twist, transport_velocity = outcome.twist + change, outcome.transport_velocity + change
            scalars = outcome.scalars.at[rows].add(impulses)
            return replace(
                outcome, twist=twist, transport_velocity=transport_velocity, scalars=scalars
            )

        def once(added: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
            motion = joint_motion(model, self._advance(model, state, plus(*added)))
            tendons = motion.tendon.length[kept] - lengths[kept]
            missed = jnp.concatenate([motion.error, tendons]) / self.h
            more = equalities.compliance.shape[0] - missed.shape[0]
            moved, impulses = equalities.solve(none, jnp.pad(missed, (0, more)))
            return (added[0] + system.root.apply(moved), added[1] + impulses), None

        start = (none, jnp.zeros_like(equalities.compliance))
        return plus(*lax.scan(once, start, None, length=CORRECTIONS)[0])
