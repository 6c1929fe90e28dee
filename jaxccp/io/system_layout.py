"""The layout "system": n rows on nb bodies, H v − Jᵀλ = f and u = J v + diag(E) λ + b.

    H_data, H_indices, H_indptr, H_shape   CSR of H (6 nb × 6 nb) [kg], [kg m], [kg m²]
    J_data, J_indices, J_indptr, J_shape   CSR of the Jacobian (n × 6 nb)
    f (6 nb,) [N s], [N m s]   E (n,) [m/(s·N·s)]   b (n,) [m/s]
    lo, hi (s,)     bounds of the scalar rows [N s], ±inf where there are none
    mu (c,)         of the contacts, whose rows follow: normal, tangent, tangent
    friction        optional: "cone", "pyramid" or "octagon"; with rolling "cone"
    rolling (c, 2)  optional: coefficients of spinning and rolling friction, in units of length of
                    the angular rows; contacts then have six rows: spin, rolling, rolling come last

What :func:`jaxccp.io.write_system` writes. H is symmetric and positive definite; where it couples
bodies, it is factorised as one dense matrix.
"""

import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from jaxccp.ccp import BodyDelassus, Cones, CoupledDelassus, Delassus, Problem
from jaxccp.io.arrays import Arrays
from jaxccp.io.compressed_rows import read_csr
from jaxccp.io.cone_type import read_cone_type
from jaxccp.io.named import NamedProblem, make_named_problem
from jaxccp.io.row_bodies import paired_rows


def read_system(arrays: Arrays, dtype: DTypeLike) -> NamedProblem:
    """Read a problem of the layout "system".

    Args:
        arrays: the file.
        dtype: dtype of the problem's arrays.

    Raises:
        InputError: an array is missing, has the wrong shape, or does not describe such a problem.
    """
    lo, hi = arrays.bounds("lo", "hi", None)
    mu = arrays.not_negative("mu", None)
    s, c = len(lo), len(mu)
    rolling = arrays.not_negative("rolling", c, 2) if "rolling" in arrays else None
    width = 3 if rolling is None else 6
    n = s + width * c
    compliance, b = arrays.not_negative("E", n), arrays.floats("b", n)
    f = arrays.floats("f", None)
    if len(f) % 6:
        raise arrays.fault("f", f"has {len(f)} numbers", "store six per body")
    nb = len(f) // 6
    block = np.concatenate([np.arange(s), s + np.repeat(np.arange(c), width)])
    rows, bodies = paired_rows(arrays, "J", nb, np.arange(n), block, s)

    # An additional body stands for "none"; no row acts on it.
    blocks, matrix = _mass(arrays, nb)
    if matrix is None:
        factors = lower_factor(arrays, blocks)
        root = np.concatenate([np.swapaxes(np.linalg.inv(factors), 1, 2), np.zeros((1, 6, 6))])
        rows = np.einsum("nbi,nbij->nbj", rows, root[bodies[block]])
        momentum = np.concatenate([f.reshape(-1, 6), np.zeros((1, 6))])
        motion = np.einsum("bji,bj->bi", root, momentum)
    else:
        factor = np.eye(6 * nb + 6)
        factor[:-6, :-6] = lower_factor(arrays, matrix)
        motion = np.zeros((nb + 1, 6))
        motion[:-1] = np.linalg.solve(matrix, f).reshape(-1, 6)
    r = b + np.einsum("nbi,nbi->n", rows, motion[bodies[block]])

    paired = BodyDelassus(
        jnp.asarray(rows[:s].reshape(-1, 6 * bodies.shape[1]), dtype),
        jnp.asarray(rows[s:, :2].reshape(-1, width, 12), dtype),
        jnp.asarray(bodies[:s], jnp.int32),
        jnp.asarray(bodies[s:, :2], jnp.int32),
        jnp.asarray(compliance, dtype),
        nb + 1,
    )
    delassus: Delassus = paired
    if matrix is not None:
        delassus = CoupledDelassus(paired, jnp.asarray(factor, dtype))
    bounds = jnp.asarray(lo, dtype), jnp.asarray(hi, dtype)
    coefficients = None if rolling is None else jnp.asarray(rolling, dtype)
    cones = Cones(*bounds, jnp.asarray(mu, dtype), read_cone_type(arrays), coefficients)
    problem = Problem(delassus, jnp.asarray(r, dtype), cones)
    return make_named_problem(
        arrays, problem, r, np.arange(n), np.zeros(n), np.zeros(n), np.ones(n)
    )


def _mass(arrays: Arrays, nb: int) -> tuple[np.ndarray, np.ndarray | None]:
    """Return the diagonal blocks of H (nb, 6, 6) and None; if H has other blocks, an empty array of
    blocks and H."""
    shape, row, column, data = read_csr(arrays, "H")
    if shape != (6 * nb, 6 * nb):
        raise arrays.fault("H_shape", f"is {shape}", f"f needs ({6 * nb}, {6 * nb})")
    row, column, data = row[data != 0], column[data != 0], data[data != 0]
    if np.array_equal(row // 6, column // 6):
        blocks = np.zeros((nb, 6, 6))
        np.add.at(blocks, (row // 6, row % 6, column % 6), data)
        return arrays.symmetric("H_data", blocks, np.swapaxes(blocks, 1, 2)), None
    matrix = np.zeros(shape)
    np.add.at(matrix, (row, column), data)
    return np.zeros((0, 6, 6)), arrays.symmetric("H_data", matrix, matrix.T)


def lower_factor(arrays: Arrays, matrix: np.ndarray) -> np.ndarray:
    """Return the lower Cholesky factor L of the file's H = L Lᵀ.

    Args:
        arrays: the file, for the error.
        matrix: H, or a batch of its blocks.

    Raises:
        InputError: H is not positive definite.
    """
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        raise arrays.fault(
            "H_data", "is not positive definite", "leave out bodies that cannot move"
        ) from None
