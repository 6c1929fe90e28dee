"""What acts on a model from outside: forces on its bodies and controls of its actuators."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.model.model import Model

Inputs = tuple[Array | None, Array | None]
"""Forces and controls."""


def check_inputs(
    model: Model,
    force: Float[Array, "*steps nb 6"] | None,
    control: Float[Array, "*steps nm"] | None,
    steps: int | None = None,
) -> None:
    """Raise ``ValueError`` unless shapes are those of one step, or of that many."""
    bodies, actuators = len(model.topology.free), len(model.topology.linkage.actuators)
    many = () if steps is None else (steps,)
    for given, words, shape, other, instead in (
        (force, ("force", "bodies", "6"), (bodies, 6), (actuators,), "control"),
        (control, ("control", "actuators"), (actuators,), (bodies, 6), "force"),
    ):
        if given is None or jnp.shape(given) == (*many, *shape):
            continue
        name, *axes = words
        if steps is not None:
            name, instead, axes = f"{name}s", f"{instead}s", ["steps", *axes]
        swapped = jnp.shape(given) == (*many, *other)
        raise ValueError(
            f"{name} must have shape ({', '.join(axes)}{',' * (len(axes) == 1)}) = "
            f"{(*many, *shape)}, not {jnp.shape(given)}"
            + (f", which is that of {instead}=…" if swapped else "")
        )
