"""Statics: find the pose in which a model rests."""

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.solution import Status
from jaxccp.dynamics.inertia import potential_energy
from jaxccp.dynamics.statics import constraints, forces, newton_step
from jaxccp.execution import trees
from jaxccp.math.implicit_root import attach
from jaxccp.model.inputs.state_input import checked_state
from jaxccp.model.kinematics.configuration import integrate_configuration, with_loop_coordinates
from jaxccp.model.model import Model
from jaxccp.model.row_order import row_order
from jaxccp.model.state import State

FIRST_STEP, MAX_STEP, STEP_GROWTH, STEP_SHRINK = 1.0, 1e6, 3.0, 0.1
"""Length of the first step and the largest one [s]; factors by which the next is longer or
shorter."""
_Rest = tuple[State, Array | None]
"""An equilibrium and its multipliers."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Equilibrium:
    """An equilibrium of a model, and how accurate it is; under ``vmap`` it has batch axes."""

    state: State
    """The state, with velocities 0; differentiable in the model."""
    status: Int[Array, ""]
    """A :class:`jaxccp.ccp.solution.Status`: CONVERGED, MAX_ITERATIONS, STALLED if no step lowered
    the potential energy, or NON_FINITE if the energy of the start is not finite."""
    step: Float[Array, ""]
    """Largest change of any coordinate in the last step that was accepted, or that ended the search
    [m, rad]."""
    iterations: Int[Array, ""]
    """Number of Newton steps tried."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Constraints:
    """Constraint forces along the rows, and the matrices of the last step."""

    force: Float[Array, " m"]
    """Multipliers λ of the rows [N, N m]."""
    factors: newton_step.NewtonFactors
    """Factors of H and A at the start of the last step."""

    @staticmethod
    def of(model: Model, state: State) -> "_Constraints | None":
        """Return zero forces for a model with constraints, None for any other."""
        if not constraints.has_constraints(model):
            return None
        h = jnp.asarray(FIRST_STEP, state.position.dtype)
        force = jnp.zeros(len(row_order(model.topology.linkage).loop_rows), h.dtype)
        shape, _ = jax.eval_shape(newton_step.factorise, model, state, force, h)
        factors = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shape)
        return _Constraints(force, factors)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Search:
    state: State
    potential: Float[Array, ""]
    """Potential energy of ``state`` [J]; of the start if there are constraints."""
    force: Float[Array, ""]
    """Norm of all generalised forces there in mixed units; it tells rest from rounding."""
    constraints: _Constraints | None
    h: Float[Array, ""]
    """Time of the next step [s]."""
    step: Float[Array, ""]
    """Largest change of any coordinate in the last accepted step [m, rad]."""
    iterations: Int[Array, ""]
    status: Int[Array, ""]


class _Trial(NamedTuple):
    change: Float[Array, " nv"]
    """Change of the pose, before corrections of constraint errors [m, rad]."""
    result: _Search
    """The search after the change."""
    lowers_merit: Bool[Array, ""]
    """Whether it lowers the energy (with constraints, a merit function), or halves the forces."""
    work: Float[Array, ""]
    """Work of the forces along the change [J]; the energy should fall by half of it."""
    potential: Float[Array, ""]
    """Potential energy before the change [J]."""


