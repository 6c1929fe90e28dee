"""Write small contact problems to npz files, with the dense N and r that they represent."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse as sp

Fields = dict[str, Any]


def csr(prefix: str, matrix: np.ndarray) -> Fields:
    m = sp.csr_matrix(matrix)
    shape = np.array(m.shape)
    return {
        f"{prefix}_data": m.data,
        f"{prefix}_indices": m.indices,
        f"{prefix}_indptr": m.indptr,
        f"{prefix}_shape": shape,
    }


def delassus(contacts: int = 4, seed: int = 0) -> tuple[Fields, np.ndarray, np.ndarray]:
    """Return the fields of a file of layout "delassus" with some zero blocks, its N and its r."""
    rng = np.random.default_rng(seed)
    j = rng.normal(size=(contacts, 3, contacts + 1, 2))
    for c in range(contacts):
        j[c, :, :c] = j[c, :, c + 2 :] = 0  # a chain: each contact couples to its neighbours
    j = j.reshape(3 * contacts, -1)
    n, r = j @ j.T + 0.1 * np.eye(3 * contacts), rng.normal(size=3 * contacts)
    mu = rng.uniform(0, 1, contacts)
    return {"layout": "delassus", "name": "chain", "q": r, "mu": mu, **csr("W", n)}, n, r


def bodies(cohesion: float = 0.0, seed: int = 0) -> tuple[Fields, np.ndarray, np.ndarray]:
    """Return the fields of a file of layout "bodies" with scalar rows between the contacts, its N
    and its r.

    Three bodies: contacts 0–1, 2–world and 1–2, listed out of order, an equality 0–2 and an
    inequality on body 1 alone.
    """
    rng = np.random.default_rng(seed)
    mode = np.array([2, 3, 4, 0, 2, 3, 4, 1, 2, 3, 4], np.int8)
    coupled = [(0, 1)] * 3 + [(0, 2)] + [(2,)] * 3 + [(1,)] + [(1, 2)] * 3
    d = np.zeros((11, 3, 6))
    for row, pair in enumerate(coupled):
        d[row, pair] = rng.normal(size=(len(pair), 6))
    d = d.reshape(11, 18)
    half = rng.normal(size=(3, 6, 6))
    inverse_mass = half @ half.transpose(0, 2, 1) + np.eye(6)
    e, r = rng.uniform(0, 0.1, 11), rng.normal(size=11)
    fields = {
        "layout": "bodies",
        "name": "three",
        "Minv_blocks": inverse_mass,
        "E": e,
        "r": r,
        "mode": mode,
        "contact_row": np.array([4, 0, 8]),
        "mu": np.array([0.3, 0.7, 0.5]),
        "cohesion": np.full(3, cohesion),
        **csr("D", d),
    }
    n = d @ np.asarray(scipy.linalg.block_diag(*inverse_mass)) @ d.T + np.diag(e)
    return fields, n, r


def sliding(layout: str) -> Fields:
    """Return the fields of a file of a unit mass that slides between the tangents of a contact.

    Args:
        layout: "delassus", "bodies" or "velocities".
    """
    fields = {"layout": layout, "mu": np.array([0.5])}
    r, zeros, none = np.array([-1.0, 2.0, 2.0]), np.zeros(3), np.zeros(0)
    if layout == "delassus":
        return fields | {"q": r} | csr("W", np.eye(3))
    if layout == "bodies":
        fields |= {"Minv_blocks": np.eye(6)[None], "E": zeros, "r": r}
        fields |= {"mode": np.array([2, 3, 4]), "contact_row": np.array([0])}
        return fields | csr("D", np.eye(6)[:3])
    fields |= {"f": r, "b": zeros, "E": zeros, "lo": none, "hi": none}
    return fields | csr("H", np.eye(3)) | csr("J", np.eye(3))


def rolling(layout: str) -> Fields:
    """Return the fields of a file of a unit body that slides, spins and rolls on one contact.

    Args:
        layout: "bodies", "system" or "velocities".
    """
    fields = {"layout": layout, "mu": np.array([0.5]), "E": np.zeros(6)}
    r, none = np.array([-1.0, 2.0, 0.0, 0.3, 0.2, 0.1]), np.zeros(0)
    if layout == "bodies":
        fields |= {"Minv_blocks": np.eye(6)[None], "r": r, "mode": np.arange(2, 8)}
        fields |= {"contact_row": np.array([0]), "spinning": np.array([0.01])}
        return fields | {"rolling": np.array([0.02])} | csr("D", np.eye(6))
    fields |= {"f": r, "b": np.zeros(6), "lo": none, "hi": none}
    fields |= {"rolling": np.array([[0.01, 0.02]])}
    return fields | csr("H", np.eye(6)) | csr("J", np.eye(6))


def write(path: Path, fields: Fields) -> Path:
    np.savez(path, allow_pickle=False, **fields)
    return path
