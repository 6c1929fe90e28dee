"""A Newton step on the fixed point of projected iterations."""

import jax.numpy as jnp
from jaxtyping import Array

from jaxccp.ccp.derivative.linear import FixedPointSystem
from jaxccp.ccp.derivative.linearization import projection_blocks, shear, sliding
from jaxccp.ccp.solver import Task


def newton_step(task: Task, lam: Array, n_lam: Array) -> Array:
    """Return the result of a Newton step on λ = Π_K(λ − ρ ũ), projected on K.

    With e = Π_K(z) − λ the step is e + G x, [(I − J) + G S N G] x = G (e / ρ − S N e), as in the
    derivative (:mod:`jaxccp.ccp.derivative`).

    Args:
        task: the problem and its law.
        lam: multipliers to step from [N s].
        n_lam: N λ [m/s].
    """
    problem, cones, rho = task.problem, task.problem.cones, task.rho
    z = lam - rho * problem.corrected(n_lam + problem.r, task.law)
    error = cones.project(z) - lam
    complement, gain = projection_blocks(cones, z, rho)
    left, coupled = gain, problem.delassus.apply(error)
    if task.law == "ncp":
        sheared = shear(cones, sliding(cones, z, rho)[0])
        left, coupled = gain @ sheared, sheared.apply(coupled)
    system = FixedPointSystem(problem.delassus, complement, left, gain)
    ridge = float(jnp.finfo(lam.dtype).eps ** 0.6)
    solve = system.factorised(ridge, symmetric=task.law == "ccp").solve
    return cones.project(lam + error + gain.apply(solve(gain.apply(error / rho - coupled))))
