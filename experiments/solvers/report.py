"""Write results.md and profiles.png from the outcomes."""

import os
import platform
import re
from pathlib import Path

import jax
import numpy as np
from matplotlib.figure import Figure
from run import ACCURACIES, LAWS, Outcome

from jaxccp.ccp import SOLVERS

STIFF = 100.0
"""Smallest mass ratio of a problem that counts as stiff."""
FIRST_ORDER = (
    "apgd", "bb", "pjacobi", "psor", "sipgs", "numba-apgd", "numba-gauss-seidel", "pinocchio-pgs",
)  # fmt: skip
TITLES = {"ccp": "The convex law", "ncp": "Coulomb's law"}

Times = dict[str, dict[str, float]]
"""Times by solver and problem [s], inf where not solved; problems that a solver does not take are
left out."""


def times(rows: list[Outcome], law: str, accuracy: float) -> Times:
    table: Times = {}
    for row in rows:
        if row.law == law and row.accuracy == accuracy and row.outcome != "refused":
            seconds = row.seconds if row.outcome == "solved" else np.inf
            table.setdefault(row.solver, {})[row.problem] = seconds
    return table


def best(table: Times, but: str = "") -> dict[str, float]:
    """Return the shortest time of each problem that some solver, other than ``but``, solved [s]."""
    shortest: dict[str, float] = {}
    for solver, row in table.items():
        for problem, seconds in row.items():
            if solver != but and np.isfinite(seconds):
                shortest[problem] = min(seconds, shortest.get(problem, np.inf))
    return shortest


