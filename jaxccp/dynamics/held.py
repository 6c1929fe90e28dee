"""Statics of families with joints on their frames.

    f(z) + Aᵀ λ = 0,  φ(z) = 0,  A = ∂φ/∂z

for the pose z in tangent coordinates and the multipliers λ, forces along the rows. A step of
Newton's method solves H Δ − Aᵀ δ = f + Aᵀ λ, A Δ = −φ with H = M/h² + K − ∂(Aᵀ λ)/∂z, one dense
matrix of trees and families.
"""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import block_diag, solve_triangular
from jaxtyping import Array, Float

from jaxccp.dynamics import at_rest
from jaxccp.dynamics.inertia import potential_energy
from jaxccp.dynamics.reduced.shake import errors
from jaxccp.math import safe
from jaxccp.math.saddle import Saddle
from jaxccp.model.model import Model
from jaxccp.model.state import State

VANISHING = 0.1
"""Of the length of the longest row."""
CORRECTIONS = 2
"""Of what the rows miss after a step, which else would have to be short for them."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Balance:
    """What acts on a pose with given multipliers."""

    potential: Float[Array, ""]
    """U [J]."""
    push: Float[Array, " nv"]
    """f + Aᵀ λ."""
    missed: Float[Array, " m"]
    """φ [m, rad]."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Factors:
    """H and A of one pose, factorised."""

    root: Float[Array, "nv nv"]
    """Cholesky's factor of H + (weight A)ᵀ weight A; NaN where H allows motions along the rows that
    lower the energy without end."""
    springs: Float[Array, "m nv"]
    """weight A: rows as springs, which change nothing where rows are obeyed."""
    weight: Float[Array, " m"]
    """Root of a stiffness like that of what each row acts on."""
    saddle: Saddle

    def step(self, now: Balance) -> tuple[Float[Array, " nv"], Float[Array, " m"]]:
        """Δ and δ."""
        push = now.push - self.springs.T @ (self.weight * now.missed)
        free = solve_triangular(self.root, push, lower=True)
        found, more = self.saddle.solve(free[:, None], now.missed[:, None])
        return solve_triangular(self.root.T, found[:, 0], lower=False), more[:, 0]

    def closed(self, model: Model, state: State) -> State:
        """The state moved so that rows miss less: to first order, in the tangent that these are of,
        nothing."""

        def once(_: Array, at: State) -> State:
            missed = errors(model, at)
            nothing = jnp.zeros((len(self.root), 1), self.root.dtype)
            found, _more = self.saddle.solve(nothing, missed[:, None])
            return at_rest.moved(model, at, solve_triangular(self.root.T, found[:, 0], lower=False))

        return lax.fori_loop(0, CORRECTIONS, once, state)

    def better(self, now: Balance, then: Balance, hold: Float[Array, " m"]) -> Array:
        """Whether a step has made U − λ φ + ½ (weight φ)² smaller, λ being ``hold``, or has halved
        all forces."""
        merit, force = [], []
        for at in (now, then):
            stretch = self.weight * at.missed
            merit.append(at.potential - hold @ at.missed + 0.5 * stretch @ stretch)
            force.append(jnp.sum(at.push**2) + jnp.sum((self.springs.T @ stretch) ** 2))
        return (merit[1] < merit[0]) | (force[1] < 0.25 * force[0])


def factorised(
    model: Model, state: State, hold: Float[Array, " m"], h: Float[Array, ""]
) -> tuple[Factors, Balance]:
    """The matrices of a step of time h, and what acts at its start.

    K is the families' own where H is then positive definite along what the rows leave, which it may
    be by what holds them; elsewhere the one that keeps steps stable.
    """

    def acting(z: Array) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        found = _slope(model, state, hold, z)
        return found, found

    (coupled, rows), found = jax.jacfwd(acting, has_aux=True)(_no_change(model, state))
    length = safe.norm(rows)
    # A row that hardly anything moves here is not to count for more than it does elsewhere.
    least = jnp.maximum(length, VANISHING * jnp.max(length, initial=0.0))
    pairs = at_rest.families(model, state)

    def sprung(own: Array) -> tuple[Array, Array, Array]:
        """With M/h² + K of trees and families by themselves."""
        matrix = own + coupled
        along = safe.divide(jnp.sqrt(rows**2 @ jnp.abs(jnp.diag(matrix))), length)
        weight = safe.divide(along, least)
        springs = weight[:, None] * rows
        matrix = matrix + springs.T @ springs
        # As much as rounding takes from it.
        most = len(matrix) * float(jnp.finfo(matrix.dtype).eps)
        return jnp.linalg.cholesky(matrix + most * jnp.diag(jnp.diag(matrix))), springs, weight

    trees = at_rest.tree_mass(model, state) / h**2
    masses = [f.mass_matrix(s.q, 0.0) / h**2 for f, s in pairs]
    stiff = [at_rest.stiffness(model, *pair) for pair in pairs]
    own = sprung(block_diag(trees, *map(jnp.add, masses, stiff)))
    stable = sprung(block_diag(trees, *(f.mass_matrix(s.q, h) / h**2 for f, s in pairs)))
    usable = jnp.all(jnp.isfinite(own[0]))
    root, springs, weight = (jnp.where(usable, *two) for two in zip(own, stable, strict=True))
    whitened = solve_triangular(root, rows.T, lower=True).T
    saddle = Saddle.of(whitened, safe.divide(jnp.ones_like(weight), weight))
    return Factors(root, springs, weight, saddle), _balance(model, state, *found)


def balance(model: Model, state: State, hold: Float[Array, " m"]) -> Balance:
    """What acts at rest with the multipliers ``hold``."""
    return _balance(model, state, *_slope(model, state, hold, _no_change(model, state)))


def _balance(model: Model, state: State, slope: Array, missed: Array) -> Balance:
    tree = jnp.zeros(model.topology.dofs.count, state.position.dtype)
    own = [at_rest.force(model, *pair) for pair in at_rest.families(model, state)]
    push = jnp.concatenate([tree, *own]) - slope
    return Balance(potential_energy(model, state), push, missed)


def _slope(
    model: Model, state: State, hold: Float[Array, " m"], z: Float[Array, " nv"]
) -> tuple[Float[Array, " nv"], Float[Array, " m"]]:
    """The slope of what :func:`_coupled` gives, and φ."""
    return jax.grad(_coupled, 3, has_aux=True)(model, state, hold, z)


def _coupled(
    model: Model, state: State, hold: Float[Array, " m"], z: Float[Array, " nv"]
) -> tuple[Float[Array, ""], Float[Array, " m"]]:
    """Potential of rigid bodies and of springs along axes, less λ φ, ``z`` away; and φ there."""
    there = at_rest.moved(model, state, z)
    missed = errors(model, there)
    rigid = replace(model, families=()), replace(there, families=())
    return potential_energy(*rigid) - hold @ missed, missed


def _no_change(model: Model, state: State) -> Float[Array, " nv"]:
    count = model.topology.dofs.count + sum(len(here.v) for here in state.families)
    return jnp.zeros(count, state.position.dtype)
