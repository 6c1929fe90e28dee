"""Explanation of a derivative: what contacts do in every step, and how far to trust it."""

from dataclasses import dataclass, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from jaxccp.ccp import DerivativeStatus, Law, Problem, Solution, Status
from jaxccp.ccp.derivative.linear import FixedPointSystem, solve_linear
from jaxccp.ccp.derivative.linearization import projection_blocks, shear, sliding
from jaxccp.dynamics.contact.contact_data import Mode
from jaxccp.dynamics.step_report import StepReport
from jaxccp.dynamics.stepper import check_model_and_stepper
from jaxccp.dynamics.steppers import EulerStepper
from jaxccp.dynamics.steppers.parts import assemble_step, solve_step
from jaxccp.math import safe
from jaxccp.model import Model, State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class GradientExplanation:
    """The linear system behind the derivative of each step; steps come first."""

    report: StepReport
    """Reports with ``contact_data``: which contacts are open, stick and slide; and the status of
    solves."""
    contact_margin: Float[Array, "steps c"]
    """Distance of each contact from another mode [m/s]: the change of its velocity, or of its
    impulse per effective mass, that leads there. At 0 there is a kink."""
    scalar_margin: Float[Array, "steps s"]
    """Distance of limits and other scalar rows with bounds from another mode [m/s]."""
    condition: Float[Array, " steps"]
    """Condition number of the system, without the null space of redundant contacts: errors of the
    solution may be larger in the derivative by this factor."""
    undetermined: Int[Array, " steps"]
    """Dimension of the null space of redundant contacts."""
    adjoint_residual: Float[Array, " steps"]
    """Relative residual of the transposed system, solved as reverse mode does, for a right-hand
    side that has a solution."""

    def lines(self, bodies: tuple[str, ...]) -> list[str]:
        """Return one line of text for each step.

        Args:
            bodies: names of the bodies (``model.topology.bodies``).
        """
        data, solver = self.report.contact_data, self.report.solver
        assert data is not None
        data = jax.tree.map(np.asarray, data)
        # Smooth contacts come last; they have no mode that could change.
        live = data.live[:, : self.contact_margin.shape[1]]
        lines_ = []
        for step in range(len(self.condition)):
            margins = np.where(live[step], np.asarray(self.contact_margin[step]), np.inf)
            nearest = ""
            if live[step].any():
                contact = int(np.argmin(margins))
                pair = "–".join(bodies[body] for body in data.bodies[step, contact])
                mode = Mode(int(data.mode[step, contact])).name.lower()
                nearest = f"; nearest to switching {pair}, {mode}, {margins[contact]:.1e} m/s"
            status = Status(int(solver.status[step])).name.lower()
            worth = DerivativeStatus(int(solver.derivative[step])).name.lower()
            lines_.append(
                f"step {step}: {data.open[step]} open, {data.sticking[step]} sticking, "
                f"{data.sliding[step]} sliding{nearest}; condition {self.condition[step]:.1e}, "
                f"{self.undetermined[step]} undetermined, adjoint residual "
                f"{self.adjoint_residual[step]:.1e}; {status}, derivative {worth}"
            )
        return lines_


def explain_gradient(
    model: Model,
    state: State,
    stepper: EulerStepper,
    steps: int,
    controls: Float[Array, "steps nm"] | None = None,
) -> GradientExplanation:
    """Step ``steps`` times, and explain the derivative of every step.

    Costs a dense singular value decomposition a step: for looking into a gradient that surprises,
    not for training. Impulses [N s] are compared with velocities by each row's step size ρ
    (docs/model.md, *Residual and status*).

    Args:
        model: the model.
        state: initial state.
        stepper: the stepper whose gradient is in question.
        steps: number of steps.
        controls: control of each step and actuator; 0 when None.

    Raises:
        TypeError: the model is no :class:`jaxccp.Model`, or the stepper is none.
        ValueError: a step of the stepper is no single cone problem.
    """
    check_model_and_stepper(model, stepper)
    return _explained(model, state, stepper, steps, controls)


