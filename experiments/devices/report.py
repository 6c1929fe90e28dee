"""The tables and the picture of the comparison of devices."""

import itertools
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure


def write_report(
    rates: list[dict[str, Any]],
    solves: list[dict[str, Any]],
    out: Path,
    stepping: str,
    solving: str,
) -> None:
    """results.md and devices.png in ``out``; ``stepping`` and ``solving`` say what was run."""
    plot(rates).savefig(out / "devices.png")
    (out / "results.md").write_text(
        f"""# Devices

`python experiments/devices/run.py PROBLEMS_DIR` · one seed, the shortest of several runs, by the
clock, compilation apart (several programs at a time)

![steps per second](devices.png)

## Steps

{stepping}

{table(rates)}

## Solves

{solving}

{table(solves)}
""",
        encoding="utf-8",
    )


def table(rows: list[dict[str, Any]]) -> str:
    def cell(value: object) -> str:
        if not isinstance(value, float):
            return str(value)
        return f"{value:,.3g}" if value < 1e3 else f"{value:,.0f}"

    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    lines += ["| " + " | ".join(map(cell, row.values())) + " |" for row in rows]
    return "\n".join(lines)


def plot(rates: list[dict[str, Any]]) -> Figure:
    figure = Figure(figsize=(7.0, 4.5), dpi=100, layout="constrained")
    ax = figure.subplots()
    for (device, law), rows in itertools.groupby(rates, key=lambda r: (r["device"], r["law"])):
        found = list(rows)
        colour = "#2f6690" if device.startswith("CPU") else "#d1603d"
        line = "-" if law == "ccp" else "--"
        x, y = [r["copies"] for r in found], [r["steps/s"] for r in found]
        ax.loglog(x, y, line, marker="o", color=colour, label=f"{device}, {law}")
    ax.set(xlabel="copies of the tossed cube", ylabel="steps per second, all copies together")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False)
    return figure
