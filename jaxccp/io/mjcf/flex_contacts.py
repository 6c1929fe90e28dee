"""What nodes of flexible bodies touch, and with what friction."""

import numpy as np

from jaxccp.collision.pairs import lookup
from jaxccp.io.mjcf.flex_families import FlexFamily
from jaxccp.io.mjcf.friction import Surface, combined, differs, surface
from jaxccp.io.mjcf.import_report import ImportReport
from jaxccp.io.mjcf.source import Source
from jaxccp.model.shapes import Sphere
from jaxccp.scene.builder import ModelBuilder

Pair = tuple[int, int]


def met_geoms(source: Source, flexible: list[FlexFamily]) -> list[Pair]:
    """Flexible bodies, by their place in the list, and the geoms that MuJoCo lets them touch."""
    m = source.m
    if source.off("CONTACT", "CONSTRAINT"):
        return []
    kinds = np.asarray(m.geom_contype), np.asarray(m.geom_conaffinity)
    found = []
    for place, one in enumerate(flexible):
        own = m.flex_contype[one.flex.index], m.flex_conaffinity[one.flex.index]
        meets = (own[0] & kinds[1]) | (own[1] & kinds[0])
        found += [(place, int(geom)) for geom in np.flatnonzero(meets)]
    return found


def add_nodes(
    source: Source,
    builder: ModelBuilder,
    flexible: list[FlexFamily],
    meets: list[Pair],
    geoms: dict[int, tuple[int, str]],
    report: ImportReport,
) -> list[Pair]:
    """Give nodes that move their spheres, and return the pairs of shapes that may touch.

    Args:
        source: the file.
        builder: with the geoms' shapes.
        flexible: the flexible bodies.
        meets: of :func:`met_geoms`.
        geoms: our shape of each geom that has one, and its kind.
        report: is told of geoms whose kind has no contact with spheres.
    """
    others = _meeting(source, flexible)
    needed = {place for place, _ in meets} | {place for pair in others for place in pair}
    spheres = {place: _spheres(source, builder, flexible[place]) for place in sorted(needed)}
    pairs: list[Pair] = []

    def touch(a: Surface, b: Surface, shapes: list[Pair]) -> None:
        friction = combined(source, a, b)
        if differs(source, friction, a, b):
            for pair in shapes:
                builder.set_pair_friction(*pair, *friction)
        pairs.extend(shapes)

    for place, geom in meets:
        if geom not in geoms:
            continue
        flex, (shape, kind) = flexible[place].flex, geoms[geom]
        try:
            lookup("sphere", kind)
        except ValueError:
            what = f"no contact with a {kind}, {source.label('geom', geom)}"
            report.ignore(flex.label, what, "exclude the pair")
            continue
        touch(("flex", flex.index), ("geom", geom), [(one, shape) for one in spheres[place]])
    for a, b in others:
        both = [(one, other) for one in spheres[a] for other in spheres[b]]
        touch(("flex", flexible[a].flex.index), ("flex", flexible[b].flex.index), both)
    return pairs


def _spheres(source: Source, builder: ModelBuilder, one: FlexFamily) -> list[int]:
    index = one.flex.index
    made = surface(source, ("flex", index))
    ball = Sphere(float(source.m.flex_radius[index]))
    return [
        builder.add_shape(frame, ball, material=made)
        for node, frame in zip(one.nodes, one.frames, strict=True)
        if not one.flex.held[node]
    ]


def _meeting(source: Source, flexible: list[FlexFamily]) -> list[Pair]:
    """Pairs of flexible bodies, by their places, that MuJoCo lets touch."""
    m, off = source.m, source.off("CONTACT", "CONSTRAINT")
    found = []
    for b, other in enumerate(flexible):
        for a, one in enumerate(flexible[:b]):
            i, j = one.flex.index, other.flex.index
            there = m.flex_contype[i] & m.flex_conaffinity[j]
            back = m.flex_contype[j] & m.flex_conaffinity[i]
            if (there or back) and not off:
                found.append((a, b))
    return found
