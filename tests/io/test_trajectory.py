"""Check that trajectory files are read back as written, and that faults are named."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jaxccp.io import (
    InputError,
    TrajectoryArrays,
    load_trajectory,
    save_trajectory,
    write_npz,
)


def recording(lead: tuple[int, ...] = (), steps: int = 4) -> TrajectoryArrays:
    rng = np.random.default_rng(0)
    samples, nb = steps + 1, 3
    quaternion = rng.normal(size=(*lead, samples, nb, 4))

    def vectors() -> np.ndarray:
        return rng.normal(size=(*lead, samples, nb, 3))

    def counts() -> np.ndarray:
        return rng.integers(0, 3, size=(*lead, steps))

    return TrajectoryArrays(
        ("world", "cube", "ball"),
        np.linspace(0.0, 1.0, samples),
        vectors(),
        quaternion / np.linalg.norm(quaternion, axis=-1, keepdims=True),
        vectors(),
        vectors(),
        rng.normal(size=(*lead, samples)),
        counts(),
        counts(),
        counts(),
        counts() > 1,
        np.abs(rng.normal(size=(*lead, steps))),
        np.abs(rng.normal(size=(*lead, steps))),
    )


@pytest.mark.parametrize("lead", [(), (5,)])
def test_round_trip(tmp_path: Path, lead: tuple[int, ...]) -> None:
    written = recording(lead)
    save_trajectory(tmp_path / "new" / "run.npz", written)
    read = load_trajectory(tmp_path / "new" / "run.npz")
    assert read.bodies == written.bodies
    for name, value in vars(written).items():
        np.testing.assert_array_equal(getattr(read, name), value)


def test_files_hold_their_arrays_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With NumPy before 2.2, too, whose ``savez`` stores every keyword as an array."""
    path = tmp_path / "a.npz"
    with pytest.raises(ValueError, match="'x' holds Python objects"):
        write_npz(path, x=np.array([None]))
    assert not path.exists()
    stored = {}
    monkeypatch.setattr(np, "savez", lambda file, **arrays: stored.update(arrays))
    write_npz(path, x=np.arange(2), note=np.array("text"))
    assert set(stored) == {"x", "note"}


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("position", np.zeros((5, 3, 2))),
        ("position", np.full((5, 3, 3), np.nan)),
        ("quaternion", np.ones((5, 3, 4))),
        ("time", np.zeros(5)),
        ("time", np.arange(4.0)),
        ("energy", np.zeros((2, 2, 5))),
        ("contacts", np.zeros(4)),
        ("residual_ccp", -np.ones(4)),
        ("bodies", ("world", "cube")),
    ],
)
def test_faults_are_named(tmp_path: Path, field: str, value: Any) -> None:
    path = tmp_path / "run.npz"
    save_trajectory(path, replace(recording(), **{field: value}))
    with pytest.raises(InputError) as caught:
        load_trajectory(path)
    assert str(path) in str(caught.value)
    # Wrong lengths of time and bodies show in the first array that does not fit them.
    named = {"bodies": "quaternion"}.get(field, field)
    if field == "time" and np.size(value) == 4:
        named = "quaternion"
    assert f": {named}: " in str(caught.value)


def test_other_layouts_and_missing_arrays(tmp_path: Path) -> None:
    path = tmp_path / "other.npz"
    np.savez(path, layout=np.array("bodies"))
    with pytest.raises(InputError, match="layout"):
        load_trajectory(path)
    np.savez(path, layout=np.array("trajectory"), bodies=np.array(["world"]))
    with pytest.raises(InputError, match="missing time"):
        load_trajectory(path)
    with pytest.raises(InputError, match="no such file"):
        load_trajectory(tmp_path / "none.npz")


def test_unwritable(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot be written"):
        save_trajectory(tmp_path / "file" / "run.npz", recording())
