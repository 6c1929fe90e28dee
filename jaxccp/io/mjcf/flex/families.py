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
from jaxccp.io.mjcf.elements.bodies import BodyMap
from jaxccp.io.mjcf.files.source import Source
from jaxccp.io.mjcf.flex.flexes import Flex
from jaxccp.io.mjcf.flex.moduli import fitted_moduli
from jaxccp.scene.builder import ModelBuilder

LAW = "st-venant-kirchhoff"
"""Name of MuJoCo's material law for solids."""


@dataclass(frozen=True)
class FlexFamily:
    """A flexible body of a file, and the model's family for it."""

    flex: Flex
    """The flexible body of the file."""
    family: NodalFamily
    """The model's family."""
    frames: tuple[int, ...]
    """The model's bodies at those nodes of the family that have a frame."""

    @property
    def nodes(self) -> Int[np.ndarray, " nf"]:
        """Return the index of the node at each of ``frames``."""
        return self.family.layout.frames


def add_flexes(
    source: Source, builder: ModelBuilder, body_map: BodyMap, flexes: list[Flex]
) -> list[FlexFamily]:
    """Add flexible bodies to a builder as families.

    Args:
        source: the compiled file.
        builder: the builder.
        body_map: places of the file's bodies in the model; those of nodes are set here.
        flexes: the flexible bodies.

    Returns:
        The families, in the order of ``flexes``.

    Raises:
        InputError: a mesh, or a number, is none that a body can have.
    """
    made = []
    for flex in flexes:
        try:
            family = _family(source, flex)
            bodies = builder.add_family(family, flex.name)
        except ValueError as error:
            raise InputError(source.path, str(error), "correct the file") from None
        for node, frame in zip(family.layout.frames, bodies, strict=True):
            if not flex.fixed[node]:
                body_map.body[flex.body[node]] = frame
        made.append(FlexFamily(flex, family, tuple(bodies)))
    return made


def _family(source: Source, flex: Flex) -> NodalFamily:
    """Return the family of a flexible body, with moduli that reproduce MuJoCo's forces."""
    family = _nominal_family(source, flex)
    elements = family.elements
    if not isinstance(elements, Tetrahedra | Membrane):
        return family
    young, poisson = (jnp.asarray(x, float) for x in fitted_moduli(source, flex, family))
    return replace(family, elements=replace(elements, young=young, poisson=poisson))


def _nominal_family(source: Source, flex: Flex) -> NodalFamily:
    """Return the family of a flexible body with the moduli in the file."""
    m, index, what = source.m, flex.index, flex.label
    specification = source.element("flex", index)
    fixed = np.flatnonzero(flex.fixed)
    column = m.flex_edgedamping if flex.dimension == 1 else m.flex_damping
    damping = 0.0 if source.is_disabled("DAMPER", "PASSIVE") else float(column[index])
    if flex.dimension == 1:
        springs = float(m.flex_edgestiffness[index]), damping
        return spring_net(flex.position, flex.element, flex.mass, *springs, fixed, what)
    young, poisson = float(specification.young), float(specification.poisson)
    if flex.dimension == 2:
        numbers = young, poisson, float(specification.thickness), damping
        return membrane(flex.position, flex.element, flex.mass, *numbers, fixed, what)
    element = _with_positive_volumes(flex)
    solid = soft_solid(
        flex.position, element, young, poisson, 1.0, damping, LAW, fixed=fixed, what=what
    )
    # Each element gets the density that gives its nodes the mass in the file.
    share = np.zeros(len(flex.mass))
    np.add.at(share, element, 0.25 * volumes(flex.position, element)[:, None])
    density = jnp.asarray((flex.mass / share)[element], float)
    return replace(solid, elements=replace(solid.elements, density=density))


def _with_positive_volumes(flex: Flex) -> Int[np.ndarray, "e 4"]:
    """Return the elements with their nodes in the order of positive volume; MuJoCo allows both
    orders."""
    inverted = volumes(flex.position, flex.element) < 0
    element = flex.element.copy()
    element[inverted] = element[inverted][:, [1, 0, 2, 3]]
    return element
