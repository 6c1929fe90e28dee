"""The mass matrix of trees, by composite rigid bodies."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.dynamics.body_mass import BodyMass
from jaxccp.dynamics.trees.screws import Screws
from jaxccp.math import small
from jaxccp.math.components import components, from_components
from jaxccp.model.kinematics.dofs import Dofs


@jax.custom_jvp
def lower_mass_matrix(
    screws: Screws,
    jacobian: Float[Array, "nb 6 nv"],
    position: Float[Array, "nb 3"],
    mass: BodyMass,
) -> Float[Array, "nv nv"]:
    """Return the lower triangle of M = Σ_b J_bᵀ M_b J_b, which is symmetric; above it are zeros.

    The bodies that a degree of freedom i moves are one rigid body as far as i goes: at unit rate it
    has a momentum F_i, and an angular momentum H_i about its own centre of mass c_i. M_ij is their
    power F_i · v_j(c_i) + H_i · ω_j on the velocity field of j, for every j that moves all of it
    (Featherstone, Rigid Body Dynamics Algorithms, 2008, section 6.2). Separate centres keep small
    links far out as exact as large ones in float32, which one origin for all would not. The
    derivative is that of the sum over bodies, which takes fewer operations.

    Args:
        screws: the degrees of freedom.
        jacobian: their :meth:`~jaxccp.dynamics.trees.screws.Screws.body_jacobian`, J, through which
            the derivative by ``screws`` and ``position`` goes.
        position: centres of mass.
        mass: mass operator of the bodies.
    """
    dofs, body_mass = screws.dofs, mass.mass
    if not dofs.count:
        return jnp.zeros((0, 0), body_mass.dtype)
    share = jnp.asarray(dofs.supports.T, body_mass.dtype) * body_mass
    total = jnp.sum(share, axis=1)
    centre = (share @ position) / total[:, None]
    xx, yy, zz, xy, xz, yz = components(
        _composite_inertia(dofs, position, body_mass, mass.inertia, total, centre)
    )
    # Written out by components this is one loop over [nv nv]. Some versions of XLA make a sum over
    # an axis of 3 part of a matrix product's kernel, which then computes each number many times.
    a, b, c = components(screws.angular)
    spin = xx * a + xy * b + xz * c, xy * a + yy * b + yz * c, xz * a + yz * b + zz * c
    momentum = [total * v for v in _velocity_at(screws, components(centre))]
    velocity = _velocity_at(screws, [x[:, None] for x in components(centre)])
    power = sum(f[:, None] * v for f, v in zip(momentum, velocity, strict=True))
    power = power + sum(h[:, None] * w for h, w in zip(spin, (a, b, c), strict=True))
    lower = jnp.where(np.tril(dofs.covers), power, 0.0)
    upper = np.triu(dofs.covers, 1)  # where one nearer to the root is listed later
    return lower + jnp.where(upper, power, 0.0).T if upper.any() else lower


@lower_mass_matrix.defjvp
def _lower_mass_matrix_jvp(primals: tuple, tangents: tuple) -> tuple[Array, Array]:
    _, jacobian, _, mass = primals
    _, d_jacobian, _, d_mass = tangents
    # Of an inertia the value reads what is above its diagonal, and so does the derivative.
    d_mass = BodyMass(d_mass.mass, small.symmetric(jnp.swapaxes(d_mass.inertia, 1, 2)))
    # dM = Jᵀ Y + Yᵀ J with Y = M_b dJ + ½ dM_b J.
    change = mass.columns(d_jacobian) + 0.5 * d_mass.columns(jacobian)
    half = jnp.einsum("biv,biw->vw", jacobian, change)
    return lower_mass_matrix(*primals), jnp.tril(half + half.T)


def _composite_inertia(
    dofs: Dofs,
    position: Float[Array, "nb 3"],
    mass: Float[Array, " nb"],
    inertia: Float[Array, "nb 3 3"],
    total: Float[Array, " nv"],
    centre: Float[Array, "nv 3"],
) -> Float[Array, "nv 6"]:
    """Return the inertia of what each degree of freedom moves about its centre of mass [kg m²], as
    xx, yy, zz, xy, xz, yz.

    With S(d) = |d|² 1 − d dᵀ, the bodies of a subtree about its centre c are the sum, over the
    bodies b and subtrees k within, of m_b S(p_b − c_k) for the smallest subtree k of b, and of m_k
    S(c_k − c_l) for the next larger subtree l of k. This has a term for each body and each subtree
    instead of one for each pair of them, and none of them is a difference of large numbers.

    Args:
        dofs: tell what each degree of freedom moves.
        position: centres of mass.
        mass: masses [kg].
        inertia: inertias about them, world axes [kg m²].
        total: mass of what each degree of freedom moves [kg].
        centre: its centre of mass.
    """
    subtree, larger = dofs.subtrees
    arms = [position - centre[dofs.nearest], centre[subtree] - centre[larger]]
    x, y, z = components(jnp.concatenate(arms))
    m = jnp.concatenate([mass, total[subtree]])
    products = (y * y + z * z, x * x + z * z, x * x + y * y, -x * y, -x * z, -y * z)
    entries = [inertia[:, i, j] for i, j in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))]
    others = ((0, len(subtree)), (0, 0))
    terms = from_components([m * p for p in products])
    terms = terms + jnp.pad(from_components(entries), others)
    return jnp.asarray(np.concatenate([dofs.supports.T, dofs.contains], axis=1), m.dtype) @ terms


def _velocity_at(screws: Screws, point: list[Array]) -> tuple[Array, Array, Array]:
    """Return the components of linear + angular × (point − origin) of each degree of freedom.

    Args:
        screws: the degrees of freedom.
        point: x, y and z, each of which broadcasts with an array [nv].
    """
    u, v, w = components(screws.linear)
    a, b, c = components(screws.angular)
    x, y, z = (p - o for p, o in zip(point, components(screws.origin), strict=True))
    return u + b * z - c * y, v + c * x - a * z, w + a * y - b * x
