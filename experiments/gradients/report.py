"""Write the table and the heat map of results.csv."""

import csv
from collections import defaultdict
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from experiments.gradients.scenes import SCENES
from jaxccp.testing import INPUTS

TARGET = {64: 1e-6, 32: 1e-2}


def write(folder: Path) -> None:
    """Write results.md and errors.png from the results.csv of a folder."""
    with (folder / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    (folder / "results.md").write_text(_page(rows), encoding="utf-8")
    _picture(rows).savefig(folder / "errors.png", dpi=110)


def _worst(rows: list[dict[str, str]], precision: int) -> np.ndarray:
    """Return errors, shape (inputs, scenes), the worse of both laws; NaN where there is none."""
    errors = np.full((len(INPUTS), len(SCENES)), np.nan)
    for row in rows:
        if int(row["precision"]) == precision:
            place = list(INPUTS).index(row["input"]), list(SCENES).index(row["scene"])
            errors[place] = np.fmax(errors[place], float(row["error"]))
    return errors


def _run(rows: list[dict[str, str]]) -> list[str]:
    """Return the motions that have rows, with their laws and precisions."""
    runs: dict[str, list[str]] = defaultdict(list)
    for row in rows:
        how = f"{row['law']} {row['precision']}"
        if how not in runs[row["scene"]]:
            runs[row["scene"]].append(how)
    return [f"{scene} ({', '.join(hows)})" for scene, hows in runs.items()]


def _page(rows: list[dict[str, str]]) -> str:
    lines = [
        "# Derivatives against central differences",
        "",
        "`python -m experiments.gradients.run` · steps of 2 ms, the worse of the laws that were",
        "run: relative errors of the last state, by the largest derivative in each number; poses",
        "by the time that passes. Empty: the scene does not depend on it, or was not run. What is",
        "at a kink or unresolved is listed below, and not counted. Where rigid redundant contacts",
        "slide ('slip', 'slip→stick' under ccp, 'stick→slip' under ncp) derivatives depend on how",
        "loads are shared ([the derivative](../../docs/derivative.md#the-linear-system)); with",
        "contacts that yield they do not.",
        "",
        "Run: " + ", ".join(_run(rows)) + ".",
        "",
        "![errors](errors.png)",
    ]
    for precision in (64, 32):
        errors = _worst(rows, precision)
        lines += ["", f"## float{precision} (target: {TARGET[precision]:.0e})", ""]
        lines += ["| input | " + " | ".join(SCENES) + " |", "|---" * (1 + len(SCENES)) + "|"]
        for name, line in zip(INPUTS, errors, strict=True):
            cells = [f"{x:.0e}" if np.isfinite(x) else "" for x in line]
            if any(cells):
                lines.append(f"| {name} | " + " | ".join(cells) + " |")
    lines += ["", "## What is not a plain agreement", ""]
    lines += [
        "| scene | law | precision | input | verdicts | entries |",
        "|---|---|---|---|---|---|",
    ]
    totals: dict[str, int] = defaultdict(int)
    for row in rows:
        counts = {v: int(row[v]) for v in ("wrong", "kink", "unresolved", "non-finite")}
        for verdict in ("agrees", "no effect", *counts):
            totals[verdict] += int(row[verdict])
        if any(counts.values()):
            verdicts = ", ".join(f"{n} {verdict}" for verdict, n in counts.items() if n)
            head = f"| {row['scene']} | {row['law']} | {row['precision']} | {row['input']} "
            lines.append(f"{head}| {verdicts} | {row['labels']} |")
    lines += ["", "Of all entries: " + ", ".join(f"{n} {v}" for v, n in totals.items()) + ".", ""]
    return "\n".join(lines)


def _picture(rows: list[dict[str, str]]) -> Figure:
    figure = Figure(figsize=(12, 8), layout="constrained")
    for axes, precision in zip(figure.subplots(1, 2, sharey=True), (64, 32), strict=True):
        errors = _worst(rows, precision)
        top = np.log10(TARGET[precision])
        image = axes.imshow(
            np.log10(np.maximum(errors, 1e-16)),
            cmap="RdYlGn_r",
            vmin=top - 6,
            vmax=top + 2,
            aspect="auto",
        )
        axes.set_title(f"float{precision}, target {TARGET[precision]:.0e}")
        axes.set_xticks(range(len(SCENES)), list(SCENES), rotation=60, ha="right")
        axes.set_yticks(range(len(INPUTS)), list(INPUTS))
        figure.colorbar(image, ax=axes, label="log10 of the worst relative error")
    return figure
