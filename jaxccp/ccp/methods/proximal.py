"""A semismooth Newton step of the proximal point method, for use near the solution.

Newton's method on the fixed point of the augmented Lagrangian, λ = Π_K(λ − σ ρ ũ), with a large σ
(Alart & Curnier, CMAME 92, 1991; regularised as the proximal point method, Rockafellar, SIAM J.
Control Optim. 14, 1976). It converges quadratically near the solution. Velocities are computed from
impulses η, which need not be in K.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float, Int

from jaxccp.ccp.derivative.linear import Inverse
from jaxccp.ccp.derivative.linearization import proximal_blocks, shear, sliding
from jaxccp.ccp.operators.blocks import BlockDiagonal
from jaxccp.ccp.problem import Problem
from jaxccp.ccp.solver import Task
from jaxccp.math import safe

WEIGHTS = (1e4, 1e6, 1e8)
SINGLE_WEIGHTS = (1e1, 1e2, 1e3)
"""Weights σ in single precision, above in double precision. A larger σ converges faster near the
solution, but from a smaller neighbourhood. Rounding errors of velocities are multiplied by it in
the impulses."""
SEARCHES = 10
"""Steps of the line search."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Linearisation:
    """The linearisation at multipliers λ and impulses η for a Newton step."""

    eta: Float[Array, " n"]
    """η [N s]."""
    right: BlockDiagonal
    """G = √(J σ ρ), J the Jacobian of the projection at ``z``."""
    shear: BlockDiagonal
    """S = ∂ũ/∂u."""
    large: Float[Array, " n"]
    """b, where the error Π_K(z) − η is G b + a."""
    small: Float[Array, " n"]
    """a, the part of that error in directions in which J is small."""
    z: Float[Array, " n"]
    """λ − σ ρ ũ."""
    steps: Float[Array, " n"]
    """σ ρ."""


def linearise(
    task: Task,
    weight: Int[Array, ""],
    anchor: Float[Array, " n"],
    eta: Float[Array, " n"],
    n_eta: Float[Array, " n"],
) -> Linearisation:
    """Return the linearisation at multipliers ``anchor`` and impulses ``eta``.

    Args:
        task: the problem and its law.
        weight: index of σ among the weights.
        anchor: multipliers λ [N s].
        eta: impulses η [N s], which need not be in K.
        n_eta: N η [m/s].
    """
    problem = task.problem
    cones = problem.cones
    single = jnp.finfo(task.rho.dtype).eps > 1e-10
    weights = jnp.asarray(SINGLE_WEIGHTS if single else WEIGHTS, task.rho.dtype)
    steps = weights[weight] * task.rho
    z = anchor - steps * problem.corrected(n_eta + problem.r, task.law)
    error = cones.project(z) - eta
    right, inverse, small = proximal_blocks(cones, z, steps)
    slope, _ = sliding(cones, z, steps)
    slope = slope if task.law == "ncp" else 0.0 * slope
    return Linearisation(
        eta=eta,
        right=right,
        shear=shear(cones, slope),
        large=inverse.apply(error),
        small=small.apply(error),
        z=z,
        steps=steps,
    )


def step(problem: Problem, current: Linearisation, solve: Inverse) -> Float[Array, " n"]:
    """Return the step d of η, (I + G G S N) d = e.

    With e = G b + a it is d = G y + a with (I + G S N G) y = b − G S N a. This avoids the
    cancellation of the first form, which grows with σ.

    Args:
        problem: n rows.
        current: the linearisation.
        solve: the inverse of I + G S N G.
    """
    coupled = current.shear.apply(problem.delassus.apply(current.small))
    return current.small + current.right.apply(solve(current.large - current.right.apply(coupled)))


def length(
    problem: Problem, current: Linearisation, d: Float[Array, " n"], n_d: Float[Array, " n"]
) -> Float[Array, ""]:
    """Return the fraction of the step d in [0, 1] that minimises the convex law's augmented
    Lagrangian.

    It is the root of the slope along d, which increases, found by alternating bisection and false
    position. It is 1 if the slope there is at most a tenth of that at 0.

    Args:
        problem: n rows.
        current: the linearisation.
        d: the step of η [N s].
        n_d: N d [m/s].
    """

    def slope(t: Array) -> Array:
        return n_d @ (
            current.eta + t * d - problem.cones.project(current.z - t * current.steps * n_d)
        )

    lower, upper = jnp.zeros((), d.dtype), jnp.ones((), d.dtype)
    first, last = slope(lower), slope(upper)

    def narrow(i: Array, carry: tuple[Array, ...]) -> tuple[Array, ...]:
        low, high, at_low, at_high = carry
        false = low + (high - low) * safe.divide(-at_low, at_high - at_low)
        t = jnp.where(i % 2 == 0, 0.5 * (low + high), jnp.clip(false, low, high))
        value = slope(t)
        down = value < 0
        return (
            jnp.where(down, t, low),
            jnp.where(down, high, t),
            jnp.where(down, value, at_low),
            jnp.where(down, at_high, value),
        )

    ends: tuple[Array, ...] = lax.fori_loop(0, SEARCHES, narrow, (lower, upper, first, last))
    low, high, at_low, at_high = ends
    best = jnp.where(-at_low < at_high, low, high)
    best = jnp.where(best > 0, best, high)
    return jnp.where(last > 0.1 * jnp.abs(first), best, upper)
