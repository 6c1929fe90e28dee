"""Draw curves.png and write results.md from the curves of all runs.

python -m experiments.training.report
"""

import re
from collections import defaultdict
from pathlib import Path

import jax
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.training.config import EPISODES, SETTINGS
from experiments.training.curve import CURVES, FOLDER, Curve, Row

Runs = dict[str, dict[int, list[Row]]]
"""Curves by the label of the run, and by seed."""


def runs(name: str, folder: Path = CURVES) -> Runs:
    curves: Runs = defaultdict(dict)
    for path in sorted(folder.glob(f"{name}-*.csv")):
        match = re.fullmatch(rf"{name}-(.+)-(\d+)", path.stem)
        if match:
            curves[match[1].replace("-", ", ")][int(match[2])] = Curve(path).rows()
    return dict(curves)


def draw(axes: Axes, curves: Runs, column: str, scale: float) -> None:
    """Draw the mean return of the seeds, and its range.

    Args:
        axes: axes to draw on.
        curves: curves by label and seed.
        column: column of the curves on the horizontal axis.
        scale: unit of the horizontal axis.
    """
    for number, (label, seeds) in enumerate(curves.items()):
        across = [np.array([row[column] for row in rows]) / scale for rows in seeds.values()]
        values = [np.array([row["return"] for row in rows]) for rows in seeds.values()]
        grid = np.linspace(max(x[0] for x in across), min(x[-1] for x in across), 100)
        lines = np.stack([np.interp(grid, x, y) for x, y in zip(across, values, strict=True)])
        axes.plot(grid, lines.mean(0), color=f"C{number}", label=f"{label} ({len(lines)})")
        axes.fill_between(grid, lines.min(0), lines.max(0), color=f"C{number}", alpha=0.2, lw=0)


def picture(curves: dict[str, Runs], file: Path) -> None:
    figure = Figure(figsize=(12, 3 * len(curves)), dpi=90)
    for name, (left, right) in zip(
        curves, figure.subplots(len(curves), 2, squeeze=False), strict=True
    ):
        draw(left, curves[name], "steps", 1e6)
        draw(right, curves[name], "cpu_s", 60)
        left.set(ylabel=f"{name}: return", xlabel="steps of the environment [million]")
        right.set(xlabel="CPU time of training, compilation included [min]")
        right.legend(fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
        for axes in (left, right):
            axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(file)


def line(name: str, label: str, seeds: dict[int, list[Row]]) -> str:
    last = [rows[-1] for rows in seeds.values()]
    best = [max(row["return"] for row in rows) for rows in seeds.values()]
    steps = "; ".join(sorted({f"{row['steps'] / 1e6:.2f}" for row in last}))

    def join(numbers: list[float], form: str = ",.0f") -> str:
        return ", ".join(f"{number:{form}}" for number in numbers)

    # Iterations of the first point compile; a mean over the others is the speed.
    speed = [
        (rows[-1]["steps"] - rows[1]["steps"]) / max(rows[-1]["cpu_s"] - rows[1]["cpu_s"], 1e-9)
        for rows in seeds.values()
    ]
    largest = [max(row.get("largest", 0.0) for row in rows) for rows in seeds.values()]
    slopes = join(largest, ".2g") if any(largest) else ""
    return (
        f"| {name} | {label} | {len(seeds)} | {steps} | {join([row['return'] for row in last])} | "
        f"{join(best)} | {join([row['length'] for row in last])} | "
        f"{join([row['cpu_s'] / 60 for row in last], '.1f')} | "
        f"{join([row['wall_s'] / 60 for row in last], '.1f')} | {np.mean(speed):,.0f} | {slopes} |"
    )


def main() -> None:
    curves = {name: group for name in SETTINGS if (group := runs(name))}
    picture(curves, FOLDER / "curves.png")
    lines = [
        line(name, label, seeds) for name, group in curves.items() for label, seeds in group.items()
    ]
    (FOLDER / "results.md").write_text(
        f"""# Training

`python -m experiments.training.run NAME ALGORITHM --seed SEED`, then
`python -m experiments.training.report`; float32, one core, CPU, jax {jax.__version__}.
Of each seed, in order: the mean return of {EPISODES} whole episodes under the mean action at the
end, at the best point, the length of episodes at the end [steps], time of training [min] without
the episodes that measure it, compilation included. Steps per second are those after the first
point, of CPU time (PPO compiles again in each of its four calls). *Gradient*: its largest norm,
before it is clipped.

| environment | run | seeds | 10⁶ steps | return | best | length | CPU | wall | steps/s | gradient |
|---|---|---|---|---|---|---|---|---|---|---|
{chr(10).join(lines)}

Rows with *brax* are brax's own environments; rows with fewer steps than the others were cut. What
is comparable and what not, and what was seen, is in [README](README.md).
""",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
