"""What becomes of an action that is none."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxccp.envs.spec import Spec


def admissible(
    spec: Spec, action: Float[Array, " na"]
) -> tuple[Float[Array, " na"], dict[str, Int[Array, ""]]]:
    """The action with 0 in place of NaN, then clipped to its range, and how often that was needed.

    Raises:
        ValueError: for an action of another shape, when the program is traced.
    """
    if jnp.shape(action) != spec.shape:
        raise ValueError(
            f"an action must have shape {spec.shape}, not {jnp.shape(action)}; actions of many "
            "copies go through jax.vmap"
        )
    action = jnp.asarray(action, spec.dtype)
    unknown = jnp.isnan(action)
    known = jnp.where(unknown, 0.0, action)
    taken = jnp.clip(known, spec.low, spec.high)
    return taken, {
        "action_nan": jnp.sum(unknown, dtype=jnp.int32),
        "action_clipped": jnp.sum(taken != known, dtype=jnp.int32),
    }
