"""The layout "bodies": n rows on nb bodies, u = (D M⁻¹ Dᵀ + diag(E)) λ + r.

    D_data, D_indices, D_indptr, D_shape   CSR of the Jacobian (n × 6 nb)
    Minv_blocks (nb, 6, 6) [1/kg, 1/(kg·m²)]   E (n,) [m/(s·N·s)]   r (n,) [m/s]
    mode (n,)         0 equality, 1 inequality, 2 3 4 a contact's normal and tangents,
                      5 6 7 its spin about the normal and rolling about the tangents
    contact_row (c,)  row of each contact's normal   mu (c,)
    cohesion (c,)     optional [N·s]
    friction          optional: "cone", "pyramid" or "octagon"; with modes 5 to 7 "cone"
    spinning, rolling (c,)   coefficients [m], needed with modes 5 to 7; all contacts have them

A contact touches at most two bodies; a fixed body has no columns. Cohesion a moves the apex of
the cone to -a on the normal axis, ‖λ_t‖ ≤ μ (λ_n + a), a being an impulse, as in Chrono;
λ + a e_n is then in the plain cone, and that is what the problem read is about.
"""

import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike

from jaxccp.ccp import BodyDelassus, Cones, Problem
from jaxccp.ccp.cones.rolling import arms
from jaxccp.io.arrays import Arrays
from jaxccp.io.cone_type import read_cone_type
from jaxccp.io.named import NamedProblem, make_named_problem
from jaxccp.io.row_bodies import paired_rows

EQUALITY, INEQUALITY, NORMAL, SPIN = 0, 1, 2, 5


def read_bodies(arrays: Arrays, dtype: DTypeLike) -> NamedProblem:
    """Read a problem of the layout "bodies".

    Args:
        arrays: the file.
        dtype: dtype of the problem's arrays.

    Raises:
        InputError: an array is missing, has the wrong shape, or does not describe such a problem.
    """
    jacobian = ("D_data", "D_indices", "D_indptr", "D_shape")
    arrays.require(*jacobian, "Minv_blocks", "E", "r", "mode", "contact_row", "mu")
    mode = arrays.integers("mode", None)
    rows = len(mode)
    r, compliance = arrays.floats("r", rows), arrays.not_negative("E", rows)
    mu = arrays.not_negative("mu", None)
    contacts = len(mu)
    normals = arrays.integers("contact_row", contacts)
    width = 6 if (mode >= SPIN).any() else 3
    _check_modes(arrays, mode, normals, width)
    cohesion = arrays.not_negative("cohesion", contacts) if "cohesion" in arrays else 0.0 * mu

    scalars = np.flatnonzero(mode < NORMAL)
    order = np.concatenate([scalars, (normals[:, None] + np.arange(width)).reshape(-1)])
    block = np.concatenate(
        [np.arange(len(scalars)), len(scalars) + np.repeat(np.arange(contacts), width)]
    )
    inverse_mass = arrays.floats("Minv_blocks", None, 6, 6)
    rows_of_bodies, bodies = paired_rows(arrays, "D", len(inverse_mass), order, block, len(scalars))
    root = np.concatenate([_square_roots(arrays, inverse_mass), np.zeros((1, 6, 6))])
    whitened = np.einsum("nbi,nbij->nbj", rows_of_bodies, root[bodies[block]])
    count = len(root)
    unit = np.ones(rows)
    coefficients = None
    if width > 3:
        lengths = np.asarray(
            arms(jnp.asarray(whitened[len(scalars) :, :2].reshape(contacts, width, 12)))
        )
        unit[len(scalars) :].reshape(contacts, width)[:, 3:] = lengths[:, None]
        scaled = [arrays.not_negative(name, contacts) / lengths for name in ("spinning", "rolling")]
        coefficients = jnp.asarray(np.stack(scaled, axis=1), dtype)
    whitened, r, compliance = (
        whitened * unit[:, None, None],
        r[order] * unit,
        compliance[order] * unit**2,
    )
    scalar_bodies, contact_bodies = bodies[: len(scalars)], bodies[len(scalars) :, :2]
    shift = np.zeros(rows)
    shift[len(scalars) :: width] = cohesion
    delassus = BodyDelassus(
        scalar_rows=jnp.asarray(whitened[: len(scalars)].reshape(-1, 6 * bodies.shape[1]), dtype),
        contact_rows=jnp.asarray(whitened[len(scalars) :, :2].reshape(-1, width, 12), dtype),
        scalar_bodies=jnp.asarray(scalar_bodies, jnp.int32),
        contact_bodies=jnp.asarray(contact_bodies, jnp.int32),
        compliance=jnp.asarray(compliance, dtype),
        bodies=count,
    )

    impulse = np.zeros((count, 6))
    np.add.at(impulse, bodies[block], whitened * shift[:, None, None])
    n_shift = np.einsum("nbi,nbi->n", whitened, impulse[bodies[block]]) + compliance * shift
    lo = np.where(mode[scalars] == EQUALITY, -np.inf, 0.0)
    cones = Cones(
        jnp.asarray(lo, dtype),
        jnp.full(len(scalars), jnp.inf, dtype),
        jnp.asarray(mu, dtype),
        read_cone_type(arrays),
        coefficients,
    )
    problem = Problem(delassus, jnp.asarray(r - n_shift, dtype), cones)
    return make_named_problem(arrays, problem, r, order, shift, n_shift, unit)


def _check_modes(arrays: Arrays, mode: np.ndarray, normals: np.ndarray, width: int) -> None:
    unknown = np.flatnonzero((mode < EQUALITY) | (mode > SPIN + 2))
    if len(unknown):
        raise arrays.fault("mode", f"row {unknown[0]} has mode {mode[unknown[0]]}", "use 0 to 7")
    if width > 3:
        arrays.require("spinning", "rolling")
    if not np.array_equal(np.sort(normals), np.flatnonzero(mode == NORMAL)):
        raise arrays.fault(
            "contact_row", "does not list the rows of mode 2", "one row and one mu per contact"
        )
    offsets = np.arange(1, width)
    kinds = np.tile(NORMAL + offsets, len(normals))
    following = np.flatnonzero(mode > NORMAL)
    if not (
        np.array_equal(following, np.sort((normals[:, None] + offsets).reshape(-1)))
        and np.array_equal(mode[following], kinds)
    ):
        rows = ", ".join(str(NORMAL + row) for row in range(width))
        raise arrays.fault(
            "mode", f"a contact's rows are not {rows} in a row", "store them one after another"
        )


def _square_roots(arrays: Arrays, inverse_mass: np.ndarray) -> np.ndarray:
    """Return L with L Lᵀ = M⁻¹ for each body, computed from eigenvectors, since M⁻¹ may be
    singular."""
    symmetric = arrays.symmetric("Minv_blocks", inverse_mass, inverse_mass.transpose(0, 2, 1))
    values, vectors = np.linalg.eigh(symmetric)
    bad = np.flatnonzero(values.min(axis=1) < -1e-9 * np.abs(values).max(axis=1))
    if len(bad):
        raise arrays.fault(
            "Minv_blocks",
            f"body {bad[0]} has the negative eigenvalue {values[bad[0]].min():.3g}",
            "an inverse mass matrix must be positive semidefinite",
        )
    return vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
