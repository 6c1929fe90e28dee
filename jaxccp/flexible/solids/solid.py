"""Soft solids of tetrahedra as a family of velocities."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.flexible.band_root import BandRoot
from jaxccp.flexible.layout import Layout, node_indices
from jaxccp.flexible.nodal import NodalFamily
from jaxccp.flexible.point_masses import lengthwise
from jaxccp.flexible.solids.laws import LAWS
from jaxccp.flexible.solids.mesh import boundary, checked_mesh
from jaxccp.flexible.solids.tetrahedra import Tetrahedra
from jaxccp.names import unknown

ORIGIN = (0.0, 0.0, 0.0)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SoftSolid(NodalFamily):
    """A solid of tetrahedra whose steps use the positive semidefinite stiffness of its law.

    That stiffness is 0 for motions without deformation, so a step without contact conserves linear
    and angular momentum to rounding error.
    """

    elements: Tetrahedra
    """The tetrahedra."""

    def root(self, q: Float[Array, " nv"], h: Array | float) -> BandRoot:
        return self.factorise(self._definite(q, h))

    def _definite(self, q: Float[Array, " nv"], h: Array | float) -> Float[Array, "e 4 3 4 3"]:
        return self.element_matrices(q, h, "convex")


def soft_solid(
    points: Float[np.ndarray, "n 3"],
    tetrahedra: np.ndarray,
    young: float,
    poisson: float,
    density: float,
    damping: float = 0.0,
    law: str = "neo-hookean",
    velocity: Sequence[float] | np.ndarray = ORIGIN,
    fixed: int | Iterable[int] | np.ndarray = (),
    what: str = "soft solid",
) -> SoftSolid:
    """Return a solid of linear tetrahedra that is unstrained at the given positions of its points.

    Its frames are the nodes of its surface, in their order.

    Args:
        points: positions of the nodes, world [m].
        tetrahedra: nodes of each element [e 4]; seen from the last, the others counter-clockwise.
        young: Young's modulus [Pa], positive.
        poisson: ratio of Poisson, above −1 and below ½.
        density: mass per volume [kg/m³], positive.
        damping: α of Kelvin and Voigt's law [s], not negative: the viscous stress is α times the
            rate of the elastic one.
        law: name of one of :data:`jaxccp.flexible.solids.laws.LAWS`.
        velocity: velocity of all nodes [3], or of each [n 3], world [m/s].
        fixed: index, indices or mask of the nodes that never move.
        what: beginning of error messages.

    Raises:
        ValueError: numbers that are not physical, an unknown law or node, or a mesh that
            :func:`jaxccp.flexible.solids.mesh.checked_mesh` refuses.
    """
    points, tetrahedra = checked_mesh(what, points, tetrahedra)
    _reject_numbers(what, young, poisson, density, damping)
    if law not in LAWS:
        raise ValueError(f"{what}: law {unknown(law, LAWS)}")
    mask = np.zeros(points.shape, bool)
    mask[node_indices(f"{what}: fixed", fixed, len(points))] = True
    moving = np.array(velocity, float)
    if moving.shape not in ((3,), points.shape) or not np.isfinite(moving).all():
        raise ValueError(
            f"{what}: velocity [m/s] must be 3 finite numbers, or those of {len(points)} nodes"
        )
    moving = np.where(mask, 0.0, moving)
    surface, corner = np.unique(boundary(what, tetrahedra), return_inverse=True)
    corner = corner.reshape(-1, 3)
    layout = Layout(
        tetrahedra,
        mask,
        np.ones(len(points), bool),
        surface,
        order=lengthwise(points),
        skin=np.concatenate([corner, corner[:, 2:]], axis=1),
    )
    position = jnp.asarray(points, float)
    return SoftSolid(
        Tetrahedra(
            position,
            young=jnp.asarray(young, float),
            poisson=jnp.asarray(poisson, float),
            density=jnp.asarray(density, float),
            retardation=jnp.asarray(damping, float),
            layout=layout,
            law=law,
        ),
        position,
        jnp.asarray(moving, float),
        jnp.zeros_like(position),
        layout,
    )


def _reject_numbers(
    what: str, young: float, poisson: float, density: float, damping: float
) -> None:
    """Raise ``ValueError`` if a material number is out of range."""
    for name, value in (("young [Pa]", young), ("density [kg/m³]", density)):
        if not (np.isfinite(value) and value > 0):
            raise ValueError(f"{what}: {name} must be positive and finite, not {value!r}")
    if not -1 < poisson < 0.5:
        raise ValueError(
            f"{what}: poisson must be above -1 and below 0.5, not {poisson!r}; what keeps its "
            "volume has 0.45 to 0.49, beyond which linear tetrahedra lock"
        )
    if not (np.isfinite(damping) and damping >= 0):
        raise ValueError(f"{what}: damping [s] must be finite and not negative, not {damping!r}")
