"""The matrices of a step written to a folder, as blocks and assembled."""

from pathlib import Path

import numpy as np

from jaxccp.dynamics.descriptor.descriptor import Descriptor
from jaxccp.dynamics.descriptor.mass_matrix import BodyMassMatrix
from jaxccp.dynamics.descriptor.matrices import Coo, coo, matrices
from jaxccp.io.output import write_file, write_npz


def write_system(folder: str | Path, descriptor: Descriptor) -> Path:
    """Write the matrices of a step: ``system.npz``, and H, J, E, f, b, Z and d = (f, −b) in
    MatrixMarket text.

    The npz file has the layout "system", or "velocities" for blocks over generalised velocities
    (``jaxccp/io/system_layout.py``); :func:`jaxccp.io.read_problem` reads it as a problem. The
    other files are ``H.mtx``, …, and ``rhs.mtx`` for d, for other programs, as Chrono's
    ``WriteMatrixBlocks`` and ``WriteMatrix`` write them: fixed bodies have no columns.

    Returns:
        The path of the npz file.

    Raises:
        InputError: the folder cannot be made or written to.
        TypeError: H and J of the descriptor are not over the same velocities.
    """
    folder, cones = Path(folder), descriptor.cones
    blocks = matrices(descriptor)
    n = len(blocks.b)
    rows = np.arange(n)
    texts = {
        "H": _sparse(blocks.h),
        "J": _sparse(blocks.j),
        "E": _sparse(coo(rows, rows, blocks.e, (n, n))),
        "Z": _sparse(blocks.z),
        "f": _vector(blocks.f),
        "b": _vector(blocks.b),
        "rhs": _vector(blocks.rhs),
    }
    for name, text in texts.items():
        write_file(folder / f"{name}.mtx", lambda file, text=text: file.write(text.encode()))
    path = folder / "system.npz"
    write_npz(
        path,
        layout=np.array("system" if isinstance(descriptor.mass, BodyMassMatrix) else "velocities"),
        friction=np.array(cones.cone_type),
        E=blocks.e,
        f=blocks.f,
        b=blocks.b,
        lo=np.asarray(cones.lo),
        hi=np.asarray(cones.hi),
        mu=np.asarray(cones.mu),
        **({} if cones.rolling is None else {"rolling": np.asarray(cones.rolling)}),
        **_csr("H", blocks.h),
        **_csr("J", blocks.j),
    )
    return path


def _csr(prefix: str, matrix: Coo) -> dict[str, np.ndarray]:
    starts = np.searchsorted(matrix.row, np.arange(matrix.shape[0] + 1))
    return {
        f"{prefix}_data": matrix.data,
        f"{prefix}_indices": matrix.column,
        f"{prefix}_indptr": starts,
        f"{prefix}_shape": np.array(matrix.shape),
    }


def _sparse(matrix: Coo) -> str:
    lines = ["%%MatrixMarket matrix coordinate real general"]
    lines += [f"{matrix.shape[0]} {matrix.shape[1]} {len(matrix.data)}"]
    entries = zip(matrix.row + 1, matrix.column + 1, matrix.data, strict=True)
    lines += [f"{row} {column} {value:.17g}" for row, column, value in entries]
    return "\n".join(lines) + "\n"


def _vector(values: np.ndarray) -> str:
    lines = ["%%MatrixMarket matrix array real general", f"{len(values)} 1"]
    return "\n".join([*lines, *(f"{value:.17g}" for value in values)]) + "\n"
