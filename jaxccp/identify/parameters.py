"""The parameters that can be identified: named numbers of a model, with bounds and scales."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.math import quaternion
from jaxccp.model.model import Model


@dataclass(frozen=True)
class Parameter:
    """A number that can be identified; it stays strictly between its bounds."""

    meaning: str
    unit: str
    initial: float
    lower: float
    upper: float
    scale: float
    """A typical change of the parameter, the unit of the optimiser's steps."""
    apply: Callable[[Model, Array], Model]
    """From a model and a value to the model with this value."""


def _surface(name: str) -> Callable[[Model, Array], Model]:
    """A parameter of every surface alike, so that two surfaces combine to the value itself."""

    def apply(model: Model, value: Array) -> Model:
        column = jnp.broadcast_to(value, getattr(model.shapes, name).shape)
        return replace(model, shapes=replace(model.shapes, **{name: column}))

    return apply


def _on_body(name: str) -> Callable[[Model, Array], Model]:
    """A parameter of the shapes on free bodies; those on fixed bodies keep their value."""

    def apply(model: Model, value: Array) -> Model:
        column = getattr(model.shapes, name)
        moving = _moving(model).reshape(-1, *[1] * (column.ndim - 1))
        column = jnp.where(moving, value, column)
        return replace(model, shapes=replace(model.shapes, **{name: column}))

    return apply


def _moving(model: Model) -> np.ndarray:
    return model.topology.free[model.topology.shape_body]


def _inertia(model: Model, value: Array) -> Model:
    return replace(model, bodies=replace(model.bodies, inertia=value * model.bodies.inertia))


def _height(model: Model, value: Array) -> Model:
    ground = jnp.asarray(~_moving(model), value.dtype)[:, None]
    shift = ground * value * jnp.asarray([0.0, 0.0, 1.0], value.dtype)
    return replace(model, shapes=replace(model.shapes, position=model.shapes.position + shift))


def _tilt(axis: int) -> Callable[[Model, Array], Model]:
    def apply(model: Model, value: Array) -> Model:
        turn = quaternion.exp(value * jnp.eye(3, dtype=value.dtype)[axis])
        still = model.shapes.quaternion
        tilted = quaternion.multiply(jnp.broadcast_to(turn, still.shape), still)
        turned = jnp.where(_moving(model)[:, None], still, tilted)
        return replace(model, shapes=replace(model.shapes, quaternion=turned))

    return apply


def _gravity(model: Model, value: Array) -> Model:
    return replace(model, gravity=value * model.gravity)


PARAMETERS: dict[str, Parameter] = {
    "friction": Parameter("Coulomb coefficient", "", 0.3, 0.01, 1.5, 0.05, _surface("friction")),
    "restitution": Parameter(
        "separation over approach speed", "", 0.2, 0.001, 0.95, 0.05, _surface("restitution")
    ),
    "impact_friction": Parameter(
        "of impacts, relative to friction", "", 1.0, 0.1, 3.0, 0.1, _surface("impact_friction")
    ),
    "inertia": Parameter(
        "inertia over mass, relative to nominal", "", 1.0, 0.5, 2.0, 0.05, _inertia
    ),
    "half_width": Parameter("of the box", "m", 0.0524, 0.045, 0.06, 5e-4, _on_body("size")),
    "rounding": Parameter(
        "radius of edges and corners", "m", 0.002, 1e-5, 0.02, 1e-3, _on_body("radius")
    ),
    "ground_height": Parameter("of the plane", "m", 0.0, -0.02, 0.02, 5e-4, _height),
    "ground_tilt_x": Parameter("of the plane about x", "rad", 0.0, -0.1, 0.1, 3e-3, _tilt(0)),
    "ground_tilt_y": Parameter("of the plane about y", "rad", 0.0, -0.1, 0.1, 3e-3, _tilt(1)),
    "compliance": Parameter(
        "of the contact", "m/N", 2e-5, 1e-7, 1e-3, 1e-5, _on_body("compliance")
    ),
    "damping": Parameter(
        "relaxation time of the contact", "s", 2e-3, 1e-5, 0.05, 1e-3, _on_body("damping")
    ),
    "gravity": Parameter("relative to nominal", "", 1.0, 0.8, 1.2, 0.01, _gravity),
}
"""The mass is not among them: recorded poses depend only on ratios of other numbers to it."""

DEFAULT = (
    "friction",
    "impact_friction",
    "restitution",
    "inertia",
    "half_width",
    "rounding",
    "ground_height",
    "gravity",
)


def known(names: Sequence[str]) -> tuple[str, ...]:
    """``names``; raises ``ValueError``, listing all parameters, if one is unknown or repeated."""
    unknown = [name for name in names if name not in PARAMETERS]
    if unknown or not names or len(set(names)) < len(names):
        what = ", ".join(unknown) or "an empty or repeated list"
        raise ValueError(f"cannot identify {what}; choose among {', '.join(PARAMETERS)}")
    return tuple(names)


def to_physical(names: Sequence[str], free: Float[Array, " p"]) -> Float[Array, " p"]:
    """Values between their bounds from unconstrained numbers.

    Each is a logistic function whose slope in the middle of the range is the parameter's scale, so
    that one length of step suits parameters of all units.
    """
    lower, upper, scale = columns(names)
    share = jax.nn.sigmoid(4.0 * scale / (upper - lower) * free)
    return jnp.asarray(lower) + jnp.asarray(upper - lower) * share


def to_free(names: Sequence[str], values: Mapping[str, float]) -> Float[np.ndarray, " p"]:
    """The inverse of :func:`to_physical`; raises ``ValueError`` for values out of bounds."""
    lower, upper, scale = columns(names)
    physical = np.array([values[name] for name in names], float)
    for name, value, low, high in zip(names, physical, lower, upper, strict=True):
        if not low < value < high:
            raise ValueError(f"{name} = {value:g} must lie strictly between {low:g} and {high:g}")
    share = (physical - lower) / (upper - lower)
    return (np.log(share) - np.log1p(-share)) * (upper - lower) / (4.0 * scale)


def columns(names: Sequence[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lower bounds, upper bounds and scales of the named parameters [p, p, p]."""
    chosen = [PARAMETERS[name] for name in names]
    return (
        np.array([p.lower for p in chosen]),
        np.array([p.upper for p in chosen]),
        np.array([p.scale for p in chosen]),
    )


def apply(model: Model, names: Sequence[str], values: Float[Array, " p"]) -> Model:
    """The model with other values of some parameters.

    Args:
        model: whose other numbers stay as they are.
        names: of the parameters.
        values: of the parameters, in the order of ``names``.
    """
    for name, value in zip(names, values, strict=True):
        model = PARAMETERS[name].apply(model, value)
    return model
