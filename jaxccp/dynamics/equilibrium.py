"""Statics: where a model would rest."""

from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.solution import Status
from jaxccp.dynamics import at_rest, held, held_step
from jaxccp.dynamics.inertia import potential_energy
from jaxccp.math import trees
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.model.state_input import checked_state

FIRST, LONGEST, LONGER, SHORTER = 1.0, 1e6, 3.0, 0.1
"""Times [s] of the steps: of the first and at most; how much longer or shorter the next is."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Equilibrium:
    """An equilibrium is where a model rests, and how far to trust it; under ``vmap`` it has batch
    axes."""

    state: State
    """With velocities 0; differentiable in the model."""
    status: Int[Array, ""]
    """A :class:`jaxccp.ccp.solution.Status`: CONVERGED, MAX_ITERATIONS, STALLED where no step made
    the potential energy smaller, or NON_FINITE where the start has none."""
    step: Float[Array, ""]
    """Largest change of any coordinate that Newton's method would make next [m, rad]."""
    iterations: Int[Array, ""]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Hold:
    """Where anything is held: forces along the rows, and the matrices of the last step."""

    force: Float[Array, " m"]
    factors: held_step.Factors

    @staticmethod
    def of(model: Model, state: State) -> "_Hold | None":
        """Nothing, as yet."""
        if not held.acts(model):
            return None
        h = jnp.asarray(FIRST, state.position.dtype)
        force = jnp.zeros(len(model.topology.linkage.closing), h.dtype)
        shape, _ = jax.eval_shape(held_step.factorised, model, state, force, h)
        return _Hold(force, jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shape))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Search:
    state: State
    potential: Float[Array, ""]
    force: Float[Array, ""]
    """Norm of all generalised forces, which have several units: it tells rest from rounding."""
    hold: _Hold | None
    h: Float[Array, ""]
    step: Float[Array, ""]
    iterations: Int[Array, ""]
    status: Int[Array, ""]


class _Trial(NamedTuple):
    change: Float[Array, " nv"]
    then: _Search
    """Where the change leads."""
    better: Bool[Array, ""]
    work: Float[Array, ""]
    """Of the forces along the change, of which half is to be gained [J]."""
    potential: Float[Array, ""]
    """Where the change begins [J]."""


@partial(jax.jit, static_argnames=("max_iterations",))
def equilibrium(
    model: Model, state: State, tolerance: float | None = None, max_iterations: int = 1000
) -> Equilibrium:
    """The state of rest to which Newton's method comes from ``state``, of trees and families, with
    closed loops, tendons that are springs or held, and joints on frames.

    Each iteration is the implicit step of time h that the model would take from rest,
    (M + h² K) Δ = h² f, with h longer after one that lowers the potential energy and shorter after
    one that does not, up to where M no longer counts and it is Newton's (pseudo-transient
    continuation: Kelley & Keyes, SIAM J. Numer. Anal. 35, 1998). Derivatives are those of the
    equilibrium f = 0 by the implicit function theorem. Contacts and limits of joints are not
    looked at. What is held has multipliers, and one dense matrix of all velocities
    (:mod:`jaxccp.dynamics.held`). A pose of a loop at which it could go on in two ways, such as a
    stretched one, has no derivative.

    Args:
        model: gravity, springs and the families' own forces act on it.
        state: where to start.
        tolerance: of the last of Newton's steps [m, rad]; 1e-9 in float64, 1e-4 in float32 if None.
            A longer one is the last where it would gain less energy than rounding errors hide, and
            does not halve the forces, as in float32 of what is slender or stiff.
        max_iterations: after which to give up.

    Returns:
        Where the model rests; differentiable in the model.

    Raises:
        ValueError: the model has actuators, tendons with laws of force or more than 100 degrees of
            freedom of rigid bodies.
    """
    at_rest.check(model, "equilibrium")
    state = checked_state(model, state)
    dtype = state.position.dtype
    limit = jnp.asarray(
        (1e-9 if dtype == jnp.float64 else 1e-4) if tolerance is None else tolerance
    )
    fixed, start = lax.stop_gradient((model, at_rest.still(model, state)))
    energy = potential_energy(fixed, start)
    status = jnp.where(jnp.isfinite(energy), Status.MAX_ITERATIONS, Status.NON_FINITE)
    search = _Search(
        start,
        energy,
        _norm(fixed, start),
        _Hold.of(fixed, start),
        jnp.asarray(FIRST, dtype),
        jnp.asarray(jnp.inf, dtype),
        jnp.int32(0),
        status.astype(jnp.int32),
    )

    def going(now: _Search) -> Array:
        return (now.status == Status.MAX_ITERATIONS) & (now.iterations < max_iterations)

    found = lax.while_loop(going, lambda now: _searched(fixed, now, limit), search)
    found = lax.stop_gradient(found)
    # One more step, at whose start nothing but the forces depends on the model.
    if found.hold is None:
        last = _step(fixed, model, found.state, jnp.asarray(LONGEST, dtype), tangent=True)
    else:
        acting = held.balance(model, found.state, found.hold.force)
        last, _ = found.hold.factors.step(acting)
    usable = jnp.all(jnp.isfinite(last))
    rest = at_rest.moved(model, found.state, jnp.where(usable, last, 0.0))
    return Equilibrium(rest, found.status, found.step, found.iterations)


