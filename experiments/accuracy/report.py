"""Write results.md, the tables of the outcomes of all solves."""

from collections import defaultdict
from pathlib import Path

import numpy as np
from run import Outcome

TITLES = {
    (64, "ccp"): "The convex law, float64",
    (64, "ncp"): "Coulomb's law, float64",
    (32, "ccp"): "The convex law, float32",
}
GOALS = {64: (1e-6, 1e-9), 32: (1e-4,)}
"""Relative residuals to reach, by precision; the outcomes at or below each are counted."""


def by_solver(rows: list[Outcome]) -> dict[str, list[Outcome]]:
    grouped = defaultdict(list)
    for row in rows:
        if row.status != "refused":
            grouped[row.solver].append(row)
    return grouped


def overview(rows: list[Outcome], goals: tuple[float, ...]) -> str:
    """Return a Markdown table with one line per solver.

    The velocity errors contain the errors of the references themselves.
    """
    counted = " | ".join(f"to {goal:.0e}" for goal in goals)
    lines = [
        f"| solver | takes | {counted} | iterations, median | most | velocity error, 95 % below | "
        "objective above, 95 % below |",
        f"|---|---|{'---|' * len(goals)}---|---|---|---|",
    ]
    for name, mine in by_solver(rows).items():
        shares = " | ".join(_share([row.residual <= goal for row in mine]) for goal in goals)
        good = [row for row in mine if row.residual <= goals[0]]
        steps = [row.iterations for row in good] or [0]
        lines.append(
            f"| {name} | {len(mine)} | {shares} | {np.median(steps):.0f} | {max(steps)} "
            f"| {_bound([row.velocity for row in good])} "
            f"| {_bound([np.maximum(row.objective, 0.0) for row in good])} |"
        )
    return "\n".join(lines)


def _share(hits: list[bool]) -> str:
    return f"{sum(hits)} ({100 * np.mean(hits):.0f} %)"


def _bound(errors: list[float]) -> str:
    finite = np.array([error for error in errors if np.isfinite(error)])
    return f"{np.quantile(finite, 0.95, method='higher'):.0e}" if len(finite) else "–"


def left(rows: list[Outcome], goals: tuple[float, ...]) -> str:
    """Return a list of the solves that missed the strictest goal or were refused, by problem."""
    short = defaultdict(list)
    for row in rows:
        if row.status == "refused":
            short[row.problem, row.rows].append(f"{row.solver} does not take it")
        elif not row.residual <= min(goals):
            short[row.problem, row.rows].append(f"{row.solver} {row.residual:.0e} ({row.status})")
    lines = [
        f"- {problem}, {size} rows: {', '.join(who)}" for (problem, size), who in short.items()
    ]
    return "\n".join(lines) or "- nothing"


def with_reference(rows: list[Outcome], goals: tuple[float, ...]) -> str:
    """Return how many of the problems with a reference each solver brings to the first goal.

    The references for Coulomb's law are solutions of another solver.
    """
    groups = by_solver([row for row in rows if row.reference])
    shares = ", ".join(
        f"`{name}` {sum(row.residual <= goals[0] for row in mine)} of {len(mine)}"
        for name, mine in groups.items()
    )
    return f"Of the problems with a reference for this law, to {goals[0]:.0e}: {shares}."


def write_report(rows: list[Outcome], folder: Path) -> None:
    sections = []
    for (precision, law), title in TITLES.items():
        goals = GOALS[precision]
        mine = [row for row in rows if (row.precision, row.law) == (precision, law)]
        if not mine:
            continue
        mine.sort(key=lambda row: row.rows)
        summary = f"{with_reference(mine, goals)}\n\n" if law == "ncp" else ""
        sections.append(
            f"""## {title}

{overview(mine, goals)}

{summary}Not brought to {min(goals):.0e}:

{left(mine, goals)}"""
        )
    count = len({row.problem for row in rows})
    text = "\n\n".join(sections)
    notes = folder / "notes.md"
    remarks = notes.read_text(encoding="utf-8") + "\n" if notes.exists() else ""
    (folder / "results.md").write_text(
        f"""# Accuracy on {count} recorded contact problems

`python experiments/accuracy/run.py PROBLEMS_DIR` · cold starts, limits and tolerances as in
config.toml; nothing is timed

Residuals, objectives and the velocities of the bodies (of the rows where no bodies are known) are
computed by the judge that comes with the problems, not by jaxccp. Residuals are relative to the
largest velocity at zero impulse. Velocities, relative to the largest one there or of the reference,
and objectives are compared with the references of the convex law, for what reached the first goal;
a reference may be the coarser of the two, so only what an objective lies above its is an error.
Iterations are those to the tolerance of config.toml.

{remarks}{text}
""",
        encoding="utf-8",
    )
    print((folder / "results.md").read_text(encoding="utf-8"))
