"""Flexible bodies as patches between their nodes, coloured by their stretch."""

from collections.abc import Collection
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from matplotlib import colormaps

from jaxccp.model import Model
from jaxccp.viz.palette import FIXED, colours

STRETCHED = colormaps["coolwarm"]
MIN_STRETCH = 1e-3
"""Smallest stretch for which the darkest colours are used."""


@dataclass(frozen=True)
class Skin:
    """The patches of flexible bodies: k quadrilaterals, triangles or lines between bodies of a
    model."""

    corners: Int[np.ndarray, "k 4"]
    """Bodies at the corners; a triangle has its last body twice, a line has both bodies twice."""
    perimeter: Float[np.ndarray, " k"]
    """Initial perimeter of each patch [m]."""

    def stretch(self, position: Float[np.ndarray, "nb 3"]) -> Float[np.ndarray, " k"]:
        """Return the relative change of each patch's perimeter from its initial value."""
        return _perimeter(position[self.corners]) / self.perimeter - 1.0


def skin(model: Model, bodies: Collection[int]) -> Skin:
    """Return the patches of the families whose frames are among ``bodies``."""
    corners, perimeter = [np.zeros((0, 4), int)], [np.zeros(0)]
    for family, which in zip(model.families, family_bodies(model), strict=True):
        local: Int[np.ndarray, "k 4"] = family.skin
        if not len(local) or int(which[0]) not in bodies:
            continue
        family = jax.tree.map(jnp.asarray, family)
        rest, _ = family.poses(family.start().q)
        corners.append(which[local])
        perimeter.append(_perimeter(np.asarray(rest, float)[local]))
    return Skin(np.concatenate(corners), np.concatenate(perimeter))


def patches(
    model: Model, position: Float[np.ndarray, "nb 3"], bodies: Collection[int]
) -> tuple[Float[np.ndarray, "k 4 3"], Float[np.ndarray, "k 3"]]:
    """Return the patches of flexible bodies at one pose of the model.

    Args:
        model: the model.
        position: centres of mass of its bodies [m].
        bodies: the families whose frames are among these are drawn.

    Returns:
        Corners of the patches [m], and their colours: red where edges are longer than at the start,
        blue where they are shorter.
    """
    shown = skin(model, bodies)
    stretch = shown.stretch(position)
    largest = max(np.abs(stretch).max(initial=0.0), MIN_STRETCH)
    return position[shown.corners], STRETCHED(0.5 + 0.5 * stretch / largest)[:, :3]


def movable_groups(model: Model) -> list[list[int]]:
    """Return the bodies that share a colour: each moving rigid body alone, then all nodes of each
    flexible body."""
    rigid = np.flatnonzero(model.topology.free).tolist()
    return [[body] for body in rigid] + [which.tolist() for which in family_bodies(model)]


def body_colours(model: Model) -> list[str]:
    """Return the colour of each body: all nodes of a flexible body have the same, and all fixed
    bodies."""
    groups, of_bodies = movable_groups(model), [FIXED] * len(model.topology.bodies)
    for bodies, colour in zip(groups, colours(len(groups)), strict=True):
        for body in bodies:
            of_bodies[body] = colour
    return of_bodies


def family_bodies(model: Model) -> list[Int[np.ndarray, " nf"]]:
    """Return the bodies that are frames of each family."""
    family = np.asarray(model.topology.family)
    return [np.flatnonzero(family == index) for index in range(len(model.families))]


def _perimeter(corners: Float[np.ndarray, "k 4 3"]) -> Float[np.ndarray, " k"]:
    """Return the perimeters of patches [m]."""
    edges = np.roll(corners, -1, axis=1) - corners
    return np.linalg.norm(edges, axis=2).sum(axis=1)
