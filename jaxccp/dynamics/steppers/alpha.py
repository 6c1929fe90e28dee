"""One implicit step of second order, of which HHT, Newmark and generalised-α are cases."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.ccp.solution import Solution
from jaxccp.ccp.solve import solve
from jaxccp.collision.contact_cache import (
    WarmStart,
    cache_size,
    empty_warm_start,
    recall,
    remember,
    resized,
)
from jaxccp.collision.contact_memory import ContactMemory
from jaxccp.dynamics import reduced
from jaxccp.dynamics.checkpoints import keep_impulses
from jaxccp.dynamics.inputs import checked_inputs
from jaxccp.dynamics.second_order.acting import acting
from jaxccp.dynamics.second_order.closed import closed
from jaxccp.dynamics.second_order.newton import Newton, root
from jaxccp.dynamics.second_order.placed import placed
from jaxccp.dynamics.second_order.smooth_motion import check_smooth, smooth_motion, stretched
from jaxccp.dynamics.second_order.smooth_report import Touched, remembered, reported, with_rotors
from jaxccp.dynamics.second_order.touching import (
    Impulses,
    Touching,
    TouchingProblem,
    bounded_rows,
    touches,
)
from jaxccp.dynamics.second_order.unknowns import Unknowns
from jaxccp.dynamics.smooth import empty_memory, resized_memory
from jaxccp.dynamics.step_report import StepReport
from jaxccp.dynamics.stepper import Stepper, checked_start
from jaxccp.dynamics.steppers.parts import trusted
from jaxccp.dynamics.steppers.settings import ConeSettings
from jaxccp.model.activation import later
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.model.state_input import checked_state

ROUNDED = 2 / 3
"""Power of the machine epsilon, times the coordinates, up to which a change may be rounding: nodes'
positions have the rounding errors of metres, strains are their differences in short elements."""
SWEEPS = 2
"""Times that smooth motion and impulses are found in turn. The first has smooth forces without what
impulses change; the second leaves of that a part of order h³."""


class Coefficients(NamedTuple):
    """The coefficients of (1 − α_m) a⁺ + α_m a = (1 − α_f) v̇⁺ + α_f v̇, v⁺ = v + h ((1 − γ) a + γ
    a⁺) and q⁺ = q + h v + h² ((½ − β) a + β a⁺)."""

    alpha_m: float
    alpha_f: float
    beta: float
    gamma: float


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class AlphaCarry:
    """A state, and what the step that led to it leaves."""

    state: State
    warm_start: WarmStart
    """Impulses from which the next solve starts."""
    lag: Float[Array, " nv"]
    """By how much the scheme's acceleration a differs from v̇ [m/s², rad/s²]."""
    smooth: ContactMemory | None = None
    """What smooth contacts remember, if there are any that do."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _End:
    """What a step leads to under some accelerations and impulses."""

    lag: Float[Array, " nv"]
    velocity: Float[Array, " nv"]
    way: Float[Array, " nv"]
    """What the pose has moved on by [m, rad]."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Found:
    """What one sweep has found."""

    end: _End
    newton: Newton
    problem: TouchingProblem
    solution: Solution
    impulses: Impulses


