"""What can be identified: named numbers of a model, their bounds and what they change."""

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
    """A number to identify, kept strictly between its bounds."""

    meaning: str
    unit: str
    initial: float
    lower: float
    upper: float
    scale: float
    """A change that matters: the unit of the optimiser's steps."""
    apply: Callable[[Model, Array], Model]
    """The model with this number in place."""


def _surface(name: str) -> Callable[[Model, Array], Model]:
    """Of every surface, so that the combination of two of them is the value itself."""

    def apply(model: Model, value: Array) -> Model:
        column = jnp.broadcast_to(value, getattr(model.shapes, name).shape)
        return replace(model, shapes=replace(model.shapes, **{name: column}))

    return apply


def _on_body(name: str) -> Callable[[Model, Array], Model]:
    """Of the shapes on free bodies; the ground's stay zero."""

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
"""Only ratios to the mass can be seen in poses: the mass itself is not among them."""

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
    """``names``, or a ``ValueError`` that lists what can be identified."""
    unknown = [name for name in names if name not in PARAMETERS]
    if unknown or not names or len(set(names)) < len(names):
        what = ", ".join(unknown) or "an empty or repeated list"
        raise ValueError(f"cannot identify {what}; choose among {', '.join(PARAMETERS)}")
    return tuple(names)


def to_physical(names: Sequence[str], free: Float[Array, " p"]) -> Float[Array, " p"]:
    """Values between their bounds from unconstrained numbers.

    A logistic curve whose slope at the middle of the range is the parameter's scale, so that a
    step of one optimiser suits parameters of all units.
    """
    lower, upper, scale = columns(names)
    share = jax.nn.sigmoid(4.0 * scale / (upper - lower) * free)
    return jnp.asarray(lower) + jnp.asarray(upper - lower) * share


def to_free(names: Sequence[str], values: Mapping[str, float]) -> Float[np.ndarray, " p"]:
    """Unconstrained numbers of values strictly between their bounds."""
    lower, upper, scale = columns(names)
    physical = np.array([values[name] for name in names], float)
    for name, value, low, high in zip(names, physical, lower, upper, strict=True):
        if not low < value < high:
            raise ValueError(f"{name} = {value:g} must lie strictly between {low:g} and {high:g}")
    share = (physical - lower) / (upper - lower)
    return (np.log(share) - np.log1p(-share)) * (upper - lower) / (4.0 * scale)


def columns(names: Sequence[str]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Lower and upper bounds and scales of the named parameters."""
    chosen = [PARAMETERS[name] for name in names]
    return (
        np.array([p.lower for p in chosen]),
        np.array([p.upper for p in chosen]),
        np.array([p.scale for p in chosen]),
    )


def apply(model: Model, names: Sequence[str], values: Float[Array, " p"]) -> Model:
    """The model with the named numbers in place."""
    for name, value in zip(names, values, strict=True):
        model = PARAMETERS[name].apply(model, value)
    return model
