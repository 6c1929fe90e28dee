"""Check that logs are read as laboratories write them: other clocks, separators, units, names."""

from pathlib import Path

import numpy as np
import pytest

from jaxccp.identify import read
from jaxccp.io import InputError

TIME, ANGLE = 0.005 * np.arange(5), np.array([0.5, -0.25, 0.125, 1.5, 2.0])


def written(path: Path, header: str, separator: str = ",", clock: float = 1.0) -> Path:
    """Write times and angles below a header.

    Args:
        path: the file.
        header: lines above the numbers.
        separator: sign between columns.
        clock: times are written in this unit [s].
    """
    rows = [f"{t / clock:.9g}{separator}{q}" for t, q in zip(TIME, ANGLE, strict=True)]
    path.write_text("\n".join([header, *rows]))
    return path


def check(path: Path, **settings) -> tuple[str, ...]:
    """Check that a file has the times and angles, and return the notes on it."""
    (log,) = read(path, **settings)
    np.testing.assert_allclose(log.time, TIME, atol=1e-12)
    np.testing.assert_array_equal(log['position["a"]'].values[:, 0], ANGLE)
    return log.notes


@pytest.mark.parametrize(
    ("name", "unit"),
    [
        ("Time", 1.0),
        ("TIMESTAMP", 1.0),
        ("time_s", 1.0),
        ("Time [ms]", 1e-3),
        ("t (us)", 1e-6),
        ("timestamp_ns", 1e-9),
    ],
)
def test_clocks_are_found_with_their_units(tmp_path: Path, name: str, unit: float) -> None:
    """Text files and arrays alike; a given factor goes before the name's unit.

    Args:
        tmp_path: folder of the files.
        name: name of the column of times.
        unit: its unit [s].
    """
    text = written(tmp_path / "log.csv", f"{name},position.a", clock=unit)
    arrays = tmp_path / "log.npz"
    np.savez(arrays, **{name: TIME / unit, "position.a": ANGLE})
    for path in (text, arrays):
        assert bool(check(path)) == (unit != 1.0)
        (log,) = read(path, scale={"time": 2.0 * unit})
        np.testing.assert_allclose(log.time, 2.0 * TIME)


@pytest.mark.parametrize("separator", [";", "\t", " ", ",", ", ", "   "])
def test_separators_and_comments(tmp_path: Path, separator: str) -> None:
    """Lines of comments are skipped, but for the header that numpy.savetxt writes as one."""
    header = f"time{separator}position.a"
    assert check(written(tmp_path / "a.csv", f"# of 3 May, run 7\n\n{header}", separator)) == ()
    check(written(tmp_path / "b.csv", f"# of 3 May\n# {header}", separator))
    with pytest.raises(InputError, match="line 2 has 'zero'"):
        (tmp_path / "c.csv").write_text(f"{header}\n0{separator}zero\n1{separator}0\n2{separator}1")
        read(tmp_path / "c.csv")


def test_decimal_commas(tmp_path: Path) -> None:
    path = written(tmp_path / "log.csv", "time;position.a", ";")
    path.write_text(path.read_text().replace("position.a", "position_a").replace(".", ","))
    check(path, columns={"position_a": "position.a"})


def test_a_row_of_units_tells_that_of_times(tmp_path: Path) -> None:
    notes = check(written(tmp_path / "a.csv", "time,position.a\nms,rad", clock=1e-3))
    assert "units ms, rad" in notes[0] and "times 'time' are read in ms" in notes
    assert "units s, rad" in check(written(tmp_path / "b.csv", "time,position.a\n[s],[rad]"))[0]
    check(written(tmp_path / "c.csv", "time,position.a\nmsec,rad", clock=1e-3))
    minutes = written(tmp_path / "d.csv", "time,position.a\nmin,rad", clock=60.0)
    with pytest.raises(InputError, match="time: has times in 'min', which is no unit"):
        read(minutes)
    check(minutes, scale={"time": 60.0})


@pytest.mark.parametrize("name", ["robot_time_ms", "header_stamp_ns", "t_rel_us", "my_clock"])
def test_units_of_clocks_that_are_named_by_columns(tmp_path: Path, name: str) -> None:
    unit = {"ms": 1e-3, "ns": 1e-9, "us": 1e-6}.get(name.rsplit("_", 1)[1], 1.0)
    text = written(tmp_path / "log.csv", f"{name},position.a", clock=unit)
    assert bool(check(text, columns={name: "time"})) == (unit != 1.0)


