"""A step of Newton's method towards rest of what is held (:mod:`jaxccp.dynamics.held`):

    H Δ − Aᵀ δ = f + Aᵀ λ,  A Δ = −φ,  H = M/h² + K − ∂(Aᵀ λ)/∂z,

one dense matrix of trees and families.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import block_diag, cho_solve
from jaxtyping import Array, Float

from jaxccp.dynamics import at_rest
from jaxccp.dynamics.held import Balance, curved, least, saddle_of
from jaxccp.dynamics.reduced.shake import errors
from jaxccp.math import safe
from jaxccp.math.saddle import Saddle
from jaxccp.model.model import Model
from jaxccp.model.state import State

CORRECTIONS = 2
"""Of what the rows miss after a step, which else would have to be short for them."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Factors:
    """H and A of one pose, factorised, in coordinates y = unit z in which entries are around 1."""

    unit: Float[Array, " nv"]
    """Root of a stiffness of each coordinate."""
    matrix: Float[Array, "nv nv"]
    """H."""
    root: Float[Array, "nv nv"]
    """Cholesky's factor of P H P + (1 − P), P the projection on what the rows leave; NaN where H
    allows motions there that lower the energy without end."""
    saddle: Saddle
    """Of A."""
    weight: Float[Array, " m"]
    """Root of a stiffness like that of what each row acts on."""

    def step(self, now: Balance) -> tuple[Float[Array, " nv"], Float[Array, " m"]]:
        """Δ and δ."""
        push, obeyed = now.push / self.unit, jnp.zeros_like(now.missed)
        closing = self._solved(jnp.zeros_like(push), now.missed)[0]
        left, _ = self._solved(push - self.matrix @ closing, obeyed)
        change = closing + cho_solve((self.root, True), left)
        _, less = self._solved(self.matrix @ change - push, obeyed)
        return change / self.unit, -less

    def closed(self, model: Model, state: State) -> State:
        """The state moved so that rows miss less: to first order, in the tangent that these are of,
        nothing."""

        def once(_: Array, at: State) -> State:
            change, _more = self._solved(jnp.zeros_like(self.unit), errors(model, at))
            return at_rest.moved(model, at, change / self.unit)

        return lax.fori_loop(0, CORRECTIONS, once, state)

    def better(self, now: Balance, then: Balance, hold: Float[Array, " m"]) -> Array:
        """Whether a step has made U − λ φ + ½ (weight φ)² smaller, λ being ``hold``, or has halved
        all forces."""
        merit, force = [], []
        for at in (now, then):
            stretch = self.weight * at.missed
            merit.append(at.potential - hold @ at.missed + 0.5 * stretch @ stretch)
            pull = self.saddle.rows.T @ (self.weight * stretch)
            force.append(jnp.sum((at.push / self.unit) ** 2) + jnp.sum(pull**2))
        return (merit[1] < merit[0]) | (force[1] < 0.25 * force[0])

    def _solved(self, push: Array, missed: Array) -> tuple[Array, Array]:
        found, more = self.saddle.solve(push[:, None], missed[:, None])
        return found[:, 0], more[:, 0]


def factorised(
    model: Model, state: State, hold: Float[Array, " m"], h: Float[Array, ""]
) -> tuple[Factors, Balance]:
    """The matrices of a step of time h, and what acts at its start.

    K is the families' own where H is then positive definite along what the rows leave, which it may
    be by what holds them; elsewhere the one that keeps steps stable.
    """
    coupled, rows, now = curved(model, state, hold)
    pairs = at_rest.families(model, state)
    tree = at_rest.tree_mass(model, state) / h**2
    masses = block_diag(tree, *(f.mass_matrix(s.q, 0.0) / h**2 for f, s in pairs))
    steady = block_diag(tree, *(f.mass_matrix(s.q, h) / h**2 for f, s in pairs))
    stiff = [at_rest.stiffness(model, *pair) for pair in pairs]
    stiff = coupled + block_diag(jnp.zeros_like(tree), *stiff)
    own = _factors(stiff + masses, rows)
    stable = _factors(coupled + steady, rows)
    usable = jnp.all(jnp.isfinite(own.root))
    return jax.tree.map(lambda *two: jnp.where(usable, *two), own, stable), now


def _factors(matrix: Float[Array, "nv nv"], rows: Float[Array, "m nv"]) -> Factors:
    length = safe.norm(rows)
    stiffness = jnp.abs(jnp.diag(matrix))
    along = safe.divide(jnp.sqrt(rows**2 @ stiffness), length)
    weight = safe.divide(along, least(length))
    # Rows count as springs here, lest what is soft itself seems to be all that they move.
    unit = jnp.sqrt(stiffness + weight**2 @ rows**2)
    saddle = saddle_of(rows, rows / unit)
    even = matrix / unit[:, None] / unit
    one = jnp.eye(len(unit), dtype=unit.dtype)
    free, _ = saddle.solve(one, jnp.zeros_like(rows))
    within = free @ even @ free + one - free
    # As much as rounding takes from it.
    within = within + len(unit) * float(jnp.finfo(unit.dtype).eps) * one
    return Factors(unit, even, jnp.linalg.cholesky(within), saddle, weight)
