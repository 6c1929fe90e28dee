"""Force laws of tendons, linearised over a step."""

from dataclasses import dataclass

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.dynamics.rows.row import Step
from jaxccp.model.tendons.functions import force_and_slopes


@dataclass(frozen=True)
class LinearLaw:
    """F(l, l̇) of all axes, then of all tendons, as ``force`` − damping l̇⁺ − h stiffness l̇⁺."""

    force: Float[Array, " k"]
    """Force at rate l̇⁺ = 0 [N, N m]."""
    stiffness: Float[Array, " k"]
    """−∂F/∂l where positive [N/m, N m]."""
    damping: Float[Array, " k"]
    """−∂F/∂l̇ where positive [N s/m, N m s]."""


def linear_law(step: Step) -> LinearLaw:
    """Linearise F at l + h l̇⁺, l̇⁺ and the end of the step (Rosenbrock–Euler).

    Slopes that resist, −∂F/∂l and −∂F/∂l̇ where they are positive, are implicit and belong into the
    row of the spring (:func:`jaxccp.dynamics.rows.spring.spring`); others, such as a negative
    stiffness, are explicit.
    """
    tendon = step.motion.tendon
    force_and_slope = force_and_slopes(
        step.model.tendons.laws, tendon.length, tendon.rate, step.end
    )
    force, resisting = force_and_slope[:, 0], jnp.maximum(-force_and_slope[:, 1:], 0.0)
    stiffness, damping = resisting[:, 0], resisting[:, 1]
    none = jnp.zeros_like(step.motion.coordinate)
    return LinearLaw(
        jnp.concatenate([none, force + damping * tendon.rate]),
        jnp.concatenate([none, stiffness]),
        jnp.concatenate([none, damping]),
    )


def law_wrenches(step: Step) -> Float[Array, "nb 6"]:
    """Return the wrenches of force laws on the bodies [N, N m], world, without their implicit
    parts."""
    index = len(step.model.topology.linkage.axes) + step.model.tendons.laws.index
    return step.body_wrenches(index, linear_law(step).force[index])