def equilibrium(
    model: Model, state: State, tolerance: float | None = None, max_iterations: int = 1000
) -> Equilibrium:
    """Find an equilibrium of a model, starting from ``state``.

    The model may have trees, families, closed loops, tendons with springs or of given length, and
    joints on frames of families. Contacts, limits and dry friction do not act. Balls with
    ``stiffnesses`` that differ have the energy ½ Σ k_i φ_i², so that the model rests where
    simulations do only where each φ is along an eigenvector of the stiffness, as in plane bending;
    elsewhere the torques of the two differ by the square of φ (:class:`jaxccp.Ball`).

    Each iteration is an implicit step of time h from rest, (M + h² K) Δ = h² f. h grows after a
    step that lowers the potential energy or halves the forces and shrinks after any other, until M
    no longer matters and the step is Newton's (pseudo-transient continuation: Kelley & Keyes, SIAM
    J. Numer. Anal. 35, 1998). Constraints have multipliers and use one dense matrix of all
    velocities (:mod:`jaxccp.dynamics.statics.constraints`).

    Derivatives of every order are those of the equilibrium f = 0, by the implicit function theorem.
    They are NaN at an unstable equilibrium, such as a straight column beyond its critical load, and
    do not exist at a pose from which a loop can move in two ways, such as a fully stretched one.

    Args:
        model: gravity, springs and the families' own forces act on it.
        state: the initial state.
        tolerance: largest last Newton step [m, rad]; 1e-9 in float64, 1e-4 in float32 if None. The
            search also ends at a longer step that would lower the energy by less than its rounding
            error and does not halve the forces, as in float32 for slender or stiff bodies.
        max_iterations: largest number of Newton steps.

    Returns:
        The equilibrium; differentiable in the model.

    Raises:
        ValueError: an array has another shape, or the model has forces without a potential, as
            of actuators, or velocities outside of a dense mass matrix: the message says which.
    """
    forces.check_conservative(model, "equilibrium")
    return _search(model, state, tolerance, max_iterations)


@partial(jax.jit, static_argnames=("max_iterations",))
def _search(
    model: Model, state: State, tolerance: float | None, max_iterations: int
) -> Equilibrium:
    """Find an equilibrium of a model that :func:`equilibrium` has checked."""
    state = checked_state(model, state)
    dtype = state.position.dtype
    tolerance = (1e-9 if dtype == jnp.float64 else 1e-4) if tolerance is None else tolerance
    limit = jnp.asarray(tolerance)
    fixed, start = lax.stop_gradient((model, forces.rest_state(model, state)))
    energy = potential_energy(fixed, start)
    status = jnp.where(jnp.isfinite(energy), Status.MAX_ITERATIONS, Status.NON_FINITE)
    search = _Search(
        start,
        energy,
        _force_norm(fixed, start),
        _Constraints.of(fixed, start),
        jnp.asarray(FIRST_STEP, dtype),
        jnp.asarray(jnp.inf, dtype),
        jnp.int32(0),
        status.astype(jnp.int32),
    )

    def unfinished(search_: _Search) -> Array:
        return (search_.status == Status.MAX_ITERATIONS) & (search_.iterations < max_iterations)

    final = lax.while_loop(unfinished, lambda search_: _iterate(fixed, search_, limit), search)
    force = None if final.constraints is None else final.constraints.force
    after = _after_step(fixed, fixed, final.state, final.constraints)
    good = (final.status == Status.CONVERGED) & jnp.all(jnp.isfinite(after[0].position))
    rest, _ = attach(_slope, trees.where(good, after, (final.state, force)), model)
    state = with_loop_coordinates(model, rest)
    return Equilibrium(state, final.status, final.step, final.iterations)


def _after_step(
    given: Model, model: Model, state: State, constraints_: _Constraints | None
) -> _Rest:
    """Return an equilibrium and its multipliers after a long Newton step, whose matrix is that of
    ``given`` and whose forces are those of ``model``; NaN if the matrix is not definite."""
    multipliers = None
    if constraints_ is None:
        step = _step(given, model, state, jnp.asarray(MAX_STEP, state.position.dtype), tangent=True)
    else:
        balance = constraints.balance_forces(model, state, constraints_.force)
        step, more = constraints_.factors.step(balance)
        multipliers = constraints_.force + more
    return integrate_configuration(model, state, step), multipliers


def _slope(root: _Rest, model: Model, change: Model) -> _Rest:
    """Return the change of an equilibrium and of its multipliers for that of the model. At rest the
    change of the matrix has no effect."""
    state, force = root
    constraints_ = None
    if force is not None:
        h = jnp.asarray(MAX_STEP, force.dtype)
        factors, _ = newton_step.factorise(model, state, force, h, tangent=True)
        constraints_ = _Constraints(force, factors)
    after = partial(_after_step, model, state=state, constraints_=constraints_)
    return jax.jvp(after, (model,), (change,))[1]


