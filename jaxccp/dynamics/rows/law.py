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
    """That acts whatever the new rate is [N, N m]."""
    stiffness: Float[Array, " k"]
    damping: Float[Array, " k"]


def linear_law(step: Step) -> LinearLaw:
    """F at l + h l̇⁺, l̇⁺ and the end of the step, to first order (Rosenbrock–Euler).

    What resists, −∂F/∂l and −∂F/∂l̇ where they are positive, is implicit and belongs into the row
    of the spring (:func:`jaxccp.dynamics.rows.spring.spring`); what does not, such as a negative
    stiffness, is taken as it stands.
    """
    tendon = step.motion.tendon
    found = force_and_slopes(step.model.tendons.laws, tendon.length, tendon.rate, step.end)
    force, resisting = found[:, 0], jnp.maximum(-found[:, 1:], 0.0)
    stiffness, damping = resisting[:, 0], resisting[:, 1]
    none = jnp.zeros_like(step.motion.coordinate)
    return LinearLaw(
        jnp.concatenate([none, force + damping * tendon.rate]),
        jnp.concatenate([none, stiffness]),
        jnp.concatenate([none, damping]),
    )


def pushed(step: Step) -> Float[Array, "nb 6"]:
    """Forces and torques of force laws on the bodies (world), but for what a row does."""
    index = len(step.model.topology.linkage.axes) + step.model.tendons.laws.index
    return step.push(index, linear_law(step).force[index])
