"""Write the pictures and the table of the comparison."""

import platform
from pathlib import Path

import jax
import numpy as np
from matplotlib.figure import Figure
from run import Point

TITLES = {"ccp": "The convex law", "ncp": "Coulomb's law"}
STARTS = ("cold", "warm")


def picture(points: list[Point], law: str, solvers: list[str]) -> Figure:
    """Draw residual against iterations and time, cold and warm, in columns, with a row for each
    scene.

    Args:
        points: rows of curves.csv.
        law: contact law, ``ccp`` or ``ncp``.
        solvers: names of the solvers.
    """
    scenes = list(dict.fromkeys(p.scene for p in points if p.law == law))
    figure = Figure(figsize=(15.0, 2.7 * len(scenes) + 0.8), dpi=90, layout="constrained")
    axes = figure.subplots(len(scenes), 4, squeeze=False, sharey=True, sharex="col")
    handles = {}
    for line, scene in zip(axes, scenes, strict=True):
        scene_points = [p for p in points if (p.law, p.scene) == (law, scene)]
        for column, ax in enumerate(line):
            start = STARTS[column // 2]
            for i, name in enumerate(solvers):
                curve = [p for p in scene_points if (p.solver, p.start) == (name, start)]
                if not any(np.isfinite(p.residual) for p in curve):
                    continue
                x = [max(p.iterations, 0.7) if column % 2 == 0 else 1e3 * p.seconds for p in curve]
                y = [max(p.residual, 1e-13) for p in curve]
                # Drawn on top and broken, as it often is one of the others.
                special = {
                    "color": "black",
                    "linestyle": (0, (4, 2)),
                    "linewidth": 2.0,
                    "zorder": 3,
                }
                style = special if name == "auto" else {"color": f"C{i}", "linewidth": 1.4}
                (handles[name],) = ax.plot(x, y, marker=".", markersize=3, **style)
            ax.set(xscale="log", yscale="log", ylim=(1e-12, 3.0))
            ax.grid(alpha=0.25)
            ax.spines[["top", "right"]].set_visible(False)
            ax.set_title(f"{scene}, {start} ({scene_points[0].size})", loc="left", fontsize=9)
        line[0].set_ylabel("residual / max‖r‖")
    for column, ax in enumerate(axes[-1]):
        ax.set_xlabel("iterations" if column % 2 == 0 else "time [ms]")
    figure.suptitle(TITLES[law], x=0.01, ha="left")
    figure.legend(handles.values(), handles, loc="outside upper right", ncols=8, frameon=False)
    return figure


def table(points: list[Point], law: str, solvers: list[str], accuracy: float) -> str:
    """Return a table of the iterations and milliseconds to the accuracy, from cold and warm starts.

    Args:
        points: rows of curves.csv.
        law: contact law, ``ccp`` or ``ncp``.
        solvers: names of the solvers.
        accuracy: relative residual to reach.
    """
    scenes = list(dict.fromkeys((p.scene, p.size) for p in points if p.law == law))
    lines = [
        f"| scene | start | {' | '.join(solvers)} |",
        f"|---|---|{'---|' * len(solvers)}",
    ]
    for scene, size in scenes:
        for start in STARTS:
            cells = []
            for name in solvers:
                curve = [
                    p
                    for p in points
                    if (p.law, p.scene, p.solver, p.start) == (law, scene, name, start)
                ]
                cells.append(_cell(curve, accuracy))
            title = f"{scene} ({size})" if start == "cold" else ""
            lines.append(f"| {title} | {start} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(curve: list[Point], accuracy: float) -> str:
    if not any(np.isfinite(p.residual) for p in curve):
        return "–"
    good = [p for p in curve if p.residual <= accuracy]
    if not good:
        worst = min(p.residual for p in curve)
        return f"{worst:.0e} after {curve[-1].iterations}"
    return f"{good[0].iterations}, {1e3 * good[0].seconds:.2g} ms"


def write_report(points: list[Point], config: dict, folder: Path) -> None:
    solvers, accuracy = config["solvers"], config["accuracy"]
    laws = [law for law in config["laws"] if any(p.law == law for p in points)]
    sections = []
    for law in laws:
        picture(points, law, solvers).savefig(folder / f"{law}.png")
        sections.append(
            f"## {TITLES[law]}\n\n![residuals]({law}.png)\n\n"
            f"{table(points, law, solvers, accuracy)}\n"
        )
    notes = folder / "notes.md"
    remarks = notes.read_text(encoding="utf-8") + "\n" if notes.exists() else ""
    (folder / "results.md").write_text(
        f"""# The solvers on six scenes

`python experiments/notes_comparison/run.py` · [config.toml](config.toml) · float64, processor time
on one core, compilation apart · {platform.machine()}, jax {jax.__version__}

Iterations (to the next power of √2) and time to a residual of {accuracy:g} of the largest velocity,
or the residual where a curve ends. An iteration is a gradient step, a sweep, a pivot or a
factorisation, as the method has it: only times compare. Warm starts from the impulses of the step
before. Dantzig's friction is a pyramid, so its problem is another one; –: does not apply.

{remarks}{chr(10).join(sections)}""",
        encoding="utf-8",
    )
    print((folder / "results.md").read_text(encoding="utf-8"))
