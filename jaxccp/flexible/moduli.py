"""Stiffnesses C of materials: stresses (xx, yy, zz, yz, xz, xy) from strains with doubled shears
(xx, yy, zz, 2yz, 2xz, 2xy)."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

PAIRS = np.array([(0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)])
"""The two axes of each of the six components."""


def isotropic(young: Array | float, poisson: Array | float) -> Float[Array, "6 6"]:
    """Return the moduli of Hooke's law.

    Args:
        young: modulus E [Pa].
        poisson: ratio ν, in (−1, ½).
    """
    shear = young / (2.0 * (1.0 + poisson))
    lame = 2.0 * shear * poisson / (1.0 - 2.0 * poisson)
    axial = np.zeros((6, 6))
    axial[:3, :3] = 1.0
    return jnp.asarray(lame * axial + shear * np.diag([2.0, 2.0, 2.0, 1.0, 1.0, 1.0]), float)


def orthotropic(
    young: Float[Array, "3"], poisson: Float[Array, "3"], shear: Float[Array, "3"]
) -> Float[Array, "6 6"]:
    """Return the moduli of a material with three perpendicular planes of symmetry.

    Args:
        young: E along x, y, z [Pa].
        poisson: ν_xy, ν_xz, ν_yz: contraction along the second for stretch along the first.
        shear: G_xy, G_xz, G_yz [Pa].
    """
    (ex, ey, ez), (xy, xz, yz) = young, poisson
    rows = [
        [1 / ex, -xy / ex, -xz / ex],
        [-xy / ex, 1 / ey, -yz / ey],
        [-xz / ex, -yz / ey, 1 / ez],
    ]
    axial = jnp.linalg.inv(jnp.stack([jnp.stack(row) for row in rows]))
    stiffness = jnp.zeros((6, 6), axial.dtype).at[:3, :3].set(axial)
    return stiffness.at[np.arange(3, 6), np.arange(3, 6)].set(shear[::-1])


def rotated(moduli: Float[Array, "6 6"], angle: Array | float) -> Float[Array, "6 6"]:
    """Return the moduli of a ply whose x axis is rotated about z.

    Args:
        moduli: in the axes of the ply.
        angle: angle of the rotation [rad].
    """
    c, s = jnp.cos(angle), jnp.sin(angle)
    o, i = jnp.zeros_like(c), jnp.ones_like(c)
    transformation = strain_matrix(
        jnp.stack([jnp.stack([c, s, o]), jnp.stack([-s, c, o]), jnp.stack([o, o, i])])
    )
    return transformation.T @ moduli @ transformation


def strain_matrix(change: Float[Array, "3 3"]) -> Float[Array, "6 6"]:
    """Return the matrix of ε → B ε Bᵀ for the six components of a strain."""
    identity = jnp.eye(6, dtype=change.dtype)
    return jax.vmap(lambda e: _voigt(change @ _tensor(e) @ change.T), out_axes=1)(identity)


def of_section(
    young: Array | float, poisson: Array | float, shear_factors: Float[Array, "2"]
) -> Float[Array, "2 6 6"]:
    """Return the moduli of a beam: first those of its section without Poisson's coupling, then
    those that Poisson's ratio adds on the axis.

    Args:
        young: modulus E [Pa].
        poisson: ratio ν, in (−1, ½).
        shear_factors: k of the planes xz and xy, the parts of the section that resist shear.
    """
    stiffness = isotropic(young, poisson)
    shear = jnp.concatenate([jnp.ones(4), shear_factors])
    diagonal = jnp.concatenate([jnp.full(3, young), jnp.diagonal(stiffness)[3:]])
    axis = stiffness.at[:3, :3].add(-young * np.eye(3)).at[3:, 3:].set(0.0)
    return jnp.stack([jnp.diag(diagonal * shear), axis])


def rectangle_shear_factor(poisson: Array | float) -> Array | float:
    """Return the shear factor k of a rectangular section (Cowper, J. Applied Mechanics 33,
    1966)."""
    return 10.0 * (1.0 + poisson) / (12.0 + 11.0 * poisson)


def _tensor(strain: Float[Array, "6"]) -> Float[Array, "3 3"]:
    """Return the 3 × 3 tensor of the six components of a strain."""
    half = strain * jnp.asarray([1.0, 1.0, 1.0, 0.5, 0.5, 0.5])
    i, j = PAIRS.T
    return jnp.zeros((3, 3)).at[i, j].set(half).at[j, i].set(half)


def _voigt(strain: Float[Array, "3 3"]) -> Float[Array, "6"]:
    """Return the six components of a 3 × 3 strain tensor."""
    i, j = PAIRS.T
    return strain[i, j] * jnp.asarray([1.0, 1.0, 1.0, 2.0, 2.0, 2.0])
