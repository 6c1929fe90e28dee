"""Write results.md, with the remarks of notes.md, and errors.png from the rows of results.csv."""

import csv
import platform
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from experiments.gradient_peers.problems import OMEGA, PROBLEMS, Problem

Row = dict[str, str]
PACKAGES = ("jax", "mujoco", "mujoco-mjx", "brax")
HEAD = (
    "| engine | mode | value | own differences | truth | secant | ratio | compile [s] | "
    "temporary [kB] |\n|---|---|---|---|---|---|---|---|---|"
)
SMALLEST, LARGEST = 1e-13, 1e4
"""Range to which drawn errors are clipped."""


def write(results: Path) -> None:
    with results.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    parts = [_section(problem, rows) for problem in PROBLEMS]
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    notes = results.parent / "notes.md"
    remarks = notes.read_text(encoding="utf-8") + "\n" if notes.exists() else ""
    (results.parent / "results.md").write_text(
        f"""# Gradients beside MJX and Brax

`python -m experiments.gradient_peers.run` · float64, one core; {platform.machine()}, CPU;
{versions}

Four motions with closed forms. Errors are relative, of the worst entry (by the largest of its row
where the truth is 0):

- *value*: of the outcomes against the closed form;
- *own differences*: of the derivative against central differences of the same engine (of 1e-4,
  1e-5 and 1e-6 the one that comes nearest): is it the derivative of the program?
- *truth*: of the derivative against that of the closed form: is it the derivative of the motion?
- *secant*: of differences of ±0.01 against that of the closed form: what the engine's values know
  of it.

*ratio*: time of the whole Jacobian, forward mode in as many columns, reverse mode in as many rows
as there are, over that of the values; one copy, so that dispatch weighs as much as arithmetic.
*compile*: CPU time, of the values and of the derivative. *temporary*: what XLA's programs reserve,
likewise.

MJX converges to 1e-10 in up to 100 iterations. MJX and Brax generalized have no restitution: theirs
is that of a damped spring of {OMEGA:g} rad/s, whose contacts last {1e3 * np.pi / OMEGA:.0f} ms.
Brax's others have it.

{remarks}Not every engine was run on every motion. What reverse mode costs jaxccp in batches and in
longer solves is in [cost.md](cost.md).

![errors](errors.png)

{chr(10).join(parts)}""",
        encoding="utf-8",
    )
    _plot(rows).savefig(results.parent / "errors.png", dpi=80)


def _section(problem: Problem, rows: list[Row]) -> str:
    mine = [row for row in rows if row["problem"] == problem.name]
    inputs = ", ".join(f"{name} = {value:g}" for name, value in problem.parameters.items())
    asked = ", ".join(problem.outcomes)
    lines = [
        f"## {problem.name.capitalize()}",
        "",
        f"{asked} after {problem.seconds:g} s, by {inputs}; steps of {1e3 * problem.h:g} ms",
        "",
        HEAD,
    ]
    refused = []
    for row in mine:
        if row["note"]:
            lines.append(
                f"| {row['engine']} | {row['mode']} | {_short(row['value'])} | refused |||||| |"
            )
            refused.append(f"{row['engine']}, {row['mode']}: `{row['note']}`")
            continue
        errors = [_short(row[name]) for name in ("value", "own", "truth", "secant")]
        compile_s = f"{float(row['forward_compile']):.1f}, {float(row['compile']):.1f}"
        memory = f"{float(row['forward_temp']) / 1e3:,.0f}, {float(row['temp']) / 1e3:,.0f}"
        cells = [
            row["engine"],
            row["mode"],
            *errors,
            f"{float(row['ratio']):.1f}",
            compile_s,
            memory,
        ]
        lines.append("| " + " | ".join(cells) + " |")
    if not mine:
        lines.append("| not run |||||||||")
    lines += [""] + [f"- {note}" for note in refused] + [""] * bool(refused)
    return "\n".join(lines)


def _short(number: str) -> str:
    return f"{float(number):.2g}"


def _plot(rows: list[Row]) -> Figure:
    """Plot the errors of the derivatives for each problem; a cross is NaN."""
    engines = list(dict.fromkeys(row["engine"] for row in rows))
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    panels = figure.subplots(1, 2, sharey=True)
    shown: list[tuple[str, Callable[[Row], str]]] = [
        ("derivative against the engine's own differences", lambda row: row["own"]),
        ("derivative against the closed form", lambda row: row["truth"]),
    ]
    for axes, (title, pick) in zip(panels, shown, strict=True):
        for i, engine in enumerate(engines):
            # Of each problem the forward mode, or the reverse one where that is all there is.
            errors = {
                row["problem"]: float(pick(row))
                for row in reversed(rows)
                if row["engine"] == engine and row["own"]
            }
            places = [k + 0.13 * (i - len(engines) / 2) for k in range(len(PROBLEMS))]
            values = np.array([errors.get(problem.name, np.inf) for problem in PROBLEMS])
            drawn = np.where(np.isinf(values), np.nan, np.clip(values, SMALLEST, LARGEST))
            axes.plot(places, drawn, "o", color=f"C{i}", label=engine)
            broken = np.where(np.isnan(values), LARGEST, np.nan)
            axes.plot(places, broken, "x", color=f"C{i}")
        axes.set_yscale("log")
        axes.set_xticks(range(len(PROBLEMS)), [problem.name for problem in PROBLEMS])
        axes.set_title(title, loc="left", fontsize=10)
        axes.grid(axis="y", color="#e6e6e6")
        axes.spines[["top", "right"]].set_visible(False)
    panels[1].legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5))
    panels[0].set_ylabel("relative error")
    return figure
