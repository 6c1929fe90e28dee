"""Write the tables and the picture of the comparison of devices."""

import itertools
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure

SOLVE = ("problem", "rows", "law", "solver")
"""Columns that identify a solve on any device."""


def write_report(
    rates: list[dict[str, Any]],
    solves: list[dict[str, Any]],
    out: Path,
    stepping: str,
    solving: str,
) -> None:
    """Write results.md, with the remarks of notes.md, and devices.png.

    Args:
        rates: rows of steps.csv.
        solves: rows of solves.csv.
        out: folder of the two files.
        stepping: description of the stepping runs.
        solving: description of the solves.
    """
    plot(rates).savefig(out / "devices.png")
    notes = out / "notes.md"
    remarks = notes.read_text(encoding="utf-8") + "\n" if notes.exists() else ""
    (out / "results.md").write_text(
        f"""# Devices

`python experiments/devices/run.py PROBLEMS_DIR` · one seed, the shortest of several runs, by the
clock, compilation apart (several programs at a time)

![steps per second](devices.png)

## Steps

{stepping}

{table(side_by_side(rates, ("law", "copies"), "steps/s", ("device",)))}

## Solves

{solving} Milliseconds per problem; in brackets the share that was solved, unless it is all.

{remarks}{table(side_by_side(solves, SOLVE, "ms per problem", ("device", "batch")))}
""",
        encoding="utf-8",
    )


def side_by_side(
    rows: list[dict[str, Any]], what: tuple[str, ...], value: str, where: tuple[str, ...]
) -> list[dict[str, str]]:
    """Return a table with a row for each ``what`` and a column of values for each ``where``.

    Args:
        rows: measured rows.
        what: names of the columns that identify a row of the result.
        value: name of the column whose values are shown.
        where: names of the columns whose values head the columns of the result.
    """
    rows = sorted(rows, key=lambda row: [str(row[key]) for key in where])
    columns = dict.fromkeys(", ".join(f"{row[key]}" for key in where) for row in rows)
    lines: dict[tuple, dict[str, str]] = {}
    for row in sorted(rows, key=lambda row: [row[key] for key in what]):
        names = {key: str(row[key]) for key in what}
        cells = lines.setdefault(tuple(names.values()), names | dict.fromkeys(columns, "–"))
        share = row.get("solved [%]", 100)
        column = ", ".join(f"{row[key]}" for key in where)
        cells[column] = cell(row[value]) + ("" if share == 100 else f" ({share:.3g} %)")
    return list(lines.values())


def cell(value: float) -> str:
    return f"{value:,.0f}" if value >= 1e3 else f"{value:.3g}"


def table(rows: list[dict[str, str]]) -> str:
    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    lines += ["| " + " | ".join(row.values()) + " |" for row in rows]
    return "\n".join(lines)


def plot(rates: list[dict[str, Any]]) -> Figure:
    figure = Figure(figsize=(7.0, 4.5), dpi=100, layout="constrained")
    ax = figure.subplots()
    for (device, law), rows in itertools.groupby(rates, key=lambda r: (r["device"], r["law"])):
        points = list(rows)
        colour = "#2f6690" if device.startswith("CPU") else "#d1603d"
        line = "-" if law == "ccp" else "--"
        x, y = [r["copies"] for r in points], [r["steps/s"] for r in points]
        ax.loglog(x, y, line, marker="o", color=colour, label=f"{device}, {law}")
    ax.set(xlabel="copies of the tossed cube", ylabel="steps per second, all copies together")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return figure
