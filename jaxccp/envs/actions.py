"""What becomes of an action that is none."""

from collections.abc import Sequence

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxccp.envs.spec import Spec
from jaxccp.math.array_input import Dimension, Floats, as_floats


def as_action(
    spec: Spec, action: Float[Floats, " na"], names: Sequence[str] = ()
) -> Float[Array, " na"]:
    """Return an action as an array of floats; raise ``ValueError``, naming the actuators, for one
    of another shape."""
    actuators = [Dimension("actuators", size, names) for size in spec.shape]
    return as_floats("action", action, actuators, spec.dtype)


def admissible(
    spec: Spec, action: Float[Floats, " na"], names: Sequence[str] = ()
) -> tuple[Float[Array, " na"], dict[str, Int[Array, ""]]]:
    """The action with 0 in place of NaN, then clipped to its range, and how often that was needed.

    Args:
        spec: shape and range.
        action: as an agent has chosen it.
        names: of the actuators.

    Raises:
        ValueError: for an action of another shape, when the program is traced.
    """
    action = as_action(spec, action, names)
    unknown = jnp.isnan(action)
    known = jnp.where(unknown, 0.0, action)
    taken = jnp.clip(known, spec.low, spec.high)
    return taken, {
        "action_nan": jnp.sum(unknown, dtype=jnp.int32),
        "action_clipped": jnp.sum(taken != known, dtype=jnp.int32),
    }
