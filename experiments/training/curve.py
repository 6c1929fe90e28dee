"""Store the learning curve of a run: one row per point, in a small CSV."""

import csv
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
CURVES = FOLDER / "curves"
Row = dict[str, float]


@dataclass
class Clock:
    """A clock of CPU time of the process and wall-clock time [s], with compilation but without
    pauses."""

    cpu: float = 0.0
    wall: float = 0.0
    """CPU time and wall-clock time of earlier processes of the same run [s]."""
    since: tuple[float, float] = field(default_factory=lambda: _clocks())

    def read(self) -> dict[str, float]:
        cpu, wall = _clocks()
        spent = {
            "cpu_s": self.cpu + cpu - self.since[0],
            "wall_s": self.wall + wall - self.since[1],
        }
        return {name: round(value, 1) for name, value in spent.items()}

    @contextmanager
    def paused(self) -> Iterator[None]:
        start = _clocks()
        yield
        end = _clocks()
        self.since = (self.since[0] + end[0] - start[0], self.since[1] + end[1] - start[1])


def _clocks() -> tuple[float, float]:
    return time.process_time(), time.perf_counter()


@dataclass(frozen=True)
class Curve:
    path: Path

    def rows(self, until: float = float("inf")) -> list[Row]:
        """Return the points of the curve of at most so many steps."""
        if not self.path.exists():
            return []
        with self.path.open(newline="") as file:
            table = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(file)]
        return [row for row in table if row["steps"] <= until]

    def write(self, rows: list[Row]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows({k: f"{v:.6g}" for k, v in row.items()} for row in rows)
