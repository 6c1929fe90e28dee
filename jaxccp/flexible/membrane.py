"""Thin sheets that resist stretching and shearing, but not bending."""

from collections.abc import Iterable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.flexible.elements import Elements, Points
from jaxccp.flexible.law import StrainLaw
from jaxccp.flexible.nodal import NodalFamily
from jaxccp.flexible.point_masses import element_masses, point_layout
from jaxccp.math import safe
from jaxccp.math.linear3 import cross

FLAT = 1e-6
"""Twice an element's area over the square of its longest edge, below which the element counts as
degenerate."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class MembraneLaw(StrainLaw):
    """The elastic law ½ εᵀ C ε per area of a sheet in plane stress, with Green's strains (xx, yy, 2
    xy).

    y are the derivatives of the position along two perpendicular directions of the sheet.
    """

    moduli: Float[Array, "3 3"]
    """Moduli C of plane stress times the thickness [N/m]."""
    retardation: Float[Array, ""]
    """α of Kelvin and Voigt's damping [s]."""

    def strain(self, y: Float[Array, "2 3"]) -> Float[Array, "3"]:
        a, b = y
        return jnp.stack([0.5 * (a @ a - 1.0), 0.5 * (b @ b - 1.0), a @ b])

    def ratio(self, y: Float[Array, "2 3"]) -> Float[Array, ""]:
        return safe.norm(cross(y[0], y[1]))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Membrane(Elements):
    """Triangles of constant strain in a sheet."""

    rest: Float[Array, "e 3 3"]
    """Corners of each triangle in the unstrained configuration [m]."""
    young: Float[Array, ""]
    """Young's modulus [Pa]."""
    poisson: Float[Array, ""]
    """Poisson's ratio."""
    thickness: Float[Array, ""]
    """Thickness of the sheet [m]."""
    retardation: Float[Array, ""]
    """α of Kelvin and Voigt's damping [s]."""
    mass: Float[Array, "e 3"]
    """Mass that each triangle adds to each of its three nodes [kg]."""

    def points(self) -> Points:
        first, second = (self.rest[:, i] - self.rest[:, 0] for i in (1, 2))
        normal = cross(first, second)
        x_axis = first / safe.norm(first)[:, None]
        y_axis = cross(normal, x_axis) / safe.norm(normal)[:, None]
        # In these axes the corners are (0, 0), (length, 0) and (x, y).
        length = safe.norm(first)
        x, y = (jnp.sum(second * axis, axis=1) for axis in (x_axis, y_axis))
        unit, none = jnp.ones_like(length), jnp.zeros_like(length)
        slopes = jnp.stack(
            [
                jnp.stack([-unit, unit, none]) / length,
                jnp.stack([x / length - 1, -x / length, unit]) / y,
            ]
        ).transpose(2, 0, 1)
        count = len(self.rest)
        nu = self.poisson
        plane = self.young * self.thickness / (1 - nu * nu)
        moduli = jnp.diag(plane * jnp.stack([1 + 0 * nu, 1 + 0 * nu, 0.5 * (1 - nu)]))
        moduli = moduli.at[[0, 1], [1, 0]].set(plane * nu)
        law = MembraneLaw(
            jnp.broadcast_to(moduli, (count, 1, 3, 3)),
            jnp.broadcast_to(self.retardation, (count, 1)),
        )
        return Points(slopes[:, None], 0.5 * safe.norm(normal)[:, None], law)

    def masses(self) -> Float[Array, "e 3 3"]:
        return jax.vmap(jnp.diag)(self.mass)


def membrane(
    nodes: Float[np.ndarray, "n 3"],
    triangles: np.ndarray,
    mass: Float[np.ndarray, " n"],
    young: float,
    poisson: float,
    thickness: float,
    damping: float = 0.0,
    fixed: int | Iterable[int] | np.ndarray = (),
    what: str = "membrane",
) -> NodalFamily:
    """Return a sheet that is unstrained at the given positions of its nodes; its frames are the
    nodes.

    Args:
        nodes: positions at time 0, world [m].
        triangles: the nodes of each element [e 3].
        mass: mass of each node [kg].
        young: Young's modulus [Pa].
        poisson: Poisson's ratio, above −1 and below 1.
        thickness: thickness of the sheet [m].
        damping: α of Kelvin and Voigt's law [s]: the stress is C (ε + α ε̇).
        fixed: index, indices or mask of the nodes that never move.
        what: beginning of error messages.

    Raises:
        ValueError: triangles without area, numbers that are not physical, or nodes of no element.
    """
    nodes, triangles = np.asarray(nodes, float), np.asarray(triangles, np.int32)
    corner = nodes[triangles]
    sides = np.linalg.norm(corner - np.roll(corner, 1, axis=1), axis=2).max(axis=1)
    edges = corner[:, 1:] - corner[:, :1]
    twice = np.linalg.norm(np.cross(edges[:, 0], edges[:, 1]), axis=1)
    flat = np.flatnonzero(~(twice > FLAT * sides**2))
    if len(flat):
        raise ValueError(
            f"{what}: element {flat[0]} (nodes {triangles[flat[0]].tolist()}) has no area: mesh it "
            "again"
        )
    for name, value in (("Young's modulus [Pa]", young), ("thickness [m]", thickness)):
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{what}: {name} must be positive and finite, not {value!r}")
    if not -1 < poisson < 1:
        raise ValueError(f"{what}: Poisson's ratio must be above −1 and below 1, not {poisson!r}")
    if not (np.isfinite(damping) and damping >= 0):
        raise ValueError(f"{what}: damping [s] must not be negative, but is {damping!r}")
    elements = Membrane(
        rest=jnp.asarray(corner, float),
        young=jnp.asarray(young, float),
        poisson=jnp.asarray(poisson, float),
        thickness=jnp.asarray(thickness, float),
        retardation=jnp.asarray(damping, float),
        mass=element_masses(what, triangles, mass),
    )
    position = jnp.asarray(nodes, float)
    zero = jnp.zeros_like(position)
    skin = triangles[:, [0, 1, 2, 2]]
    layout = point_layout(what, nodes, triangles, fixed, skin)
    return NodalFamily(elements, position, zero, zero, layout)
