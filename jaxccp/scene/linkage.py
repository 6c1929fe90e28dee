"""From joints and actuators, as they were added, to their tables."""

from collections.abc import Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np

from jaxccp.model.actuator import Actuator, columns
from jaxccp.model.joints import Axis, Joint
from jaxccp.model.linkage import Actuators, Axes, Joints, Linkage
from jaxccp.model.tree import spanning_tree


@dataclass
class Hung:
    """A joint in its place."""

    name: str
    joint: Joint
    bodies: tuple[int, int]
    anchor: np.ndarray
    """[2 3]"""
    frame: np.ndarray
    """[2 4]"""


@dataclass
class Driven:
    """An actuator on its axis."""

    name: str
    actuator: Actuator
    axis: str


@dataclass
class _Freedom:
    name: str
    axis: Axis
    direction: np.ndarray


def tables(
    hung: Sequence[Hung], driven: Sequence[Driven], fixed: np.ndarray
) -> tuple[Joints, Axes, Actuators, Linkage]:
    """The tables of a model with these ``fixed`` bodies, in JAX's current default precision."""
    freedoms: list[_Freedom] = []
    owned: list[list[int]] = []
    for one in hung:
        its = _freedoms(one)
        owned.append(list(range(len(freedoms), len(freedoms) + len(its))))
        freedoms += its
    most = max((len(axes) for axes in owned), default=0)
    slots = np.full((len(hung), most), len(freedoms), np.int32)
    for row, axes in zip(slots, owned, strict=True):
        row[: len(axes)] = axes
    limits = np.array([f.axis.limits or (-np.inf, np.inf) for f in freedoms], float).reshape(-1, 2)

    def column(name: str) -> np.ndarray:
        return np.array([getattr(f.axis, name) for f in freedoms], float)

    names = tuple(f.name for f in freedoms)
    bodies = np.array([one.bodies for one in hung], np.int32).reshape(-1, 2)
    pushing = [one.actuator for one in driven]
    linkage = Linkage(
        tuple(one.name for one in hung),
        bodies,
        spanning_tree(bodies, fixed),
        names,
        tuple(f.axis.motion for f in freedoms),
        slots,
        np.flatnonzero(column("stiffness") + column("damping") + column("armature")),
        np.flatnonzero(np.isfinite(limits[:, 0])),
        np.flatnonzero(np.isfinite(limits[:, 1])),
        np.flatnonzero(column("friction")),
        tuple(one.name for one in driven),
        np.array([names.index(one.axis) for one in driven], np.int32),
        np.flatnonzero([servo.feeds_back for servo in pushing]),
        np.isfinite([servo.force_limits for servo in pushing if servo.feeds_back])
        .reshape(-1, 2)
        .any(axis=1),
    )

    def table(values: np.ndarray):
        return jnp.asarray(values, float)

    joints = Joints(
        table(np.array([one.anchor for one in hung]).reshape(-1, 2, 3)),
        table(np.array([one.frame for one in hung]).reshape(-1, 2, 4)),
    )
    axes = Axes(
        table(np.array([f.direction for f in freedoms]).reshape(-1, 3)),
        table(np.array([f.axis.point for f in freedoms], float).reshape(-1, 3)),
        table(limits[:, 0]),
        table(limits[:, 1]),
        *(table(column(name)) for name in ("stiffness", "rest", "damping", "armature", "friction")),
    )
    numbers = columns([one.actuator for one in driven])
    actuators = Actuators(**{name: table(values) for name, values in numbers.items()})
    return joints, axes, actuators, linkage


def _freedoms(hung: Hung) -> list[_Freedom]:
    """One per degree of freedom."""
    parts: list[tuple[Axis, np.ndarray]] = []
    for axis in hung.joint.axes:
        directions = np.eye(3) if axis.motion == "ball" else [axis.direction]
        parts += [(axis, direction) for direction in directions]
    single = len(parts) == 1
    return [
        _Freedom(hung.name if single else f"{hung.name}.{i}", axis, direction)
        for i, (axis, direction) in enumerate(parts)
    ]


def axis_names(hung: Sequence[Hung]) -> list[str]:
    """Names of all axes."""
    return [freedom.name for one in hung for freedom in _freedoms(one)]
