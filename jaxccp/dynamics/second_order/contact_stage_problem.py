"""The cone problem of a step of second order, and the effect of its impulses."""

from dataclasses import dataclass
from typing import cast

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.operators import WhitenedDelassus
from jaxccp.dynamics.second_order.mobility import Mobility
from jaxccp.dynamics.step.step_problem import StepProblem


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Impulses:
    """Impulses along the rows of a step, and the velocities that they add."""

    scalars: Float[Array, " s"]
    """Impulses along the rows of limits and dry friction [N s, N m s]."""
    contacts: Float[Array, "c w"]
    """Impulses of contacts in world axes."""
    whitened: Float[Array, " nv"]
    """Wᵀ λ, whitened velocities under the stiff mobility."""
    velocity: Float[Array, " nv"]
    """M⁻¹ Jᵀ λ [m/s, rad/s]."""
    transport: Float[Array, " nv"]
    """M⁻¹ Jᵀ times each impulse times the fraction of the step that is left when it acts [m/s,
    rad/s]."""
    loop_impulses: Float[Array, " m"]
    """Reaction impulses along the loop and tendon rows [N s, N m s]."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ContactStageProblem(StepProblem[Impulses]):
    """The cone problem of a step of second order, and the velocities that its multipliers add."""

    mobility: Mobility
    """Mobility of M."""
    jacobians: Float[Array, "n nv"]
    """J."""

    def after(self, lam: Float[Array, " n"]) -> Impulses:
        scalars, blocks = self.problem.cones.split(lam)
        saddle = self.mobility.saddle
        delassus = cast(WhitenedDelassus, self.problem.delassus)
        no_drift = jnp.zeros(0 if saddle is None else len(saddle.rows), lam.dtype)
        velocity, loop_impulses = self.mobility.accelerations(lam @ self.jacobians, no_drift)
        early = self.action.weight_by_remaining_time(self.problem, lam)
        transport, _ = self.mobility.accelerations(early @ self.jacobians, no_drift)
        world = self.units.to_world(blocks)
        return Impulses(
            scalars=scalars,
            contacts=world,
            whitened=delassus.impulse(lam),
            velocity=velocity,
            transport=transport,
            loop_impulses=loop_impulses,
        )
