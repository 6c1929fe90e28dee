"""Flexible bodies of a file as families: solids of tetrahedra, sheets of triangles, lines of
springs."""

from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from jaxccp.flexible.membrane import Membrane, membrane
from jaxccp.flexible.nodal import NodalFamily
from jaxccp.flexible.solids import Tetrahedra, soft_solid
from jaxccp.flexible.solids.mesh import volumes
from jaxccp.flexible.springs import spring_net
from jaxccp.io.errors import InputError
from jaxccp.io.mjcf.bodies import Frames
from jaxccp.io.mjcf.flex_moduli import fitted_moduli
from jaxccp.io.mjcf.flexes import Flex
from jaxccp.io.mjcf.source import Source
from jaxccp.scene.builder import ModelBuilder

LAW = "st-venant-kirchhoff"
"""MuJoCo's law of solids."""


@dataclass(frozen=True)
class FlexFamily:
    """A flexible body of a file as a family of ours."""

    flex: Flex
    family: NodalFamily
    frames: tuple[int, ...]
    """Our bodies that its visible nodes are."""

    @property
    def nodes(self) -> Int[np.ndarray, " nf"]:
        """The node of each of these."""
        return self.family.layout.frames


def add_flexes(
    source: Source, builder: ModelBuilder, frames: Frames, flexes: list[Flex]
) -> list[FlexFamily]:
    """Add them as families, in their order, and say in ``frames`` where their nodes are.

    Raises:
        InputError: a mesh, or a number, is none that a body can have.
    """
    made = []
    for flex in flexes:
        try:
            family = _family(source, flex)
            own = builder.add_family(family, flex.name)
        except ValueError as error:
            raise InputError(source.path, str(error), "correct the file") from None
        for node, frame in zip(family.layout.frames, own, strict=True):
            if not flex.held[node]:
                frames.body[flex.body[node]] = frame
        made.append(FlexFamily(flex, family, tuple(own)))
    return made


def _family(source: Source, flex: Flex) -> NodalFamily:
    """The family with the file's numbers, and what its moduli are in MuJoCo."""
    family = _of_file(source, flex)
    elements = family.elements
    if not isinstance(elements, Tetrahedra | Membrane):
        return family
    young, poisson = (jnp.asarray(x, float) for x in fitted_moduli(source, flex, family))
    return replace(family, elements=replace(elements, young=young, poisson=poisson))


def _of_file(source: Source, flex: Flex) -> NodalFamily:
    m, given, index, what = source.m, source.element("flex", flex.index), flex.index, flex.label
    held = np.flatnonzero(flex.held)
    damping = float(m.flex_damping[index])
    if flex.dimension == 1:
        springs = float(m.flex_edgestiffness[index]), float(m.flex_edgedamping[index])
        return spring_net(flex.position, flex.element, flex.mass, *springs, held, what)
    young, poisson = float(given.young), float(given.poisson)
    if flex.dimension == 2:
        numbers = young, poisson, float(given.thickness), damping
        return membrane(flex.position, flex.element, flex.mass, *numbers, held, what)
    element = _outside_out(flex)
    solid = soft_solid(
        flex.position, element, young, poisson, 1.0, damping, LAW, fixed=held, what=what
    )
    # What nodes have of the elements' volume decides which density gives them the file's mass.
    share = np.zeros(len(flex.mass))
    np.add.at(share, element, 0.25 * volumes(flex.position, element)[:, None])
    density = jnp.asarray((flex.mass / share)[element], float)
    return replace(solid, elements=replace(solid.elements, density=density))


def _outside_out(flex: Flex) -> Int[np.ndarray, "e 4"]:
    """Elements in the order of nodes that gives them a positive volume; to MuJoCo both are one."""
    inverted = volumes(flex.position, flex.element) < 0
    element = flex.element.copy()
    element[inverted] = element[inverted][:, [1, 0, 2, 3]]
    return element
