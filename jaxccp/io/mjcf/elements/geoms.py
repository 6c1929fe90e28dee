"""Geoms of a file as shapes, and the pairs of them that can collide."""

import re
from dataclasses import asdict, replace
from itertools import combinations

import numpy as np

from jaxccp.collision.pairs import lookup
from jaxccp.io.errors import InputError
from jaxccp.io.mjcf.elements.bodies import BodyMap
from jaxccp.io.mjcf.elements.friction import (
    Friction,
    active_coefficients,
    combine_friction,
    needs_pair_friction,
    surface_material,
)
from jaxccp.io.mjcf.elements.hulls import thinned
from jaxccp.io.mjcf.elements.rigidity import note_pairs, note_springs
from jaxccp.io.mjcf.elements.sensor_scopes import meets_rays
from jaxccp.io.mjcf.elements.softness import softness
from jaxccp.io.mjcf.files.source import Source
from jaxccp.io.mjcf.flex.contacts import add_nodes, touchable_geoms, touching_flexes
from jaxccp.io.mjcf.flex.families import FlexFamily
from jaxccp.io.mjcf.import_report import ImportReport
from jaxccp.model.shapes import (
    Box,
    Capsule,
    ConvexMesh,
    Cylinder,
    Ellipsoid,
    HeightField,
    Plane,
    Shape,
    Sphere,
)
from jaxccp.scene.builder import ModelBuilder

COLUMNS = {"geom_adhesion": "adhesion", "geom_surfacevel": "a moving surface"}
"""Columns of MuJoCo that must be 0, with descriptions; surfaces of this package have no such
effect."""


def add_geoms(
    source: Source,
    builder: ModelBuilder,
    body_map: BodyMap,
    flexible: list[FlexFamily],
    soft: bool,
    report: ImportReport,
) -> dict[int, int]:
    """Add the geoms and the pairs that can collide to a builder, including those of flexible
    bodies.

    Meshes and height fields that cannot collide are left out, to save memory; the report says so of
    those that a range finder would see.

    Args:
        source: the compiled file.
        builder: the builder.
        body_map: places of the file's bodies in the model.
        flexible: the flexible bodies.
        soft: whether contacts get the file's compliance.
        report: collects what is left out or differs.

    Returns:
        The model's shape of each geom that has one.

    Raises:
        InputError: a geom has numbers that no shape can have.
    """
    pairs = _pairs(source, report)
    softened = softness(source, pairs, report) if soft else {}
    flex_pairs = touchable_geoms(source, flexible)
    flexes = [flexible[place].flex for place in touching_flexes(source, flexible, flex_pairs)]
    touching = {geom for pair in pairs for geom in pair} | {geom for _, geom in flex_pairs}
    note_springs(source, touching, [flex.index for flex in flexes], softened, report)
    for flex in flexes if soft else ():
        report.approximate(flex.label, "softness: its contacts only have that of the geoms")
    note_pairs(source, report)
    shapes: dict[int, int] = {}
    kinds: dict[int, str] = {}
    for geom in range(source.m.ngeom):
        label = source.label("geom", geom)
        if geom not in touching and not _simple(source, geom):
            if meets_rays(source, geom):
                what = "cannot touch anything and is left out: range finders do not see it"
                report.approximate(label, what)
            continue
        shape = _shape(source, geom, report)
        if isinstance(shape, str):
            report.ignore(label, shape)
            continue
        body = int(source.m.geom_bodyid[geom])
        try:
            local = source.m.geom_pos[geom], source.m.geom_quat[geom]
            position, orientation = body_map.pose(body, *local)
            material = surface_material(source, ("geom", geom))
            if geom in softened:
                material = replace(material, **asdict(softened[geom]))
            name = source.m.geom(geom).name
            if re.fullmatch(r"shape\d+", name):
                name = ""  # as shapes without one are called
            shapes[geom] = builder.add_shape(
                int(body_map.body[body]), shape, position, orientation, material, name=name or None
            )
        except ValueError as error:
            raise InputError(source.path, f"{label}: {_of_file(error)}", "correct it") from None
        kinds[geom] = shape.kind
        if geom in touching:
            _approximated(source, geom, report)
    shape_pairs = []
    for (a, b), friction in pairs.items():
        if a not in shapes or b not in shapes:
            continue
        try:
            lookup(kinds[a], kinds[b])
        except ValueError:
            what = f"no contact with a {kinds[b]}, {source.label('geom', b)}"
            report.ignore(source.label("geom", a), what, "exclude the pair")
            continue
        shape_pairs.append((shapes[a], shapes[b]))
        if needs_pair_friction(source, friction, ("geom", a), ("geom", b)):
            builder.set_pair_friction(shapes[a], shapes[b], *friction)
    shape_kinds = {geom: (shape, kinds[geom]) for geom, shape in shapes.items()}
    shape_pairs += add_nodes(source, builder, flexible, flex_pairs, shape_kinds, report)
    builder.collide_only(shape_pairs)
    return shapes


def _simple(source: Source, geom: int) -> bool:
    """Tell whether a few numbers describe a geom, without a table of points."""
    kinds = source.mujoco.mjtGeom
    tables = kinds.mjGEOM_HFIELD, kinds.mjGEOM_MESH, kinds.mjGEOM_SDF
    return int(source.m.geom_type[geom]) not in map(int, tables)


