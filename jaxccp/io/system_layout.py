"""The layouts "system" and "velocities": n rows, H v − Jᵀλ = f and u = J v + diag(E) λ + b.

"system" is about nb bodies:

    H_data, H_indices, H_indptr, H_shape   CSR of H (6 nb × 6 nb) [kg], [kg m], [kg m²]
    J_data, J_indices, J_indptr, J_shape   CSR of the Jacobian (n × 6 nb)
    f (6 nb,) [N s], [N m s]   E (n,) [m/(s·N·s)]   b (n,) [m/s]
    lo, hi (s,)     bounds of the scalar rows [N s], ±inf where there are none
    mu (c,)         of the contacts, whose rows follow: normal, tangent, tangent
    friction        optional: "cone", "pyramid" or "octagon"; with rolling "cone"
    rolling (c, 2)  optional: coefficients of spinning and rolling friction, in units of length of
                    the angular rows; contacts then have six rows: spin, rolling, rolling come last

H is symmetric and positive definite; where it couples bodies, it is factorised as one dense matrix.

"velocities" is about v generalised velocities: H (v × v), J (n × v), f (v,), all others as above.

:func:`jaxccp.io.write_system` writes both, "velocities" for a step in reduced coordinates.
"""

import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from jaxccp.ccp import BodyDelassus, Cones, CoupledDelassus, Delassus, Problem, WhitenedDelassus
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
    f, compliance, b, cones = _rows(arrays, dtype)
    s, c, width = len(cones.lo), len(cones.mu), cones.width
    if len(f) % 6:
        raise arrays.fault("f", f"has {len(f)} numbers", "store six per body")
    nb = len(f) // 6
    block = np.concatenate([np.arange(s), s + np.repeat(np.arange(c), width)])
    rows, bodies = paired_rows(arrays, "J", nb, np.arange(len(b)), block, s)

    # An additional body stands for "none"; no row acts on it.
    blocks, matrix = _mass(arrays, nb)
    if matrix is None:
        factors = _lower_factor(arrays, blocks)
        root = np.concatenate([np.swapaxes(np.linalg.inv(factors), 1, 2), np.zeros((1, 6, 6))])
        rows = np.einsum("nbi,nbij->nbj", rows, root[bodies[block]])
        momentum = np.concatenate([f.reshape(-1, 6), np.zeros((1, 6))])
        motion = np.einsum("bji,bj->bi", root, momentum)
    else:
        factor = np.eye(6 * nb + 6)
        factor[:-6, :-6] = _lower_factor(arrays, matrix)
        motion = np.zeros((nb + 1, 6))
        motion[:-1] = np.linalg.solve(matrix, f).reshape(-1, 6)
    r = b + np.einsum("nbi,nbi->n", rows, motion[bodies[block]])

    paired = BodyDelassus(
        scalar_rows=jnp.asarray(rows[:s].reshape(-1, 6 * bodies.shape[1]), dtype),
        contact_rows=jnp.asarray(rows[s:, :2].reshape(-1, width, 12), dtype),
        scalar_bodies=jnp.asarray(bodies[:s], jnp.int32),
        contact_bodies=jnp.asarray(bodies[s:, :2], jnp.int32),
        compliance=jnp.asarray(compliance, dtype),
        bodies=nb + 1,
    )
    delassus: Delassus = paired
    if matrix is not None:
        delassus = CoupledDelassus(paired, jnp.asarray(factor, dtype))
    return _named(arrays, delassus, r, cones)


def read_velocities(arrays: Arrays, dtype: DTypeLike) -> NamedProblem:
    """Read a problem of the layout "velocities".

    Args:
        arrays: the file.
        dtype: dtype of the problem's arrays.

    Raises:
        InputError: an array is missing, has the wrong shape, or does not describe such a problem.
    """
    f, compliance, b, cones = _rows(arrays, dtype)
    n, v = len(b), len(f)
    mass, jacobian = _dense(arrays, "H", (v, v)), _dense(arrays, "J", (n, v))
    factor = _lower_factor(arrays, arrays.symmetric("H_data", mass, mass.T))
    whitened = np.linalg.solve(factor, jacobian.T).T
    r = b + whitened @ np.linalg.solve(factor, f)
    delassus = WhitenedDelassus(jnp.asarray(whitened, dtype), jnp.asarray(compliance, dtype))
    return _named(arrays, delassus, r, cones)


def _rows(arrays: Arrays, dtype: DTypeLike) -> tuple[np.ndarray, np.ndarray, np.ndarray, Cones]:
    """Return f, the diagonal of E, b and the cones."""
    lo, hi = arrays.bounds("lo", "hi", None)
    mu, f = arrays.not_negative("mu", None), arrays.floats("f", None)
    rolling = arrays.not_negative("rolling", len(mu), 2) if "rolling" in arrays else None
    n = len(lo) + (3 if rolling is None else 6) * len(mu)
    coefficients = None if rolling is None else jnp.asarray(rolling, dtype)
    bounds = jnp.asarray(lo, dtype), jnp.asarray(hi, dtype)
    cones = Cones(*bounds, jnp.asarray(mu, dtype), read_cone_type(arrays), coefficients)
    return f, arrays.not_negative("E", n), arrays.floats("b", n), cones


def _named(arrays: Arrays, delassus: Delassus, r: np.ndarray, cones: Cones) -> NamedProblem:
    problem = Problem(delassus, jnp.asarray(r, cones.mu.dtype), cones)
    zero = np.zeros(len(r))
    return make_named_problem(arrays, problem, r, np.arange(len(r)), zero, zero, 1.0 + zero)


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


def _lower_factor(arrays: Arrays, matrix: np.ndarray) -> np.ndarray:
    """Return the lower Cholesky factor L of the file's H = L Lᵀ, or of each of its blocks."""
    try:
        return np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        raise arrays.fault(
            "H_data", "is not positive definite", "leave out bodies that cannot move"
        ) from None


def _dense(arrays: Arrays, name: str, expected: tuple[int, int]) -> np.ndarray:
    shape, row, column, data = read_csr(arrays, name)
    if shape != expected:
        raise arrays.fault(f"{name}_shape", f"is {shape}", f"f, lo and mu need {expected}")
    dense = np.zeros(shape)
    np.add.at(dense, (row, column), data)
    return dense
