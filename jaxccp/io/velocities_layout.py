"""The layout "velocities": n rows on v generalised velocities, H v − Jᵀλ = f and
u = J v + diag(E) λ + b.

    H_data, H_indices, H_indptr, H_shape   CSR of H (v × v), symmetric and positive definite
    J_data, J_indices, J_indptr, J_shape   CSR of the Jacobian (n × v)
    f (v,)   E (n,)   b (n,)   lo, hi (s,)   mu (c,)   friction, rolling   as in "system"

What :func:`jaxccp.io.write_system` writes of a step in reduced coordinates.
"""

import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from jaxccp.ccp import Cones, Problem, WhitenedDelassus
from jaxccp.io.arrays import Arrays
from jaxccp.io.compressed_rows import read_csr
from jaxccp.io.cone_type import read_cone_type
from jaxccp.io.named import NamedProblem, make_named_problem
from jaxccp.io.system_layout import lower_factor


def read_velocities(arrays: Arrays, dtype: DTypeLike) -> NamedProblem:
    """Read a problem of the layout "velocities".

    Args:
        arrays: the file.
        dtype: dtype of the problem's arrays.

    Raises:
        InputError: an array is missing, has the wrong shape, or does not describe such a problem.
    """
    lo, hi = arrays.bounds("lo", "hi", None)
    mu, f = arrays.not_negative("mu", None), arrays.floats("f", None)
    rolling = arrays.not_negative("rolling", len(mu), 2) if "rolling" in arrays else None
    n, v = len(lo) + (3 if rolling is None else 6) * len(mu), len(f)
    compliance, b = arrays.not_negative("E", n), arrays.floats("b", n)
    mass, jacobian = _dense(arrays, "H", (v, v)), _dense(arrays, "J", (n, v))
    factor = lower_factor(arrays, arrays.symmetric("H_data", mass, mass.T))
    whitened = np.linalg.solve(factor, jacobian.T).T
    r = b + whitened @ np.linalg.solve(factor, f)
    coefficients = None if rolling is None else jnp.asarray(rolling, dtype)
    bounds = jnp.asarray(lo, dtype), jnp.asarray(hi, dtype)
    cones = Cones(*bounds, jnp.asarray(mu, dtype), read_cone_type(arrays), coefficients)
    delassus = WhitenedDelassus(jnp.asarray(whitened, dtype), jnp.asarray(compliance, dtype))
    problem = Problem(delassus, jnp.asarray(r, dtype), cones)
    return make_named_problem(
        arrays, problem, r, np.arange(n), np.zeros(n), np.zeros(n), np.ones(n)
    )


def _dense(arrays: Arrays, name: str, expected: tuple[int, int]) -> np.ndarray:
    shape, row, column, data = read_csr(arrays, name)
    if shape != expected:
        raise arrays.fault(f"{name}_shape", f"is {shape}", f"f, lo and mu need {expected}")
    dense = np.zeros(shape)
    np.add.at(dense, (row, column), data)
    return dense