def _searched(model: Model, now: _Search, limit: Float[Array, ""]) -> _Search:
    trial = _tried(model, now) if now.hold is None else _tried_held(model, now)
    then, better = trial.then, trial.better
    size = jnp.max(jnp.abs(trial.change), initial=0.0)
    # What is left to gain is less than the rounding errors of the two energies that would tell, and
    # the forces do not fall.
    blur = 2.0 * at_rest.blur(model, now.state, trial.potential)
    small = (size <= limit) | (~better & (0.5 * jnp.abs(trial.work) <= blur))
    done = small & (now.h >= LONGEST)
    stuck = ~better & (now.h < 1e-6 * FIRST)
    status = jnp.where(done, Status.CONVERGED, jnp.where(stuck, Status.STALLED, now.status))
    h = jnp.where(better | small, jnp.minimum(now.h * LONGER, LONGEST), now.h * SHORTER)
    kept = trees.where(better, then, now)
    if now.hold is not None and then.hold is not None and kept.hold is not None:
        # Matrices are of where the step began: a small one that is refused has the right ones.
        factors = trees.where(better | small, then.hold.factors, now.hold.factors)
        kept = replace(kept, hold=replace(kept.hold, factors=factors))
    step = jnp.where(better | done, size, now.step)
    count = now.iterations + 1
    return replace(kept, h=h, step=step, iterations=count, status=status.astype(jnp.int32))


def _tried(model: Model, now: _Search) -> _Trial:
    change = _step(model, model, now.state, now.h)
    after = at_rest.moved(model, now.state, change)
    potential = potential_energy(model, after)
    # Close to rest the energy changes by less than its rounding error, but the forces still fall.
    force = _norm(model, after)
    better = (potential < now.potential) | (force < 0.5 * now.force)
    then = replace(now, state=after, potential=potential, force=force)
    push = jnp.concatenate(at_rest.forces(model, now.state))
    return _Trial(change, then, better, push @ change, now.potential)


def _tried_held(model: Model, now: _Search) -> _Trial:
    assert now.hold is not None
    factors, here = held_step.factorised(model, now.state, now.hold.force, now.h)
    change, more = factors.step(here)
    hold = _Hold(now.hold.force + more, factors)
    after = factors.closed(model, at_rest.moved(model, now.state, change))
    better = factors.better(here, held.balance(model, after, hold.force), hold.force)
    then = replace(now, state=after, hold=hold)
    return _Trial(change, then, better, here.push @ change, here.potential)


def _norm(model: Model, state: State) -> Float[Array, ""]:
    return jnp.sqrt(sum(jnp.sum(part**2) for part in at_rest.forces(model, state)))


def _step(
    model: Model, forced: Model, state: State, h: Float[Array, ""], tangent: bool = False
) -> Float[Array, " nv"]:
    """Δ of a step of time h under the forces of ``forced``; NaN where M + h² K of the trees is not
    positive definite. ``tangent``: with the families' own K, not one that keeps steps stable."""
    tree, *others = at_rest.forces(forced, state)
    parts = [tree]
    if len(tree):
        matrix = at_rest.tree_mass(model, state) / h**2 + at_rest.tree_stiffness(model, state)
        parts = [jax.scipy.linalg.cho_solve((jnp.linalg.cholesky(matrix), True), tree)]
    for family, here, force in zip(model.families, state.families, others, strict=True):
        root = (family.tangent_root if tangent else family.root)(here.q, h)
        parts.append(h**2 * root.velocities(root.whiten(force)))
    return jnp.concatenate(parts)
