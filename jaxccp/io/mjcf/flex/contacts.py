"""Contacts of the nodes of flexible bodies: spheres, pairs that can collide, and friction."""

from itertools import product

import numpy as np

from jaxccp.collision.pairs import lookup
from jaxccp.io.mjcf.elements.friction import (
    Surface,
    combine_friction,
    needs_pair_friction,
    surface_material,
)
from jaxccp.io.mjcf.files.source import Source
from jaxccp.io.mjcf.flex.families import FlexFamily
from jaxccp.io.mjcf.import_report import ImportReport
from jaxccp.model.shapes import Sphere
from jaxccp.scene.builder import ModelBuilder

Pair = tuple[int, int]


def touchable_geoms(source: Source, flexible: list[FlexFamily]) -> list[Pair]:
    """Return the pairs of a flexible body, given by its index in the list, and a geom that can
    collide."""
    m = source.m
    if source.is_disabled("CONTACT", "CONSTRAINT"):
        return []
    kinds = np.asarray(m.geom_contype), np.asarray(m.geom_conaffinity)
    pairs = []
    for place, family in enumerate(flexible):
        index = family.flex.index
        compatible = (m.flex_contype[index] & kinds[1]) | (m.flex_conaffinity[index] & kinds[0])
        pairs += [(place, int(geom)) for geom in np.flatnonzero(compatible)]
    return pairs


def touching_flexes(
    source: Source, flexible: list[FlexFamily], geom_pairs: list[Pair]
) -> list[int]:
    """Return the flexible bodies that can touch anything, given by their indices in the list.

    Args:
        source: the file.
        flexible: the flexible bodies.
        geom_pairs: result of :func:`touchable_geoms`.
    """
    places = {place for place, _ in geom_pairs}
    return sorted(places.union(*_touchable_flexes(source, flexible)))


def add_nodes(
    source: Source,
    builder: ModelBuilder,
    flexible: list[FlexFamily],
    geom_pairs: list[Pair],
    geoms: dict[int, tuple[int, str]],
    report: ImportReport,
) -> list[Pair]:
    """Add spheres at the nodes that move, and return the pairs of shapes that can collide.

    Args:
        source: the file.
        builder: the builder, which already has the geoms' shapes.
        flexible: the flexible bodies.
        geom_pairs: result of :func:`touchable_geoms`.
        geoms: the model's shape of each geom that has one, and its kind.
        report: collects the geoms whose kind has no contact with spheres.
    """
    flex_pairs = _touchable_flexes(source, flexible)
    touching = touching_flexes(source, flexible, geom_pairs)
    spheres = {place: _spheres(source, builder, flexible[place]) for place in touching}
    pairs: list[Pair] = []

    def add_pairs(a: Surface, b: Surface, shapes: list[Pair]) -> None:
        friction = combine_friction(source, a, b)
        if needs_pair_friction(source, friction, a, b):
            for pair in shapes:
                builder.set_pair_friction(*pair, *friction)
        pairs.extend(shapes)

    for place, geom in geom_pairs:
        if geom not in geoms:
            continue
        flex, (shape, kind) = flexible[place].flex, geoms[geom]
        try:
            lookup("sphere", kind)
        except ValueError:
            what = f"no contact with a {kind}, {source.label('geom', geom)}"
            report.ignore(flex.label, what, "exclude the pair")
            continue
        shapes = [(sphere, shape) for sphere in spheres[place]]
        add_pairs(("flex", flex.index), ("geom", geom), shapes)
    for a, b in flex_pairs:
        both = list(product(spheres[a], spheres[b]))
        add_pairs(("flex", flexible[a].flex.index), ("flex", flexible[b].flex.index), both)
    return pairs


def _spheres(source: Source, builder: ModelBuilder, family: FlexFamily) -> list[int]:
    """Add a sphere at each node that moves, and return their shapes."""
    index = family.flex.index
    material = surface_material(source, ("flex", index))
    ball = Sphere(float(source.m.flex_radius[index]))
    return [
        builder.add_shape(frame, ball, material=material)
        for node, frame in zip(family.nodes, family.frames, strict=True)
        if not family.flex.fixed[node]
    ]


def _touchable_flexes(source: Source, flexible: list[FlexFamily]) -> list[Pair]:
    """Return the pairs of flexible bodies, given by their indices, that can collide."""
    if source.is_disabled("CONTACT", "CONSTRAINT"):
        return []
    m, pairs = source.m, []
    for b, second in enumerate(flexible):
        for a, first in enumerate(flexible[:b]):
            i, j = first.flex.index, second.flex.index
            forward = m.flex_contype[i] & m.flex_conaffinity[j]
            backward = m.flex_contype[j] & m.flex_conaffinity[i]
            if forward or backward:
                pairs.append((a, b))
    return pairs
