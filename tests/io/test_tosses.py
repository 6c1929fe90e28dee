"""Files of recorded tosses."""

from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jaxccp.io import InputError
from jaxccp.io.tosses import read_tosses, write_tosses
from tests.identify.recordings import flights

GOOD = flights((6, 5))


def fields(tmp_path: Path) -> dict[str, np.ndarray]:
    write_tosses(tmp_path / "good.npz", GOOD)
    with np.load(tmp_path / "good.npz") as archive:
        return dict(archive)


def test_what_is_written_is_read(tmp_path: Path):
    write_tosses(tmp_path / "t.npz", GOOD)
    back = read_tosses(tmp_path / "t.npz")
    for name in ("ids", "lengths", "position", "quaternion", "velocity", "angular_velocity"):
        np.testing.assert_allclose(getattr(back, name), getattr(GOOD, name), atol=1e-14)


def test_angular_velocity_in_the_file_is_in_body_axes(tmp_path: Path):
    stored = fields(tmp_path)
    turn = Rotation.from_quat(GOOD.quaternion[:, [1, 2, 3, 0]])
    np.testing.assert_allclose(turn.apply(stored["v"][:, 3:]), GOOD.angular_velocity, atol=1e-13)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("q", None, "missing q"),
        ("q", np.zeros((11, 7)), "quaternion of sample 0"),
        ("q", np.zeros((10, 7)), "has shape"),
        ("v", np.full((11, 6), np.nan), "NaN"),
        ("dt", np.asarray(-1.0), "dt"),
        ("lengths", np.array([9, 2]), "has 2 samples"),
        ("lengths", np.array([], int), "is empty"),
        ("ids", np.array([1]), "has shape"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, field: str, value: np.ndarray | None, message: str):
    content = fields(tmp_path)
    content.pop(field)
    if value is not None:
        content[field] = value
    if field == "lengths" and value is not None and not len(value):
        content["ids"] = np.array([], int)
    path = tmp_path / "bad.npz"
    np.savez(path, allow_pickle=False, **content)
    with pytest.raises(InputError, match=message) as caught:
        read_tosses(path)
    assert "bad.npz" in str(caught.value)


def test_files_that_are_no_tosses_are_refused(tmp_path: Path):
    with pytest.raises(InputError, match="no such file"):
        read_tosses(tmp_path / "none.npz")
    garbage = tmp_path / "garbage.npz"
    garbage.write_bytes(b"PK\x03\x04 but no more")
    with pytest.raises(InputError, match=r"garbage\.npz"):
        read_tosses(garbage)
