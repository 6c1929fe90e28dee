"""The matrices of a step assembled, sparse and outside ``jit``, for direct solvers and for disk."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Array, Float, Int

from jaxccp.ccp.operators import BodyDelassus, WhitenedDelassus
from jaxccp.dynamics.descriptor.descriptor import Descriptor
from jaxccp.dynamics.descriptor.mass_matrix import BodyMassMatrix, FactoredMassMatrix


@dataclass(frozen=True)
class Coo:
    """A sparse matrix in coordinate format, sorted by row; no entry occurs twice."""

    row: Int[np.ndarray, " e"]
    """Row of each entry."""
    column: Int[np.ndarray, " e"]
    """Column of each entry."""
    data: Float[np.ndarray, " e"]
    """Value of each entry."""
    shape: tuple[int, int]
    """Number of rows and of columns."""

    def toarray(self) -> np.ndarray:
        """Return the matrix as a dense array."""
        out = np.zeros(self.shape, self.data.dtype)
        out[self.row, self.column] = self.data
        return out

    def to_scipy(self):
        """Return the same matrix as a ``scipy.sparse.coo_array``."""
        from scipy.sparse import coo_array

        return coo_array((self.data, (self.row, self.column)), shape=self.shape)


def coo(row: np.ndarray, column: np.ndarray, data: np.ndarray, shape: tuple[int, int]) -> Coo:
    """Build a sparse matrix from entries in any order; entries at the same row and column are
    added.

    Args:
        row: row of each entry; entries with -1 are left out.
        column: column of each entry; entries with -1 are left out.
        data: the entries; zeros are left out.
        shape: shape of the matrix.
    """
    kept = (row >= 0) & (column >= 0)
    key, inverse = np.unique(row[kept] * max(shape[1], 1) + column[kept], return_inverse=True)
    total = np.zeros(len(key), data.dtype)
    np.add.at(total, inverse, data[kept])
    key, total = key[total != 0], total[total != 0]
    return Coo(key // max(shape[1], 1), key % max(shape[1], 1), total, shape)


@dataclass(frozen=True)
class Matrices:
    """H, J, E, f and b (:mod:`jaxccp.dynamics.descriptor.descriptor`), v variables and n rows."""

    h: Coo
    """H, (v, v)."""
    j: Coo
    """J, (n, v)."""
    e: Float[np.ndarray, " n"]
    """Diagonal of E."""
    f: Float[np.ndarray, " v"]
    """f [N s, N m s]."""
    b: Float[np.ndarray, " n"]
    """b [m/s]."""

    @property
    def z(self) -> Coo:
        """Z = [[H, Jᵀ], [J, −E]]."""
        v, n = len(self.f), len(self.b)
        h, j, rows = self.h, self.j, v + np.arange(n)
        return coo(
            np.concatenate([h.row, j.column, v + j.row, rows]),
            np.concatenate([h.column, v + j.row, j.column, rows]),
            np.concatenate([h.data, j.data, j.data, -self.e]),
            (v + n, v + n),
        )

    @property
    def rhs(self) -> Float[np.ndarray, " v+n"]:
        """Right-hand side d = (f, −b)."""
        return np.concatenate([self.f, -self.b])


def matrices(descriptor: Descriptor) -> Matrices:
    """Assemble a descriptor's blocks as sparse matrices, in the descriptor's precision.

    Args:
        descriptor: over the twists of bodies that are not fixed, or over generalised velocities.

    Raises:
        TypeError: H and J of the descriptor are not over the same velocities.
    """
    mass, jacobian = descriptor.mass, descriptor.jacobian
    if isinstance(mass, BodyMassMatrix) and isinstance(jacobian, BodyDelassus):
        h, j = _body_masses(mass), _body_rows(jacobian, mass)
    elif isinstance(mass, FactoredMassMatrix) and isinstance(jacobian, WhitenedDelassus):
        h, j = _entries(mass.matrix()), _entries(jacobian.whitened)
    else:
        raise TypeError(f"{type(mass).__name__} does not fit {type(jacobian).__name__}")
    vectors = jacobian.compliance, mass.gather(descriptor.force), descriptor.bias
    return Matrices(h, j, *map(np.asarray, vectors))


def _body_masses(mass: BodyMassMatrix) -> Coo:
    """Return H of the bodies that are not fixed."""
    nb = len(mass.free)
    pairs = np.concatenate([np.repeat(np.arange(nb)[:, None], 2, axis=1), mass.pairs])
    tiles = np.zeros((len(pairs), 12, 12), mass.bodies.dtype)
    tiles[:nb, :6, :6], tiles[nb:] = mass.bodies, mass.coupling
    places = _places(mass.first_variable, pairs)
    return coo(
        np.broadcast_to(places[:, :, None], tiles.shape).reshape(-1),
        np.broadcast_to(places[:, None, :], tiles.shape).reshape(-1),
        tiles.reshape(-1),
        (mass.variables, mass.variables),
    )


def _body_rows(jacobian: BodyDelassus, mass: BodyMassMatrix) -> Coo:
    """Return J of the bodies that are not fixed."""
    contacts, width = np.reshape(jacobian.contact_rows, (-1, 12)), jacobian.contact_rows.shape[1]
    first, n = mass.first_variable, jacobian.rows
    entries = [
        (jacobian.scalar_rows, jacobian.scalar_bodies),
        (contacts, np.repeat(jacobian.contact_bodies, width, axis=0)),
    ]
    count = [rows.size // max(len(rows), 1) for rows, _ in entries]
    return coo(
        np.repeat(np.arange(n), np.repeat(count, [len(rows) for rows, _ in entries])),
        np.concatenate([_places(first, bodies).reshape(-1) for _, bodies in entries]),
        np.concatenate([np.reshape(rows, -1) for rows, _ in entries]),
        (n, mass.variables),
    )


def _entries(matrix: Array) -> Coo:
    """Return the non-zero entries of a dense matrix: rows, columns and values."""
    dense = np.asarray(matrix)
    row, column = np.nonzero(dense)
    return coo(row, column, dense[row, column], (dense.shape[0], dense.shape[1]))


def _places(first: np.ndarray, bodies: np.ndarray) -> np.ndarray:
    """Return the indices of the velocities of k bodies for each of m rows [m 6k]; -1 for a fixed
    body."""
    start = first[bodies][:, :, None]
    return np.where(start < 0, -1, start + np.arange(6)).reshape(len(bodies), 6 * bodies.shape[1])
