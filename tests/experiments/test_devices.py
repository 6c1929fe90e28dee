"""Check the experiment on devices: the share of waiting of a trace, and tables of older rows."""

import csv
from pathlib import Path
from typing import Any

import jax
import pytest

from experiments.devices.robots_table import Row, record
from experiments.devices.waiting import waiting_percent

NAMES = {1: "fusion_1", 2: "MemcpyD2H", 3: "MemcpyD2D", 4: "loop"}


def _line(name: str, *events: tuple[int, int, int]) -> str:
    """Return a line of a trace, whose events have a key of NAMES, a start and a duration [µs]."""
    text = " ".join(
        f"events {{ metadata_id: {key} offset_ps: {start}000000 duration_ps: {duration}000000 }}"
        for key, start, duration in events
    )
    return f'lines {{ name: "{name}" timestamp_ns: 5000 {text} }}'


def _profile(*planes: tuple[str, list[str]]) -> Any:
    """Return a profile of planes, each with a name and its lines."""
    known = " ".join(
        f'event_metadata {{ key: {key} value {{ id: {key} name: "{name}" }} }}'
        for key, name in NAMES.items()
    )
    text = " ".join(
        f'planes {{ name: "{name}" {" ".join(lines)} {known} }}' for name, lines in planes
    )
    return jax.profiler.ProfileData.from_text_proto(text)


def test_waiting_is_time_without_kernels() -> None:
    """Of 100 µs there are kernels in [10, 40], [35, 50], of another stream, and [90, 110], and a
    copy within the device in [60, 70]; the host's operations and copies to it do not count."""
    compute = _line("Stream #7(Kernel,MemcpyD2H)", (1, 90, 20), (1, 10, 30), (2, 70, 20))
    profile = _profile(
        ("/host:CPU", [_line("python", (4, 0, 200)), _line("Stream", (4, 0, 200))]),
        (
            "/device:GPU:0",
            [
                compute,
                _line("Stream #8(MemcpyD2D)", (3, 60, 10), (1, 35, 15), (1, 12, 5)),
                _line("XLA Modules", (4, 10, 100)),
            ],
        ),
    )
    assert waiting_percent(profile) == pytest.approx(30)


def test_waiting_is_unknown_without_a_device() -> None:
    assert waiting_percent(_profile(("/host:CPU", [_line("tf_XLAEigen", (1, 0, 10))]))) is None


def test_rows_of_older_tables_stay(tmp_path: Path) -> None:
    """A row that was written before there was a column keeps its numbers, with that one empty."""
    (tmp_path / "robots.csv").write_text(
        "device,model,engine,copies,loops,steps_per_second,compile_seconds,iterations,"
        "unsolved_percent,residual_median,residual_worst,note\n"
        "A GPU,ant,jaxccp,8,host,1e6,2.5,3; 9,0.0,1e-05,0.0001,fine\n"
    )
    record(tmp_path, Row("A GPU", "ant", "MJX", 8, "host", 2e6, 3.0, waiting_percent=41.6), "Head")
    record(tmp_path, Row("A GPU", "ant", "MJWarp", 8, "device", note="skipped"), "Head")
    with open(tmp_path / "robots.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["waiting_percent"] for row in rows] == ["", "41.6", ""]
    assert (tmp_path / "robots.md").read_text().splitlines()[4:] == [
        "| ant | 8 | MJWarp | device | – | – | – | – | – | – | skipped |",
        "| ant | 8 | MJX | host | 2,000,000 | 3 | – | – | – | 42 |  |",
        "| ant | 8 | jaxccp | host | 1,000,000 | 2 | 3; 9 | 0.00 | 1.0e-05; 1.0e-04 | – | fine |",
    ]
