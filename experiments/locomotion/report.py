"""Compute errors of falls, and write the tables and the picture."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from experiments.locomotion.reference import Motion

FOLDER = Path(__file__).parent
SHOWN = "jaxccp ccp, 0.5 ms"
"""Name of the simulation whose heights are drawn."""
PARTED = 0.05
"""Distance, as a share of the path, beyond which two motions count as parted."""


@dataclass(frozen=True)
class Fall:
    """Motions of a robot from all initial states under jaxccp, with the largest errors."""

    motions: list[Motion]
    joint_error: float
    """Largest joint error [m, rad]."""
    unsolved: float
    """Share of records with a step that was not solved to its tolerance."""
    overflow: bool


@dataclass(frozen=True)
class Rest:
    """Forces of the ground on a robot that has come to rest, by state."""

    after: float
    """Time since the start [s]."""
    weight: float
    """Weight of the robot [N]."""
    excess: np.ndarray
    """Vertical force over weight, less 1."""
    sideways: np.ndarray
    """Horizontal force over weight."""
    speed: np.ndarray
    """Largest velocity component of any body [m/s]."""
    penetration: np.ndarray
    """Deepest penetration of any contact [m]."""


@dataclass(frozen=True)
class Robot:
    """The results of a robot; MuJoCo's motions are grouped by the settings of its contacts."""

    name: str
    theirs: dict[str, list[Motion]]
    falls: dict[str, Fall]
    """Falls under jaxccp, by law and step."""
    rest: Rest


def errors(simulated: list[Motion], expected: list[Motion]) -> np.ndarray:
    """Return distances of the centres of mass over the length of the path, shape (states, k)."""
    return np.stack(
        [
            np.linalg.norm(a.com - b.com, axis=1)
            / np.linalg.norm(np.diff(b.com, axis=0), axis=1).sum()
            for a, b in zip(simulated, expected, strict=True)
        ]
    )


def _entries(robot: Robot) -> dict[str, np.ndarray]:
    stiff = robot.theirs["stiff"]
    ours = {name: errors(fall.motions, stiff) for name, fall in robot.falls.items()}
    variants = {f"MuJoCo {k}": errors(m, stiff) for k, m in robot.theirs.items() if k != "stiff"}
    return ours | variants


def _parting(error: np.ndarray, every: float) -> str:
    exceeded = error > PARTED
    times = every * np.where(exceeded.any(axis=1), exceeded.argmax(axis=1), np.inf)
    first = times.min()
    if np.isinf(first):
        return "-"
    return f"{np.isfinite(times).sum()}, {first:.2f} s"


def _table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _paths(robots: list[Robot], every: float) -> tuple[list[list[str]], list[list[str]]]:
    """Return the rows of errors, and the rows of the times at which motions part."""
    paths, parted = [], []
    for robot in robots:
        entries = _entries(robot)
        shares = [100 * error.mean(axis=1) for error in entries.values()]
        paths.append([robot.name, *(f"{np.median(s):.2f} ({s.max():.2f})" for s in shares)])
        parted.append([robot.name, *(_parting(error, every) for error in entries.values())])
    return paths, parted


def _kept(robots: list[Robot]) -> list[list[str]]:
    def depth(motions: list[Motion]) -> str:
        penetration = max(motion.penetration for motion in motions)
        return f"{abs(penetration):.0e}, {max(motion.limit_violation for motion in motions):.0e}"

    return [
        [
            robot.name,
            *(depth(fall.motions) for fall in robot.falls.values()),
            *(depth(robot.theirs[k]) for k in ("stiff", "as the file has it")),
            ", ".join(f"{fall.joint_error:.0e}" for fall in robot.falls.values()),
            ", ".join(f"{100 * fall.unsolved:.2g}" for fall in robot.falls.values()),
            ", ".join("yes" if fall.overflow else "no" for fall in robot.falls.values()),
        ]
        for robot in robots
    ]


def _resting(robots: list[Robot]) -> list[list[str]]:
    rows = []
    for robot in robots:
        rest = robot.rest
        worst = (np.abs(part).max() for part in (rest.excess, rest.sideways, rest.speed))
        row = [robot.name, f"{rest.after:.0f}", f"{rest.weight:.2f}", *(f"{x:.0e}" for x in worst)]
        rows.append([*row, f"{rest.penetration.max():.0e}"])
    return rows


def write(
    robots: list[Robot], landings: dict[str, tuple[float, float]], every: float, version: str
) -> None:
    """Write results.md and paths.png.

    Args:
        robots: results of all robots.
        landings: rebound and error of the distance of each simulation of the sliding body [m].
        every: time between records [s].
        version: version of MuJoCo.
    """
    names, ours = list(_entries(robots[0])), list(robots[0].falls)
    paths, parted = _paths(robots, every)
    landed = [[name, *(f"{1e3 * x:.2f}" for x in lengths)] for name, lengths in landings.items()]
    kept = ["", *ours, "MuJoCo stiff", "MuJoCo as the file has it", "joint errors", "not solved"]
    resting = ["", "after [s]", "weight [N]", "vertical", "horizontal", "speed [m/s]"]
    resting.append("penetration [m]")
    filled = {
        "version": version,
        "parted_share": f"{100 * PARTED:g}",
        "paths": _table(["", *names], paths),
        "parted": _table(["", *names], parted),
        "landed": _table(["", "highest rebound [mm]", "error of the way [mm]"], landed),
        "kept": _table([*kept, "overflow"], _kept(robots)),
        "resting": _table(resting, _resting(robots)),
    }
    text = (FOLDER / "results.template.md").read_text(encoding="utf-8").format(**filled)
    (FOLDER / "results.md").write_text(text, encoding="utf-8")
    _picture(robots, every)


def _picture(robots: list[Robot], every: float) -> None:
    figure = Figure(figsize=(2.6 * len(robots), 5), layout="constrained")
    axes = figure.subplots(2, len(robots), sharex=True, squeeze=False)
    for column, robot in zip(axes.T, robots, strict=True):
        fine = robot.falls[SHOWN]
        for k, (a, b) in enumerate(zip(fine.motions, robot.theirs["stiff"], strict=True)):
            t = every * np.arange(len(a.com))
            column[0].plot(t, a.com[:, 2], color=f"C{k}", linewidth=2, alpha=0.5)
            column[0].plot(t, b.com[:, 2], color="black", linewidth=0.8, linestyle="--")
        column[0].set_title(robot.name)
        for name, error in _entries(robot).items():
            if "bouncing" not in name:
                middle = np.median(error, axis=0)[1:]
                column[1].semilogy(t[1:], np.maximum(100 * middle, 1e-4), label=name)
        column[1].set_ylim(1e-3, 100)
        column[1].set_xlabel("time [s]")
    axes[0, 0].set_ylabel("height of the centre\nof mass [m]")
    axes[1, 0].set_ylabel("error of its path [%]")
    handles, labels = axes[1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize="small")
    figure.savefig(FOLDER / "paths.png", dpi=90)