@dataclass(frozen=True)
class AlphaScheme(ConeSettings, Stepper[AlphaCarry]):
    """Implicit stepping of second order, with hard contact at velocity level.

    The smooth part of the motion, M v̇ = f (:mod:`jaxccp.dynamics.second_order.smooth_motion`) with
    loops of joints held, is solved by Newton's method on generalised coordinates, whose rotations
    are updated on the group (Arnold & Brüls, Multibody Syst. Dyn. 18, 2007; Brüls, Cardona &
    Arnold, Mech. Mach. Theory 48, 2012). Velocities jump by the impulses of hard contacts, limits
    and dry friction, found from one cone problem (Chen, Acary, Virlez & Brüls, IJNME 96, 2013), and
    what positions miss is projected out of them (Brüls, Acary & Cardona, CMAME 281, 2014). What
    lasts acts in the middle of the step and impacts when they happen, so that rest, rolling and
    sliding are of second order too. ``report.newton`` says how the iterations went.
    """

    @property
    def coefficients(self) -> Coefficients:
        """The coefficients of the scheme."""
        raise NotImplementedError

    def init(self, model: Model, state: State | AlphaCarry) -> AlphaCarry:
        """What a sequence of steps starts from, or goes on from; as
        :meth:`jaxccp.EulerImplicitLinearized.init`.

        Raises:
            ValueError: for a model that has too many velocities, or rotors on families.
        """
        check_smooth(model, type(self).__name__)
        state = checked_start(model, state)
        if isinstance(state, AlphaCarry):
            warm_start = resized(state.warm_start, cache_size(model.topology))
            memory = resized_memory(state.smooth, model)
            return AlphaCarry(reduced.settle(model, state.state), warm_start, state.lag, memory)
        dtype = state.position.dtype
        count = model.topology.dofs.count + sum(len(here.v) for here in state.families)
        warm_start = empty_warm_start(model.topology, dtype)
        still, memory = jnp.zeros(count, dtype), empty_memory(model)
        return AlphaCarry(reduced.settle(model, state), warm_start, still, memory)

    def advance(
        self,
        model: Model,
        carry: AlphaCarry,
        force: Float[Array, "nb 6"] | None = None,
        control: Float[Array, " nm"] | None = None,
    ) -> tuple[AlphaCarry, StepReport]:
        """One step of a sequence under applied forces [N] and torques [N m] (world), and with the
        actuators' controls, 0 unless given, from what :meth:`init` or this has returned.

        Raises:
            ValueError: for a force or a control of another shape, such as one in the other's place.
        """
        h, c, state = self.h, self.coefficients, checked_state(model, carry.state)
        force, control = checked_inputs(model, force, control, state.position.dtype)
        memory = carry.smooth
        start = smooth_motion(model, state, control, force, memory)
        memory = stretched(model, state, memory, 0.5 * h)
        before = start.acceleration + carry.lag
        sought = Unknowns.of(model, state)
        then = later(model.actuators, model.activations, state, control, h, exact=True)

        def ends(x: Array, known: Impulses | None) -> _End:
            x = x[sought.multipliers :]
            forces = (1.0 - c.alpha_f) * x + c.alpha_f * start.acceleration
            after = (forces - c.alpha_m * before) / (1.0 - c.alpha_m)
            velocity = start.velocity + h * ((1.0 - c.gamma) * before + c.gamma * after)
            way = h * start.velocity + h * h * ((0.5 - c.beta) * before + c.beta * after)
            if known is not None:
                velocity, way = velocity + known.velocity, way + h * known.transport
            return _End(after - x, velocity, way)

        def at(end: _End) -> State:
            return placed(model, then, end.way, end.velocity)

        def balanced(guess: Array, known: Impulses | None) -> tuple[Array, Newton]:
            def missed(x: Array) -> Array:
                there = at(ends(x, known))
                return sought.missed(x, acting(model, there, control, force, memory, 0.5 * h))

            tolerance = self.stop.absolute(state.position.dtype) / h
            rounding = _rounding(state) / (soft * soft)
            return root(missed, guess, tolerance, rounding, sought.factorised, sought.multipliers)

        soft = h * (c.beta * (1.0 - c.alpha_f) / (1.0 - c.alpha_m)) ** 0.5
        if not touches(model):
            x, newton = balanced(sought.start(start), None)
            return self._left(
                model, carry, memory, then, ends(x, None), newton, None, control, force
            )

        touching = Touching.of(model, start, before, h, soft, self.gradient)
        rows = bounded_rows(model.topology.linkage)
        guesses = recall(carry.warm_start, touching.contacts)
        known = touching.nothing(guesses.impulses, guesses.scalars[rows])

        # Reverse mode computes a sweep again from its start: else it would stack some 500 arrays.
        @keep_impulses
        def sweep(now: tuple[Array, Impulses], _: None) -> tuple[tuple[Array, Impulses], _Found]:
            x, newton = balanced(*now)
            known = now[1]
            end = ends(x, known)
            problem = touching.problem(at(end), end.velocity, known)
            solution = solve(
                problem.problem,
                self.algorithm(model),
                problem.guess(known),
                law=self.law,
                stop=self.stop,
                gradient=self.gradient,
                distant=touching.beyond,
                unique=self.unique,
            )
            impulses = problem.impulses(solution.lam)
            gained = touching.stiff.velocities.unwhiten(impulses.whitened - known.whitened)
            end = replace(
                end,
                velocity=end.velocity + gained,
                way=end.way + h * (impulses.transport - known.transport),
            )
            return (x, impulses), _Found(end, newton, problem, solution, impulses)

        _, sweeps = lax.scan(sweep, (sought.start(start), known), None, length=SWEEPS)
        found = jax.tree.map(lambda leaf: leaf[-1], sweeps)
        newton = found.newton.after(sweeps.newton.iterations)
        statistics = replace(
            found.solution.statistics,
            iterations=jnp.sum(sweeps.solution.statistics.iterations, dtype=jnp.int32),
        )
        solution = replace(found.solution, statistics=statistics)
        touched = Touched(touching, guesses, found.problem, solution, found.impulses)
        return self._left(model, carry, memory, then, found.end, newton, touched, control, force)

    def _left(
        self,
        model: Model,
        carry: AlphaCarry,
        memory: ContactMemory | None,
        then: State,
        end: _End,
        newton: Newton,
        touched: Touched | None,
        control: Array | None,
        force: Array | None,
    ) -> tuple[AlphaCarry, StepReport]:
        """The carry and the report of a step that leads to ``end``."""
        after, velocity, h = placed(model, then, end.way, end.velocity), end.velocity, self.h
        projected = None
        if touched is not None or len(model.topology.linkage.closing):
            after, velocity, projected = closed(
                model, after, velocity, h, self.algorithm(model), self.stop, self.gradient
            )
        last = smooth_motion(model, after, control, force, memory, 0.5 * h)
        report, scalars = reported(self, model, last, newton, touched, projected, control)
        warm_start = carry.warm_start
        if touched is not None:
            impulses, count = touched.impulses.contacts, cache_size(model.topology)
            warm_start = remember(touched.guesses, impulses, h * scalars, count)
        carry = AlphaCarry(with_rotors(last), warm_start, end.lag, remembered(last))
        return trusted(self, carry, report)


def _rounding(state: State) -> Float[Array, ""]:
    """By how much rounding errors may change coordinates [m, slopes as they are]."""
    coordinates = [state.position, *(here.q for here in state.families)]
    largest = jnp.stack([jnp.max(jnp.abs(x), initial=0.0) for x in coordinates]).max()
    return float(jnp.finfo(largest.dtype).eps) ** ROUNDED * lax.stop_gradient(largest)
