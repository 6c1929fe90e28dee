"""Inputs of a step: forces on the bodies and controls of the actuators."""

from types import EllipsisType
from typing import Any

from jaxtyping import Array, Float

from jaxccp.math.array_input import Dimension, Floats, as_floats
from jaxccp.model.model import Model

Inputs = tuple[Array | None, Array | None]
"""Forces and controls, each an array or None."""


def checked_inputs(
    model: Model,
    force: Float[Floats, "*steps nb 6"] | None,
    control: Float[Floats, "*steps nm"] | None,
    dtype: Any,
    steps: int | None = None,
    batched: bool = False,
) -> tuple[Float[Array, "*steps nb 6"] | None, Float[Array, "*steps nm"] | None]:
    """Return forces and controls of one step, or of several, as arrays of floats.

    Args:
        model: nb bodies, nm actuators.
        force: force [N] and torque [N m] on each body.
        control: control of each actuator.
        dtype: dtype of the results.
        steps: number of steps; None for a single step without a time axis.
        batched: whether there may be leading axes before the time axis.

    Raises:
        ValueError: an array has another shape, such as ``force`` given as ``control``.
    """
    bodies = Dimension.named("bodies", model.topology.bodies)
    actuators = Dimension.named("actuators", model.topology.linkage.actuators)
    leading: list[Dimension | int | EllipsisType] = [...] if batched else []
    many = () if steps is None else (steps,)
    leading += [Dimension("steps", size) for size in many]
    plural = "" if steps is None else "s"
    swapped = {
        "force": {(*many, actuators.size): f", which is that of control{plural}=…"},
        "control": {(*many, bodies.size, 6): f", which is that of force{plural}=…"},
    }

    def checked(name: str, value: Any, *expected: Dimension | int) -> Array | None:
        if value is None:
            return None
        shape = [*leading, *expected]
        return as_floats(f"{name}{plural}", value, shape, dtype, swapped[name])

    return checked("force", force, bodies, 6), checked("control", control, actuators)
