"""Check that every fault of a problem file is an InputError that names the file, the field and the
remedy."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxccp.io import InputError, read_problem
from tests.io import problem_files as files

DELASSUS = {
    "missing arrays": ({"W_data": None, "mu": None}, "missing W_data, mu"),
    "no layout": ({"layout": None}, "missing layout"),
    "unknown layout": ({"layout": "dense"}, "layout: 'dense' is unknown"),
    "layout of numbers": ({"layout": np.zeros(3)}, "layout: .* not a string"),
    "short q": ({"q": np.zeros(5)}, r"q: has shape \(5,\), not \(12\)"),
    "mu as a matrix": ({"mu": np.zeros((4, 1))}, r"mu: has shape \(4, 1\), not \(any\)"),
    "too many contacts": (
        {"mu": np.zeros(5)},
        r"W_shape: is \(12, 12\); 5 contacts .* need \(15, 15\)",
    ),
    "NaN": ({"q": np.full(12, np.nan)}, r"q: 12 of 12 numbers are NaN or infinite, first at \[0\]"),
    "infinite": ({"mu": np.array([0, 0, np.inf, 0])}, r"mu: 1 of 4 .* \[2\]"),
    "mu < 0": ({"mu": np.array([0, -0.1, 0, 0])}, r"mu: is -0.1 at \[1\]; it must be ≥ 0"),
    "complex": ({"q": np.zeros(12, complex)}, "q: .* store real numbers"),
    "text": ({"q": np.array(["a"] * 12)}, "q: .* store real numbers"),
    "float indices": ({"W_indptr": np.zeros(13)}, "W_indptr: .* store integers"),
    "row starts": ({"W_indptr": np.zeros(13, int)}, "W_indptr: does not rise"),
    "name with a folder": ({"name": "../up"}, "name: .* cannot name a file"),
    "unknown friction": ({"friction": "disc"}, "friction: 'disc' is unknown; use one of 'cone'"),
    "cohesion": ({"cohesion": np.full(4, 0.1)}, "cohesion: is not zero, but no row of this 'dela"),
    "bounds": ({"lo": np.zeros(4), "hi": np.full(4, np.inf)}, "hi: is not zero, but no row"),
    "compliance": ({"E": np.full(12, 1e-3)}, "E: is not zero, but no row"),
    "rolling": ({"rolling": np.array([[0, 0.1]] * 4)}, "rolling: is not zero, but no row"),
    "rolling as text": ({"rolling": "little"}, "rolling: .* store real numbers"),
}
BODIES = {
    "missing arrays": ({"E": None, "mode": None}, "missing E, mode"),
    "spinning friction": ({"mode": np.full(11, 5, np.int8)}, "missing spinning, rolling"),
    "unknown mode": ({"mode": np.full(11, 9, np.int8)}, "mode: row 0 has mode 9"),
    "contact rows": ({"contact_row": np.array([0, 4, 7])}, "contact_row: does not list"),
    "too few contacts": ({"contact_row": np.array([0, 4])}, "contact_row: has shape"),
    "tangents astray": (
        {"mode": np.array([2, 4, 3, 0, 2, 3, 4, 1, 2, 3, 4], np.int8)},
        "mode: a contact's rows are not 2, 3, 4",
    ),
    "negative compliance": ({"E": np.full(11, -1.0)}, "E: is -1 at"),
    "negative cohesion": ({"cohesion": np.full(3, -1.0)}, "cohesion: is -1 at"),
    "body missing": ({"Minv_blocks": np.zeros((2, 6, 6))}, "D_shape: is"),
    "5 × 5 masses": ({"Minv_blocks": np.zeros((3, 5, 5))}, "Minv_blocks: has shape"),
    "skew mass": ({"Minv_blocks": np.tile(np.tri(6), (3, 1, 1))}, "Minv_blocks: not symmetric"),
    "negative mass": (
        {"Minv_blocks": -np.tile(np.eye(6), (3, 1, 1))},
        "Minv_blocks: body 0 .* negative",
    ),
    "unknown friction": ({"friction": "disc"}, "friction: 'disc' is unknown; use one of 'cone'"),
    "spinning without rows": ({"spinning": np.full(3, 0.1)}, "spinning: is not zero, but no row"),
    "bounds": ({"lo": np.full(2, -np.inf)}, "lo: is not zero, but no row of this 'bodies'"),
    "three bodies": (files.csr("D", np.ones((11, 18))), "D_data: row 4 .* more than two bodies"),
}


def changed(fields: files.Fields, changes: dict[str, Any]) -> files.Fields:
    return {k: v for k, v in (fields | changes).items() if v is not None}


@pytest.mark.parametrize(
    ("layout", "changes", "message"),
    [
        *(pytest.param("delassus", *case, id=f"delassus, {k}") for k, case in DELASSUS.items()),
        *(pytest.param("bodies", *case, id=f"bodies, {k}") for k, case in BODIES.items()),
    ],
)
def test_bad_field(tmp_path: Path, layout: str, changes: dict[str, Any], message: str) -> None:
    fields = files.delassus()[0] if layout == "delassus" else files.bodies()[0]
    path = files.write(tmp_path / "bad.npz", changed(fields, changes))
    with pytest.raises(InputError, match=rf"bad\.npz: (?:{message})"):
        read_problem(path)


@pytest.mark.parametrize("layout", ["bodies", "system", "velocities"])
@pytest.mark.parametrize("friction", ["pyramid", "octagon"])
def test_rolling_friction_under_a_pyramid(tmp_path: Path, layout: str, friction: str) -> None:
    path = files.write(tmp_path / "bad.npz", files.rolling(layout) | {"friction": friction})
    with pytest.raises(InputError, match=rf"bad\.npz: friction: .* round cones, not '{friction}'"):
        read_problem(path)


@pytest.mark.parametrize("layout", ["delassus", "bodies"])
def test_zeros_of_other_layouts_are_read(tmp_path: Path, layout: str) -> None:
    """Arrays that a layout has no rows for are accepted where they are zero."""
    fields = files.delassus()[0] if layout == "delassus" else files.bodies()[0]
    contacts = len(fields["mu"])
    zeros = {name: np.zeros(contacts) for name in ("spinning", "rolling", "lo", "hi")}
    path = files.write(tmp_path / "fine.npz", fields | zeros)
    np.testing.assert_allclose(read_problem(path).problem.cones.mu, fields["mu"], rtol=1e-6)


@pytest.mark.parametrize(
    ("entry", "value", "message"),
    [((0, 1), 9.0, "W_data: not symmetric"), ((1, 1), -1.0, "W_data: 1 diagonal .* negative")],
)
def test_bad_matrix(tmp_path: Path, entry: tuple[int, int], value: float, message: str) -> None:
    fields, n, _ = files.delassus()
    n[entry] = value
    path = files.write(tmp_path / "bad.npz", fields | files.csr("W", n))
    with pytest.raises(InputError, match=message):
        read_problem(path)


def test_bad_column(tmp_path: Path) -> None:
    fields, _, _ = files.delassus()
    fields["W_indices"][0] = 12
    with pytest.raises(InputError, match=r"W_indices: leaves 0 … 11"):
        read_problem(files.write(tmp_path / "bad.npz", fields))


def test_not_such_a_file(tmp_path: Path) -> None:
    intact = files.write(tmp_path / "whole.npz", files.delassus()[0]).read_bytes()
    contents = {
        "truncated": intact[: len(intact) // 2],
        "empty": b"",
        "text": b"not an archive",
        "damaged": intact[:400] + bytes(200) + intact[600:],
    }
    for name, content in contents.items():
        path = tmp_path / f"{name}.npz"
        path.write_bytes(content)
        with pytest.raises(InputError, match=f"{name}.npz: ") as caught:
            read_problem(path)
        assert "pickle" not in str(caught.value)
    np.save(tmp_path / "single.npy", np.zeros(3))
    with pytest.raises(InputError, match="a single array"):
        read_problem(tmp_path / "single.npy")
    with pytest.raises(InputError, match="no such file; check the path"):
        read_problem(tmp_path / "absent.npz")
    with pytest.raises(InputError, match="cannot be read"):
        read_problem(tmp_path)


def test_objects_are_refused(tmp_path: Path) -> None:
    """Arrays of Python objects are refused, since unpickling could run code."""
    fields = files.delassus()[0] | {"q": np.array([None] * 12, dtype=object)}
    np.savez(tmp_path / "objects.npz", allow_pickle=True, **fields)
    with pytest.raises(InputError, match="q: holds Python objects; store num") as caught:
        read_problem(tmp_path / "objects.npz")
    assert "pickle" not in str(caught.value)