def _pairs(source: Source, report: ImportReport) -> dict[tuple[int, int], Friction]:
    """Return the pairs of geoms that can collide, with their friction coefficients."""
    m = source.m
    if source.is_disabled("CONTACT", "CONSTRAINT"):
        return {}
    listed: dict[tuple[int, int], Friction] = {}
    for pair in range(m.npair):
        a, b = sorted((int(m.pair_geom1[pair]), int(m.pair_geom2[pair])))
        if _can_move(source, a, b):
            slide, slide2, spin, roll, roll2 = m.pair_friction[pair]
            if slide != slide2 or roll != roll2:
                label = source.label("geom", a)
                report.approximate(
                    label,
                    f"friction against {source.label('geom', b)} is the same in all directions",
                )
            listed[a, b] = active_coefficients(m.pair_dim[pair], (slide, spin, roll))
    excluded = {(int(s) >> 16, int(s) & 0xFFFF) for s in m.exclude_signature}
    collidable = np.flatnonzero(np.asarray(m.geom_contype) | np.asarray(m.geom_conaffinity))
    for a, b in combinations((int(geom) for geom in collidable), 2):
        bodies = int(m.geom_bodyid[a]), int(m.geom_bodyid[b])
        compatible = (m.geom_contype[a] & m.geom_conaffinity[b]) or (
            m.geom_contype[b] & m.geom_conaffinity[a]
        )
        allowed = bodies not in excluded and bodies[::-1] not in excluded
        if compatible and allowed and _can_move(source, a, b) and not _related(source, *bodies):
            listed.setdefault((a, b), combine_friction(source, ("geom", a), ("geom", b)))
    return listed


def _can_move(source: Source, a: int, b: int) -> bool:
    """Tell whether two geoms can move relative to each other, and forces can move at least one of
    them."""
    m = source.m
    tops = [int(m.body_weldid[m.geom_bodyid[geom]]) for geom in (a, b)]
    return tops[0] != tops[1] and any(top and m.body_mocapid[top] < 0 for top in tops)


def _related(source: Source, a: int, b: int) -> bool:
    """Tell whether one body is the parent of the other; the world does not count as a parent."""
    m = source.m
    if source.is_disabled("FILTERPARENT"):
        return False
    tops = m.body_weldid[a], m.body_weldid[b]
    parents = [m.body_weldid[m.body_parentid[top]] for top in tops]
    return bool(all(tops) and (tops[0] == parents[1] or tops[1] == parents[0]))


def _approximated(source: Source, geom: int, report: ImportReport) -> None:
    m, label = source.m, source.label("geom", geom)
    if m.geom_margin[geom]:
        report.approximate(
            label, f"margin {m.geom_margin[geom]:g} is 0 here: surfaces touch when they meet"
        )
    if m.geom_gap[geom]:
        report.approximate(
            label, f"gap {m.geom_gap[geom]:g} is 0 here: surfaces touch when they meet"
        )
    for column, what in COLUMNS.items():
        values = source.column(column)
        if len(values) and np.any(values[geom]):
            report.ignore(label, f"{what} is not supported")


def _shape(source: Source, geom: int, report: ImportReport) -> Shape | str:
    """Return the shape of a geom, or a description of what is not supported."""
    m, kinds = source.m, source.mujoco.mjtGeom
    kind, size = int(m.geom_type[geom]), tuple(float(x) for x in m.geom_size[geom])
    try:
        if kind == int(kinds.mjGEOM_PLANE):
            return Plane()
        if kind == int(kinds.mjGEOM_SPHERE):
            return Sphere(size[0])
        if kind == int(kinds.mjGEOM_CAPSULE):
            return Capsule(size[0], size[1])
        if kind == int(kinds.mjGEOM_BOX):
            return Box((size[0], size[1], size[2]))
        if kind == int(kinds.mjGEOM_CYLINDER):
            return Cylinder(size[0], size[1])
        if kind == int(kinds.mjGEOM_ELLIPSOID):
            return Ellipsoid((size[0], size[1], size[2]))
        if kind == int(kinds.mjGEOM_MESH):
            return ConvexMesh(_points(source, geom, report))
        if kind == int(kinds.mjGEOM_HFIELD):
            if m.body_treeid[m.geom_bodyid[geom]] >= 0:
                return "a height field on a body that moves is not supported"
            return _height_field(source, geom)
    except ValueError as error:
        label = source.label("geom", geom)
        raise InputError(source.path, f"{label}: {_of_file(error)}", "correct it") from None
    return f"the shape {kinds(kind).name.removeprefix('mjGEOM_').lower()} is not supported"


def _of_file(error: ValueError) -> str:
    """Return an error's message without the name of the Python class, which the file does not
    contain."""
    return re.sub(r"^[A-Z]\w+: ", "", str(error))


def _points(source: Source, geom: int, report: ImportReport) -> np.ndarray:
    m, mesh = source.m, source.m.geom_dataid[geom]
    start = m.mesh_vertadr[mesh]
    points = np.array(m.mesh_vert[start : start + m.mesh_vertnum[mesh]], float)
    if (at := m.mesh_graphadr[mesh]) >= 0:
        # MuJoCo's own hull, which has at most ``maxhullvert`` vertices.
        count = m.mesh_graph[at]
        points = points[np.sort(m.mesh_graph[at + 2 + count : at + 2 + 2 * count])]
    kept, corners, distance = thinned(points)
    if corners:
        report.approximate(
            source.label("geom", geom),
            f"the hull of its mesh has {corners} vertices, of which {len(kept)} are kept: it is "
            f"{distance:.2g} m smaller at most",
        )
    return kept


def _height_field(source: Source, geom: int) -> HeightField:
    m, field = source.m, source.m.geom_dataid[geom]
    rows, columns, start = m.hfield_nrow[field], m.hfield_ncol[field], m.hfield_adr[field]
    heights = np.array(m.hfield_data[start : start + rows * columns], float)
    x, y, elevation, _ = (float(length) for length in m.hfield_size[field])
    return HeightField(heights.reshape(rows, columns), (x, y), elevation)
