"""Cables along given nodes, made of the elements of :mod:`jaxccp.flexible.ancf.cable`."""

from collections.abc import Collection

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.execution import trees
from jaxccp.flexible.ancf.cable import CableElements
from jaxccp.flexible.layout import Layout
from jaxccp.flexible.nodal import NodalFamily


def segment_lengths(what: str, nodes: Float[np.ndarray, "n 3"]) -> Float[np.ndarray, " m"]:
    """Return the distances of neighbouring nodes of a cable [m].

    Args:
        what: beginning of error messages.
        nodes: positions at time 0 [m].

    Raises:
        ValueError: two neighbours are at one place, or the cable turns back at a node.
    """
    segments = np.diff(nodes, axis=0)
    lengths = np.linalg.norm(segments, axis=1)
    if not (lengths > 0).all():
        short = int(np.argmin(lengths))
        raise ValueError(
            f"{what}: element {short} has no length: nodes {short} and {short + 1} are the same"
        )
    direction = segments / lengths[:, None]
    backwards = np.flatnonzero(np.sum(direction[1:] * direction[:-1], axis=1) < -0.99)
    if len(backwards):
        at = int(backwards[0]) + 1
        raise ValueError(f"{what}: elements {at - 1} and {at} turn back at node {at}: add nodes")
    return lengths


def rope(
    nodes: Float[Array, "n 3"],
    area: Array | float,
    second_moment: Array | float,
    young: Array | float,
    density: Array | float,
    retardation: Array | float = 0.0,
    *,
    clamped: Collection[int] = (),
    pinned: Collection[int] = (),
) -> NodalFamily:
    """Return a cable through given nodes, differentiable in all its numbers.

    Its unstrained shape is straight, with lengths equal to the distances of the nodes. If the nodes
    are not on a line, the cable is bent at time 0.

    Args:
        nodes: positions at time 0 [m].
        area: area of the section [m²].
        second_moment: second moment of area of the section [m⁴].
        young: Young's modulus [Pa].
        density: mass per volume [kg/m³].
        retardation: α of Kelvin and Voigt's damping [s].
        clamped: nodes whose position and direction are fixed.
        pinned: nodes whose position is fixed.

    Raises:
        ValueError: two neighbouring nodes are at one place, or the cable turns back at a node.
    """
    nodes = jnp.asarray(nodes, float)
    if not trees.is_traced(nodes):
        segment_lengths("rope", np.asarray(nodes))
    count = len(nodes)
    segments = jnp.diff(nodes, axis=0)
    length = jnp.linalg.norm(segments, axis=1)
    direction = segments / length[:, None]
    slope = jnp.concatenate([direction[:1], direction[:-1] + direction[1:], direction[-1:]])
    slope = slope / jnp.linalg.norm(slope, axis=1, keepdims=True)
    start = jnp.stack([nodes, slope], axis=1).reshape(-1, 3)
    fixed = np.zeros((count, 2, 3), bool)
    fixed[list(clamped)] = True
    fixed[list(pinned), 0] = True
    first = 2 * np.arange(count)
    layout = Layout(
        first[:-1, None] + np.arange(4),
        fixed.reshape(-1, 3),
        np.arange(2 * count) % 2 == 0,
        first,
        ((0, first + 1),),
        skin=np.arange(count - 1)[:, None] + np.array([0, 1, 1, 0]),
    )
    numbers = (jnp.asarray(x, float) for x in (area, second_moment, young, density, retardation))
    elements = CableElements(length, *numbers)
    return NodalFamily(elements, start, jnp.zeros_like(start), jnp.zeros_like(start), layout)
