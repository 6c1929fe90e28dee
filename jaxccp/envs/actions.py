"""Checks of actions: shape, range, and entries that are not finite."""

from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxccp.envs.spec import Spec
from jaxccp.math import safe
from jaxccp.math.array_input import Dimension, Floats, as_floats


def as_action(
    spec: Spec, action: Float[Floats, " nu"], names: Sequence[str] = ()
) -> Float[Array, " nu"]:
    """Return an action as an array of floats.

    Args:
        spec: shape and dtype.
        action: the action.
        names: names of the actuators.

    Raises:
        ValueError: the action has another shape; the message lists the actuators.
    """
    actuators = [Dimension("actuators", size, names) for size in spec.shape]
    return as_floats("action", action, actuators, spec.dtype)


def admissible(
    spec: Spec, action: Float[Floats, " nu"], names: Sequence[str] = ()
) -> tuple[Float[Array, " nu"], dict[str, Int[Array, ""]]]:
    """Return the action with NaN, and infinity where there is no limit to clip it to, replaced by 0
    and clipped to its range, and the number of entries changed by each.

    Args:
        spec: shape and range.
        action: action chosen by an agent.
        names: names of the actuators.

    Raises:
        ValueError: the action has another shape; this is found when the program is traced.
    """
    action = as_action(spec, action, names)
    unknown = ~jnp.isfinite(jnp.clip(action, spec.low, spec.high))
    finite = jnp.where(unknown, 0.0, action)
    clipped = safe.clip(finite, jnp.asarray(spec.low), jnp.asarray(spec.high))
    return clipped, {
        "action_nan": jnp.sum(unknown, dtype=jnp.int32),
        "action_clipped": jnp.sum(clipped != finite, dtype=jnp.int32),
    }
