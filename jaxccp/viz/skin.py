"""Flexible bodies as they are drawn: patches between nodes, coloured by how far they stretch."""

from collections.abc import Collection
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int
from matplotlib import colormaps

from jaxccp.model import Model
from jaxccp.viz.palette import colours

STRETCHED = colormaps["coolwarm"]
LEAST = 1e-3
"""Stretch that is drawn in the darkest colours where there is none larger."""


@dataclass(frozen=True)
class Skin:
    """k patches between bodies of a model."""

    corners: Int[np.ndarray, "k 4"]
    """Bodies; of a triangle the last is there twice, of a line both ends are."""
    around: Float[np.ndarray, " k"]
    """Lengths around the patches at the start [m]."""

    def stretch(self, position: Float[np.ndarray, "nb 3"]) -> Float[np.ndarray, " k"]:
        """Tell by which part of it a patch is longer around than at the start."""
        return _around(position[self.corners]) / self.around - 1.0


def skin(model: Model, bodies: Collection[int]) -> Skin:
    """The patches of those families whose frames are among ``bodies``."""
    corners, around = [np.zeros((0, 4), int)], [np.zeros(0)]
    for family, which in zip(model.families, owned(model), strict=True):
        own: Int[np.ndarray, "k 4"] = family.skin
        if not len(own) or int(which[0]) not in bodies:
            continue
        family = jax.tree.map(jnp.asarray, family)
        rest, _ = family.poses(family.start().q)
        corners.append(which[own])
        around.append(_around(np.asarray(rest, float)[own]))
    return Skin(np.concatenate(corners), np.concatenate(around))


def patches(
    model: Model, position: Float[np.ndarray, "nb 3"], bodies: Collection[int]
) -> tuple[Float[np.ndarray, "k 4 3"], Float[np.ndarray, "k 3"]]:
    """Corners of the patches of those families whose frames are among ``bodies`` [m], and a colour
    of each: red where its edges are longer than at the start, blue where they are shorter."""
    shown = skin(model, bodies)
    stretch = shown.stretch(position)
    largest = max(np.abs(stretch).max(initial=0.0), LEAST)
    return position[shown.corners], STRETCHED(0.5 + 0.5 * stretch / largest)[:, :3]


def things(model: Model) -> list[list[int]]:
    """The bodies that move, each alone; then those of each flexible body, which is one thing,
    however many nodes it has."""
    rigid = np.flatnonzero(model.topology.free).tolist()
    return [[body] for body in rigid] + [which.tolist() for which in owned(model)]


def shades(model: Model) -> dict[int, str]:
    """A colour of each body that moves, one for all nodes of a flexible one."""
    every = things(model)
    pairs = zip(every, colours(len(every)), strict=True)
    return {body: colour for bodies, colour in pairs for body in bodies}


def owned(model: Model) -> list[Int[np.ndarray, " nf"]]:
    """The bodies that are the frames of each family."""
    family = np.asarray(model.topology.family)
    return [np.flatnonzero(family == index) for index in range(len(model.families))]


def _around(corners: Float[np.ndarray, "k 4 3"]) -> Float[np.ndarray, " k"]:
    """Lengths around patches."""
    edges = np.roll(corners, -1, axis=1) - corners
    return np.linalg.norm(edges, axis=2).sum(axis=1)