def test_columns_that_are_not_read_may_hold_text(tmp_path: Path) -> None:
    """Such as modes, truth values or dates."""
    path = tmp_path / "log.csv"
    rows = [
        f"{t},{q},{mode},{t > 0},inf"
        for t, q, mode in zip(TIME, ANGLE, ("IDLE", "", "RUN", "RUN", "STOP"), strict=True)
    ]
    path.write_text("\n".join(["time,position.a,state,ready,spare", *rows]))
    assert check(path) == ("not read: state, ready, spare",)
    assert check(path, columns={"state": None, "ready": None}) == ("not read: spare",)
    with pytest.raises(InputError, match="state: line 2 has 'IDLE', which is no number"):
        read(path, columns={"state": "torque.a"})


def test_arrays_that_do_not_fit_are_left_out(tmp_path: Path) -> None:
    """Arrays of other lengths or types are refused by name, and ``columns`` leaves them out."""
    path = tmp_path / "log.npz"
    joints = np.stack([ANGLE, 2 * ANGLE], axis=1)
    arrays = {"time": TIME, "q": joints, "joint_names": np.array(["a", "b"])}
    for name, bad, words in (
        ("dq", np.diff(joints, axis=0), "dq: has shape.*or leave it out: columns={'dq': None}"),
        ("sensor.touch", ANGLE > 0, "touch: is of type bool and shape.*store real numbers"),
        ("tau", np.full((5, 2), "x"), "tau: is of type <U1"),
    ):
        np.savez(path, **{**arrays, name: bad})
        with pytest.raises(InputError, match=words):
            read(path)
        assert check(path, columns={name: None}) == ()
    np.savez(path, time=TIME, q=joints)
    assert check(path, columns={"q": None, "q[0]": "position.a"}, joints=["a", "b"]) == ()
    np.savez(path, **{**arrays, "motion": joints})
    (log,) = read(path)
    np.testing.assert_array_equal(log['motion["b"]'].values[:, 0], 2 * ANGLE)


def test_names_of_ros_and_of_drives(tmp_path: Path) -> None:
    """Rates and torques are also called velocity and effort, and arrays of joints as their kind."""
    path = tmp_path / "log.csv"
    path.write_text("time,velocity.a,effort.a\n0,1,2\n1,3,4\n")
    (log,) = read(path)
    np.testing.assert_array_equal(log['rate["a"]'].values[:, 0], [1, 3])
    np.testing.assert_array_equal(log['torque["a"]'].values[:, 0], [2, 4])
    for names in (("position", "dq", "torque"), ("q", "velocity", "effort")):
        arrays = dict(zip(names, (ANGLE, 2 * ANGLE, 3 * ANGLE), strict=True))
        np.savez(tmp_path / "log.npz", **{"t": TIME, **arrays})
        (log,) = read(tmp_path / "log.npz", joints=["a"])
        for factor, kind in enumerate(("position", "rate", "torque"), 1):
            np.testing.assert_array_equal(log[f'{kind}["a"]'].values[:, 0], factor * ANGLE)


@pytest.mark.parametrize("name", ['position["lift"]', "position.lift"])
def test_a_factor_of_one_channel_counts_before_that_of_its_kind(tmp_path: Path, name: str) -> None:
    """In an array of all joints, too, that is called as their kind."""
    joints = np.stack([ANGLE, ANGLE], axis=1)
    np.savez(tmp_path / "log.npz", time=TIME, position=joints, joint_names=["a", "lift"])
    (log,) = read(tmp_path / "log.npz", scale={"position": 2.0, name: 0.5})
    np.testing.assert_array_equal(log['position["a"]'].values[:, 0], 2.0 * ANGLE)
    np.testing.assert_array_equal(log['position["lift"]'].values[:, 0], 0.5 * ANGLE)


def test_infinite_cells_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("time,position.a\n0,1\n1,inf\n2,3\n")
    with pytest.raises(InputError, match=r"position\.a: line 3 has 'inf', which is no finite"):
        read(path)