@partial(jax.jit, static_argnames=("stepper", "steps"))
def _explained(
    model: Model,
    state: State,
    stepper: EulerStepper,
    steps: int,
    controls: Float[Array, "steps nm"] | None,
) -> GradientExplanation:
    if controls is None:
        actuators = len(model.topology.linkage.actuators)
        controls = jnp.zeros((steps, actuators), state.position.dtype)
    stepper_ = replace(stepper, contact_data=True)

    def explain_step(carry, control: Array):
        step = assemble_step(stepper_, model, carry, None, control)
        solution, _ = solve_step(stepper_, step)
        after, report = stepper_.advance(model, carry, None, control)
        problem = step.system.problem
        return after, GradientExplanation(report, *_facts(problem, solution, stepper_.law))

    return lax.scan(explain_step, stepper_.init(model, state), controls, length=steps)[1]


def _facts(problem: Problem, solution: Solution, law: Law) -> tuple[Array, ...]:
    """Return the facts about a step's derivative, in the order of :class:`GradientExplanation`.

    Args:
        problem: the step's problem.
        solution: its solution.
        law: the contact law.

    Returns:
        Distances of the contacts [c] and scalar rows [s] from another mode [m/s], the condition
        number of the derivative's system, the dimension of its null space, and the relative
        residual of the adjoint solve.
    """
    cones, lam = problem.cones, solution.lam
    rho = problem.step_sizes()
    z = lam - rho * problem.corrected(problem.velocity(lam), law)
    scalars, contacts = cones.split(z / rho)
    mu, slant = cones.mu, jnp.sqrt(1 + cones.mu**2)
    normal, tangent = contacts[:, 0], safe.norm(contacts[:, 1:3])
    to_slip = jnp.abs(mu * normal - tangent) / slant
    to_lift = jnp.abs(normal + mu * tangent) / slant
    pressing = normal > 0
    margin = jnp.where(pressing & (mu * normal >= tangent), to_slip, jnp.minimum(to_slip, to_lift))
    # Without friction there is no sticking, and slip changes no mode.
    margin = jnp.where((mu == 0) | (normal + mu * tangent <= 0), to_lift, margin)
    scale, _ = cones.split(rho)
    bounds = jnp.minimum(jnp.abs(scalars - cones.lo / scale), jnp.abs(scalars - cones.hi / scale))
    if not len(z):
        return margin, bounds, jnp.ones(()), jnp.zeros((), jnp.int32), jnp.zeros(())
    slope, _ = sliding(cones, z, rho)
    sheared = shear(cones, slope if law == "ncp" else jnp.zeros_like(slope))
    complement, gain = projection_blocks(cones, z, rho)
    system = FixedPointSystem(problem.delassus, complement, gain @ sheared, gain)
    matrix = jax.vmap(system.apply, out_axes=1)(jnp.eye(len(z), dtype=z.dtype))
    values = jnp.linalg.svd(matrix, compute_uv=False)
    kept = values > values[0] * jnp.finfo(z.dtype).eps ** 0.6
    smallest = jnp.min(jnp.where(kept, values, values[0]))
    return (
        margin,
        bounds,
        values[0] / smallest,
        jnp.sum(~kept, dtype=jnp.int32),
        _adjoint_residual(system, matrix, law),
    )


def _adjoint_residual(system: FixedPointSystem, matrix: Array, law: Law) -> Array:
    exact = jnp.cos(jnp.arange(len(matrix), dtype=matrix.dtype))
    right = matrix.T @ exact
    error = jnp.zeros((), matrix.dtype)

    def solve(b: Array) -> Array:
        return solve_linear(system, b, error, symmetric=law == "ccp")

    (solution,) = jax.linear_transpose(solve, right)(right)
    return safe.divide(safe.norm(matrix.T @ solution - right), safe.norm(right))
