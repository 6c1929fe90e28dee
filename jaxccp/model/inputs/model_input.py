"""Models that users pass, checked while tracing."""

from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any

import jax

from jaxccp.math.array_input import Dimension, as_floats
from jaxccp.model.model import Model


def check_is_model(model: Any) -> None:
    """Check that an argument is a model.

    Raises:
        TypeError: it is something else.
    """
    if isinstance(model, Model):
        return
    kind = type(model).__name__
    held = isinstance(getattr(model, "model", None), Model)
    remedy = f"that of a {kind} is its attribute model" if held else "ModelBuilder makes one"
    raise TypeError(f"model must be a jaxccp.Model, not a {kind}: {remedy}")


def check_arrays(model: Model, batched: bool = False) -> None:
    """Check the shapes of a model's arrays, as its classes declare them, against its topology.

    Arrays are not checked whose number of rows the topology does not name, such as the points of
    tendons.

    Args:
        model: the model, whose arrays may be traced.
        batched: whether arrays may have leading axes; else the model is of one copy.

    Raises:
        TypeError: there is a list or a tuple in place of an array.
        ValueError: an array has another shape than the topology requires.
    """
    known = _dimensions(model)
    sizes = tuple(dimension.size for dimension in known)
    for part, table in vars(model).items():
        for name, shape, declared in _declared(type(table), sizes):
            value = getattr(table, name)
            # A comparison of tuples alone where all is well: it is done before every step.
            if getattr(value, "shape", None) != shape:
                expected = [d if isinstance(d, int) else known[SYMBOLS.index(d)] for d in declared]
                _check_array(f"model.{part}.{name}", value, expected, batched)
    if getattr(model.gravity, "shape", None) != (3,):
        _check_array("model.gravity", model.gravity, [3], batched)


def _check_array(what: str, value: Any, expected: list[Dimension | int], batched: bool) -> None:
    """Raise unless ``value`` is an array or a number, of the expected shape."""
    if isinstance(value, list | tuple):
        kind = type(value).__name__
        raise TypeError(f"{what} must be an array, not a {kind}: jnp.asarray makes one")
    as_floats(what, value, [..., *expected] if batched else expected)


SYMBOLS = ("nb", "ng", "nj", "na", "nt", "na+nt", "nm", "ma", "n")
"""Symbols of numbers of rows, as the declarations of a model's arrays have them."""


def _dimensions(model: Model) -> tuple[Dimension, ...]:
    """Return the dimension that each of :data:`SYMBOLS` stands for."""
    topology, linkage = model.topology, model.topology.linkage
    tendons, activations = linkage.routing.tendons, model.activations
    active = () if activations is None else activations.actuators
    return (
        Dimension.named("bodies", topology.bodies),
        Dimension.named("shapes", topology.shape_names),
        Dimension.named("joints", linkage.joints),
        Dimension.named("axes", linkage.axes),
        Dimension.named("tendons", tendons),
        Dimension.named("axes and tendons", (*linkage.axes, *tendons)),
        Dimension.named("actuators", linkage.actuators),
        Dimension.named("activations", [linkage.actuators[i] for i in active]),
        Dimension("sites", len(model.sites.bodies), model.sites.names),
    )


@cache
def _declared(
    table: type, sizes: tuple[int, ...]
) -> tuple[tuple[str, tuple[int, ...], tuple[int | str, ...]], ...]:
    """Return name, shape and declared dimensions of those fields of a class that are arrays whose
    dimensions are all known.

    Args:
        table: a dataclass; any other class has none.
        sizes: number of rows that each of :data:`SYMBOLS` stands for.
    """
    known: dict[int | str, int] = dict(zip(SYMBOLS, sizes, strict=True))
    kinds: dict[str, Any] = {f.name: f.type for f in fields(table)} if is_dataclass(table) else {}
    shapes = {
        name: tuple(int(size) if size.isdigit() else size for size in kind.dim_str.split())
        for name, kind in kinds.items()
        if getattr(kind, "array_type", None) is jax.Array
    }
    return tuple(
        (name, tuple(d if isinstance(d, int) else known[d] for d in declared), declared)
        for name, declared in shapes.items()
        if all(isinstance(d, int) or d in known for d in declared)
    )