def _iterate(model: Model, search: _Search, limit: Float[Array, ""]) -> _Search:
    try_step = _try_step if search.constraints is None else _try_constrained_step
    trial = try_step(model, search)
    result, better = trial.result, trial.lowers_merit
    size = jnp.max(jnp.abs(trial.change), initial=0.0)
    # The possible gain is below the energies' rounding errors, and the forces do not fall.
    rounding = 2.0 * forces.energy_rounding_error(model, search.state, trial.potential)
    small = (size <= limit) | (~better & (0.5 * jnp.abs(trial.work) <= rounding))
    done = small & (search.h >= MAX_STEP)
    stuck = ~better & (search.h < 1e-6 * FIRST_STEP)
    status = jnp.where(done, Status.CONVERGED, jnp.where(stuck, Status.STALLED, search.status))
    h = jnp.where(
        better | small, jnp.minimum(search.h * STEP_GROWTH, MAX_STEP), search.h * STEP_SHRINK
    )
    kept = trees.where(better, result, search)
    before, after = search.constraints, result.constraints
    if before is not None and after is not None and kept.constraints is not None:
        # The factors are those at the start of the step, which are also right after a small
        # rejected step.
        factors = trees.where(better | small, after.factors, before.factors)
        kept = replace(kept, constraints=replace(kept.constraints, factors=factors))
    step = jnp.where(better | done, size, search.step)
    count = search.iterations + 1
    return replace(kept, h=h, step=step, iterations=count, status=status.astype(jnp.int32))


def _try_step(model: Model, search: _Search) -> _Trial:
    change = _step(model, model, search.state, search.h)
    after = integrate_configuration(model, search.state, change)
    potential = potential_energy(model, after)
    # Close to rest the energy changes by less than its rounding error, but the forces still fall.
    force = _force_norm(model, after)
    better = (potential < search.potential) | (force < 0.5 * search.force)
    result = replace(search, state=after, potential=potential, force=force)
    force_before = jnp.concatenate(forces.generalised_forces(model, search.state))
    return _Trial(change, result, better, force_before @ change, search.potential)


def _try_constrained_step(model: Model, search: _Search) -> _Trial:
    assert search.constraints is not None
    factors, start = newton_step.factorise(model, search.state, search.constraints.force, search.h)
    change, multiplier_change = factors.step(start)
    constraints_ = _Constraints(search.constraints.force + multiplier_change, factors)
    after = factors.close_constraints(model, integrate_configuration(model, search.state, change))
    better = factors.lowers_merit(
        start, constraints.balance_forces(model, after, constraints_.force), constraints_.force
    )
    result = replace(search, state=after, constraints=constraints_)
    return _Trial(change, result, better, start.force @ change, start.potential)


def _force_norm(model: Model, state: State) -> Float[Array, ""]:
    """Return the norm of all generalised forces, N and N m alike."""
    return jnp.sqrt(sum(jnp.sum(part**2) for part in forces.generalised_forces(model, state)))


def _step(
    model: Model, force_model: Model, state: State, h: Float[Array, ""], tangent: bool = False
) -> Float[Array, " nv"]:
    """Return the change Δ of the pose in a step of time h under the forces of ``force_model``.

    It is NaN if M + h² K of the trees is not positive definite. With ``tangent`` K is the exact
    stiffness of the families, otherwise the positive definite one of their steps.
    """
    tree, *family_forces = forces.generalised_forces(force_model, state)
    parts = [tree]
    if len(tree):
        matrix = forces.tree_mass(model, state) / h**2 + forces.tree_stiffness(model, state)
        # Add the size of rounding errors, above the stiffness of free motions in long steps.
        rounding = len(tree) * float(jnp.finfo(matrix.dtype).eps)
        matrix = matrix + rounding * jnp.diag(jnp.abs(jnp.diag(matrix)))
        parts = [jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(matrix), True), tree)]
    for family, family_state, force in zip(
        model.families, state.families, family_forces, strict=True
    ):
        root = (family.tangent_root if tangent else family.root)(family_state.q, h)
        parts.append(h**2 * root.unwhiten(root.whiten(force)))
    return jnp.concatenate(parts)
