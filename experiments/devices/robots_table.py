"""The rows and the table of robots on a device."""

import csv
from collections.abc import Mapping
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path

NAN = float("nan")


@dataclass
class Row:
    """Measurements of one engine with one robot and one number of copies."""

    device: str
    model: str
    engine: str
    copies: int
    loops: str
    """Where the conditions of loops are evaluated: "host" or "device"."""
    steps_per_second: float = NAN
    compile_seconds: float = NAN
    iterations: str = ""
    """Mean of all copies; mean of the slowest copy of each step."""
    unsolved_percent: float = NAN
    residual_median: float = NAN
    """Median of the residuals of all copies and steps [m/s]."""
    residual_worst: float = NAN
    """Largest residual of all copies and steps [m/s]."""
    waiting_percent: float | None = None
    """Share of the time of a run in which the device runs no kernel; None if it is not known."""
    note: str = ""


def record(out: Path, row: Row, head: str) -> None:
    """Write a row to robots.csv, in place of that of the same program, and write robots.md.

    Args:
        out: folder of the tables.
        row: measurements of a program.
        head: text above the table of robots.md.
    """
    path = out / "robots.csv"
    new = {name: "" if value is None else str(value) for name, value in asdict(row).items()}
    with open(path, newline="") if path.exists() else nullcontext([]) as file:
        rows = list(csv.DictReader(file))
    key = "device", "model", "engine", "copies", "loops"
    rows = [old for old in rows if any(old[name] != new[name] for name in key)] + [new]
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(new))
        writer.writeheader()
        writer.writerows(rows)
    shown = [old for old in rows if old["device"] == new["device"]]
    (out / "robots.md").write_text(f"{head}\n\n{table(shown)}\n")


def table(rows: list[dict[str, str]]) -> str:
    """Return rows of robots.csv as Markdown; columns that a row lacks are empty."""
    lines = [
        "| model | copies | engine | loops | steps/s | compile [s] | iterations | unsolved [%] | "
        "residual, median; worst [m/s] | device waits [%] | |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in sorted(rows, key=lambda r: (r["model"], int(r["copies"]), r["engine"], r["loops"])):
        median, worst = (_cell(row, f"residual_{name}", ".1e") for name in ("median", "worst"))
        cells = [
            row["model"],
            row["copies"],
            row["engine"],
            row["loops"],
            _cell(row, "steps_per_second", ",.0f"),
            _cell(row, "compile_seconds", ".0f"),
            row["iterations"] or "–",
            _cell(row, "unsolved_percent", ".2f"),
            "–" if median == "–" else f"{median}; {worst}",
            _cell(row, "waiting_percent", ".0f"),
            row["note"],
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(row: Mapping[str, str], name: str, form: str) -> str:
    """Return a number of a row, or a dash where it was not measured."""
    text = row.get(name)
    return "–" if text in (None, "", "nan") else format(float(text), form)
