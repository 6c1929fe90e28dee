"""Point masses with springs between them: nets, and chains that neither bend nor twist."""

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


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SpringLaw(StrainLaw):
    """The elastic law of a linear spring: the energy per length is ½ k L ε², with ε = |r_x| − 1.

    y = (r_x,) is the derivative of the position along the spring, and L its length at rest.
    """

    moduli: Float[Array, "1 1"]
    """Stiffness times rest length, k L [N]."""
    resistance: Float[Array, "1 1"]
    """Damping coefficient times rest length, c L [N s]."""

    def strain(self, y: Float[Array, "1 3"]) -> Float[Array, "1"]:
        return safe.norm(y) - 1.0

    def dissipation(self, y: Float[Array, "1 3"], rate: Float[Array, "1 3"]) -> Float[Array, ""]:
        _strain, faster = jax.jvp(self.strain, (y,), (rate,))
        return 0.5 * faster @ self.resistance @ faster

    def viscosity(self, y: Float[Array, "1 3"]) -> Float[Array, "1 3 1 3"]:
        slope = jax.jacfwd(self.strain)(y)
        return jnp.einsum("smi,st,tnj->minj", slope, self.resistance, slope)

    def ratio(self, y: Float[Array, "1 3"]) -> Float[Array, ""]:
        return safe.norm(y)[0]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Springs(Elements):
    """Springs with dashpots, each between two nodes."""

    length: Float[Array, " e"]
    """Length of each spring at rest [m]."""
    rigidity: Float[Array, ""]
    """Stiffness k of each spring [N/m]."""
    resistance: Float[Array, ""]
    """Damping coefficient c of each dashpot [N s/m]."""
    mass: Float[Array, "e 2"]
    """Mass that each spring adds to each of its two nodes [kg]."""

    def points(self) -> Points:
        count = len(self.length)
        length = self.length[:, None, None, None]
        law = SpringLaw(self.rigidity * length, self.resistance * length)
        slope = jnp.asarray([-1.0, 1.0], length.dtype) / length
        return Points(slope.reshape(count, 1, 1, 2), self.length[:, None], law)

    def masses(self) -> Float[Array, "e 2 2"]:
        return jax.vmap(jnp.diag)(self.mass)


def spring_net(
    nodes: Float[np.ndarray, "n 3"],
    pairs: np.ndarray,
    mass: Float[np.ndarray, " n"],
    stiffness: float,
    damping: float = 0.0,
    fixed: int | Iterable[int] | np.ndarray = (),
    what: str = "springs",
) -> NodalFamily:
    """Return point masses connected by springs that are relaxed at the given positions; its frames
    are the nodes.

    Args:
        nodes: positions at time 0, world [m].
        pairs: the two nodes of each spring [e 2].
        mass: mass of each node [kg].
        stiffness: stiffness of each spring [N/m].
        damping: coefficient of the dashpot parallel to each spring [N s/m].
        fixed: index, indices or mask of the nodes that never move.
        what: beginning of error messages.

    Raises:
        ValueError: springs without length or stiffness, masses that are not positive, negative
            damping, or nodes without springs.
    """
    nodes, pairs = np.asarray(nodes, float), np.asarray(pairs, np.int32)
    length = np.linalg.norm(nodes[pairs[:, 1]] - nodes[pairs[:, 0]], axis=1)
    if not (length > 0).all():
        at = int(np.argmin(length))
        raise ValueError(f"{what}: edge {at} (nodes {pairs[at].tolist()}) has no length")
    if not (np.isfinite(stiffness) and stiffness > 0):
        raise ValueError(f"{what}: the stiffness [N/m] must be positive, not {stiffness!r}")
    if not (np.isfinite(damping) and damping >= 0):
        raise ValueError(f"{what}: the damping [N s/m] must not be negative, but is {damping!r}")
    elements = Springs(
        jnp.asarray(length, float),
        jnp.asarray(stiffness, float),
        jnp.asarray(damping, float),
        element_masses(what, pairs, mass),
    )
    position = jnp.asarray(nodes, float)
    zero = jnp.zeros_like(position)
    skin = pairs[:, [0, 1, 1, 0]]
    return NodalFamily(
        elements, position, zero, zero, point_layout(what, nodes, pairs, fixed, skin)
    )
