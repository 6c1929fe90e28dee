"""The elements of a model file, and the parts of a model that represent them."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Int

from jaxccp.io.mjcf.elements.actuators import add_actuators
from jaxccp.io.mjcf.elements.bodies import BodyMap, add_bodies
from jaxccp.io.mjcf.elements.cables import read_cables
from jaxccp.io.mjcf.elements.equality_constraints import add_equalities
from jaxccp.io.mjcf.elements.geoms import add_geoms
from jaxccp.io.mjcf.elements.joints import Axes, add_joints
from jaxccp.io.mjcf.elements.read_sites import add_sites
from jaxccp.io.mjcf.elements.tendons import add_tendons
from jaxccp.io.mjcf.files.source import Source
from jaxccp.io.mjcf.flex.families import FlexFamily, add_flexes
from jaxccp.io.mjcf.flex.flexes import node_bodies, read_flexes
from jaxccp.io.mjcf.import_report import ImportReport
from jaxccp.scene import ModelBuilder


@dataclass(frozen=True)
class Elements:
    """The parts of the model that represent the elements of a file."""

    body_map: BodyMap
    """Places of the file's bodies in the model."""
    nodes: Bool[np.ndarray, " n"]
    """Mask of the file's bodies that are nodes of flexible bodies."""
    flexible: list[FlexFamily]
    """Flexible bodies."""
    axes: Axes
    """The model's axes of the file's joints."""
    tendons: dict[int, str]
    """Name of the model's tendon, by the file's number."""
    driven: Int[np.ndarray, " nm"]
    """The file's number of each actuator of the model."""
    shapes: dict[int, int]
    """The model's shape, by the file's number of the geom."""


def add_elements(
    source: Source, builder: ModelBuilder, softness: bool, report: ImportReport
) -> Elements:
    """Add all elements of a file to a builder, as far as they are supported.

    Args:
        source: the compiled file.
        builder: the builder of the model.
        softness: whether contacts get the compliance of the file.
        report: the report of what is left out or approximated.
    """
    nodes = node_bodies(source)
    body_map = add_bodies(source, builder, nodes)
    flexible = add_flexes(source, builder, body_map, read_flexes(source, report))
    cables = read_cables(source, report)
    axes = add_joints(source, builder, body_map, nodes, cables, report)
    tendons = add_tendons(source, builder, body_map, axes, report)
    driven = add_actuators(source, builder, axes, tendons, report)
    add_equalities(source, builder, body_map, axes, tendons.values(), nodes, report)
    shapes = add_geoms(source, builder, body_map, flexible, softness, report)
    add_sites(source, builder, body_map)
    return Elements(
        body_map=body_map,
        nodes=nodes,
        flexible=flexible,
        axes=axes,
        tendons=tendons,
        driven=driven,
        shapes=shapes,
    )
