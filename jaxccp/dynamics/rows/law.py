"""Force laws of tendons, linearised over a step."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.dynamics.rows.row import Step
from jaxccp.model.tendons.functions import force_and_slopes


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LinearLaw:
    """The force law F(l, l̇) of tendons linearised as ``force`` − damping l̇⁺ − h stiffness l̇⁺,
    with zeros for all axes before them."""

    force: Float[Array, " k"]
    """Force at rate l̇⁺ = 0 [N, N m]."""
    stiffness: Float[Array, " k"]
    """−∂F/∂l where positive [N/m, N m]."""
    damping: Float[Array, " k"]
    """−∂F/∂l̇ where positive [N s/m, N m s]."""


def linear_law(step: Step) -> LinearLaw:
    """Linearise the force laws F(l, l̇, t) of tendons at the state before the step and the time
    after it (Rosenbrock–Euler).

    Resisting slopes, that is positive −∂F/∂l and −∂F/∂l̇, are implicit: they become stiffness and
    damping in the row of the spring (:func:`jaxccp.dynamics.rows.spring.spring`). Others, such as a
    negative stiffness, are left out, so the force does not depend on the new rate through them.
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
    """Return the wrenches of force laws on the bodies without their implicit part, world axes [N, N
    m]."""
    index = len(step.model.topology.linkage.axes) + step.model.tendons.laws.index
    return step.body_wrenches(index, linear_law(step).force[index])