def overview(rows: list[Outcome], law: str) -> str:
    """Return a table with a line for each solver."""
    tables = [times(rows, law, accuracy) for accuracy in ACCURACIES]
    middle = tables[1]
    fastest = best(middle)
    stiff = {row.problem for row in rows if row.mass_ratio >= STIFF}
    lines = [
        "| solver | takes | solved to 1e-3 / 1e-6 / 1e-9 [%] | median time [ms] | time / fastest "
        "at 1e-6, median | fastest [%] | within 2 × [%] | stiff: solved | time / fastest "
        "| idle [ms] | compile [s] |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for name, mine in middle.items():
        shares, medians = [], []
        for table in tables:
            values = np.array(list(table[name].values()))
            good = np.isfinite(values)
            shares.append(f"{100 * good.mean():.0f}")
            medians.append(_number(1e3 * float(np.median(values)), "–"))
        ratios = np.array([mine[p] / t for p, t in fastest.items() if p in mine])
        hard = np.array([mine[p] / t for p, t in fastest.items() if p in mine and p in stiff])
        outcomes = [row for row in rows if (row.law, row.solver) == (law, name) and row.compile > 0]
        lines.append(
            f"| {name} | {len(mine)} | {' / '.join(shares)} | {' / '.join(medians)} "
            f"| {_number(float(np.median(ratios))) if len(ratios) else '–'} "
            f"| {100 * np.mean(ratios <= 1) if len(ratios) else 0:.0f} "
            f"| {100 * np.mean(ratios <= 2) if len(ratios) else 0:.0f} "
            f"| {np.isfinite(hard).sum()} of {len(hard)} "
            f"| {_number(float(np.median(hard))) if len(hard) else '–'} "
            f"| {1e3 * np.median([row.idle for row in outcomes]) if outcomes else np.nan:.2g} "
            f"| {np.median([row.compile for row in outcomes]) if outcomes else np.nan:.1f} |"
        )
    return "\n".join(lines)


def _number(x: float, otherwise: str = "not solved") -> str:
    return f"{x:.3g}" if np.isfinite(x) else otherwise


def auto_against(rows: list[Outcome], law: str) -> str:
    """Return a table of the time of ``auto`` over that of the fastest other solver; it should be
    fastest on the median problem and seldom much slower."""
    table = times(rows, law, 1e-6)
    mine, fastest_others = table.get("auto", {}), best(table, but="auto")
    common = [p for p in mine if p in fastest_others or np.isfinite(mine[p])]
    if not common:
        return "No outcome of `auto`."
    ratios = np.array([mine[p] / fastest_others.get(p, np.inf) for p in common])
    ratios = np.where(np.isnan(ratios), np.inf, ratios)
    rivals = [
        {p: t for p, t in table.get(name, {}).items()} for name in table if name not in SOLVERS
    ]
    rival = {p: min((r[p] for r in rivals if p in r), default=np.inf) for p in common}
    # What no other library solved is won if it was solved, and else lost.
    alone = {p: 0.0 if np.isfinite(mine[p]) else np.inf for p in common}
    foreign = np.array([mine[p] / rival[p] if np.isfinite(rival[p]) else alone[p] for p in common])
    order = np.argsort(ratios)[::-1]
    losses = [f"{common[i]} {_number(float(ratios[i]))}" for i in order[:8] if ratios[i] > 2]
    return "\n".join(
        [
            f"To 1e-6, on {len(common)} problems that some solver solved, time of `auto` over",
            "",
            "| | median | on 90 % at most | fastest [%] | within 2 × [%] |",
            "|---|---|---|---|---|",
            f"| the fastest other solver | {_summary(ratios)}",
            f"| the fastest other library (clarabel, Pinocchio, numba) | {_summary(foreign)}",
            "",
            f"Largest: {', '.join(losses) or 'none above 2'}.",
        ]
    )


def _summary(ratios: np.ndarray) -> str:
    # "higher": no mean of a number and infinity.
    ninety = np.quantile(ratios, 0.9, method="higher")
    shares = (100 * np.mean(ratios <= 1), 100 * np.mean(ratios <= 2))
    return (
        f"{_number(float(np.median(ratios)))} | {_number(float(ninety))} "
        f"| {shares[0]:.0f} | {shares[1]:.0f} |"
    )


def stiff_against(rows: list[Outcome], law: str, cap: float) -> str:
    """Return a table of the time of the first-order methods over that of ``auto`` on stiff
    problems.

    Args:
        rows: outcomes.
        law: contact law, ``ccp`` or ``ncp``.
        cap: longest time of a solve [s].
    """
    table = times(rows, law, 1e-6)
    mine = table.get("auto", {})
    run = {(row.solver, row.problem) for row in rows if row.law == law}
    ratio = {row.problem: row.mass_ratio for row in rows if row.mass_ratio >= STIFF}
    names = [name for name in FIRST_ORDER if name in table]
    if not ratio or not names:
        return "No such problem."
    lines = [
        f"| problem | mass ratio | auto [ms] | {' | '.join(names)} |",
        f"|---|---|---|{'---|' * len(names)}",
    ]
    for problem, masses in sorted(ratio.items(), key=lambda item: item[1]):
        if problem not in mine:
            continue
        auto_time = mine[problem]
        cells = []
        for name in names:
            seconds = table[name].get(problem)
            if seconds is None:
                cells.append("does not apply" if (name, problem) in run else "not run")
            elif np.isfinite(seconds):
                cells.append(f"{seconds / auto_time:.3g} ×")
            else:
                cells.append(
                    f"not solved, > {cap / auto_time:.3g} ×" if np.isfinite(auto_time) else "–"
                )
        milliseconds = f"{1e3 * auto_time:.3g}" if np.isfinite(auto_time) else "not solved"
        lines.append(f"| {problem} | {masses:.3g} | {milliseconds} | {' | '.join(cells)} |")
    return "\n".join(lines)


def refusals(rows: list[Outcome]) -> str:
    """Return a list of each solver's reasons for refusing, with the number of problems and laws."""
    reasons: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        if row.outcome == "refused":
            why = re.sub(r"\d+", "…", row.note)
            reasons.setdefault((row.solver, why), set()).add(f"{row.problem} {row.law}")
    lines = [f"- {name}, {len(who)} times: {why}" for (name, why), who in sorted(reasons.items())]
    return "\n".join(lines) or "- nothing"


def profiles(rows: list[Outcome]) -> Figure:
    """Draw performance profiles: Dolan & Moré, Math. Program. 91 (2002)."""
    figure = Figure(figsize=(14.0, 8.0), dpi=100, layout="constrained")
    axes = figure.subplots(len(LAWS), len(ACCURACIES), sharex=True, sharey=True)
    applicable = {row.solver for row in rows if row.outcome != "refused"}
    native = [name for name in SOLVERS if name in applicable]
    external = sorted(applicable - set(native))
    handles = {}
    for line, law in zip(axes, LAWS, strict=True):
        for ax, accuracy in zip(line, ACCURACIES, strict=True):
            table = times(rows, law, accuracy)
            fastest = best(table)
            for i, name in [*enumerate(native), *enumerate(external)]:
                if name not in table or not fastest:
                    continue
                ratios = np.sort([table[name].get(p, np.inf) / t for p, t in fastest.items()])
                share = np.arange(1, len(ratios) + 1) / len(ratios)
                good = np.isfinite(ratios)
                x = np.concatenate([[1.0], ratios[good], [1e5]])
                y = np.concatenate([[0.0], share[good], [share[good][-1] if good.any() else 0.0]])
                (handles[name],) = ax.step(
                    x,
                    y,
                    where="post",
                    color="black" if name == "auto" else f"C{i % 10}",
                    linewidth=2.6 if name == "auto" else 1.4,
                    linestyle="-" if name in SOLVERS else "--",
                    zorder=3 if name == "auto" else 2,
                )
            ax.set_xscale("log")
            ax.set_xlim(1, 1e3)
            ax.set_ylim(0, 1.02)
            ax.grid(alpha=0.25)
            ax.set_title(
                f"{TITLES[law]}, to {accuracy:g} ({len(fastest)} problems)", loc="left", fontsize=10
            )
            ax.spines[["top", "right"]].set_visible(False)
        line[0].set_ylabel("share of problems solved")
    for ax in axes[-1]:
        ax.set_xlabel("time / fastest time")
    figure.legend(
        [handles[name] for name in native + external if name in handles],
        [name for name in native + external if name in handles],
        loc="outside right center",
        frameon=False,
    )
    return figure


def complete(rows: list[Outcome]) -> list[Outcome]:
    """Return the outcomes without problems that an interrupted run has not given to every
    solver."""
    solvers = {row.solver for row in rows}
    shown: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        shown.setdefault((row.problem, row.law), set()).add(row.solver)
    return [row for row in rows if shown[row.problem, row.law] == solvers]


def write_report(rows: list[Outcome], folder: Path, cap: float) -> None:
    rows = complete(rows)
    count = len({row.problem for row in rows})
    sections = "\n\n".join(
        f"""## {TITLES[law]}

{overview(rows, law)}

{auto_against(rows, law)}

Stiff problems, mass ratio {STIFF:g} and more: time to 1e-6 over that of `auto`.

{stiff_against(rows, law, cap)}"""
        for law in LAWS
    )
    machine = (
        f"{platform.machine()}, {os.cpu_count()} cores of which one is used, jax {jax.__version__}"
    )
    notes = folder / "notes.md"
    remarks = notes.read_text(encoding="utf-8") + "\n" if notes.exists() else ""
    (folder / "results.md").write_text(
        f"""# Solvers on {count} recorded contact problems

`python experiments/solvers/run.py PROBLEMS_DIR` · float64, cold starts, at most {cap:g} s a solve,
processor time on one core, the best of three, compilation apart · {machine}

{remarks}![performance profiles](profiles.png)

Solid: ours; dashed: clarabel, Pinocchio, and plain loops in numba. Shares are of the problems that
a solver takes, in the picture of those that any solver solved. *Idle* is a call of a solver that
makes no iteration. Medians, of times and of ratios, count what was not solved as infinite.

{sections}

## Does not apply

{refusals(rows)}
""",
        encoding="utf-8",
    )
    if rows:
        profiles(rows).savefig(folder / "profiles.png")
    print((folder / "results.md").read_text(encoding="utf-8"))
