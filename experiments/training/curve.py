"""What a run leaves: one row per point, in a small CSV."""

import csv
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

HERE = Path(__file__).resolve().parent
CURVES = HERE / "curves"
Row = dict[str, float]


@dataclass
class Clock:
    """CPU time of the process and time on the wall [s], compilation included; pauses are not."""

    cpu: float = 0.0
    wall: float = 0.0
    """Of earlier processes of the same run."""
    since: tuple[float, float] = field(default_factory=lambda: _now())

    def read(self) -> dict[str, float]:
        cpu, wall = _now()
        spent = {
            "cpu_s": self.cpu + cpu - self.since[0],
            "wall_s": self.wall + wall - self.since[1],
        }
        return {name: round(value, 1) for name, value in spent.items()}

    @contextmanager
    def paused(self) -> Iterator[None]:
        start = _now()
        yield
        end = _now()
        self.since = (self.since[0] + end[0] - start[0], self.since[1] + end[1] - start[1])


def _now() -> tuple[float, float]:
    return time.process_time(), time.perf_counter()


@dataclass(frozen=True)
class Curve:
    path: Path

    def rows(self, until: float = float("inf")) -> list[Row]:
        """Those of at most so many steps."""
        if not self.path.exists():
            return []
        with self.path.open(newline="") as file:
            found = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(file)]
        return [row for row in found if row["steps"] <= until]

    def write(self, rows: list[Row]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows({k: f"{v:.6g}" for k, v in row.items()} for row in rows)
