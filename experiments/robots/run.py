"""Cross-validate torque and simulation errors of robots identified from logs of real machines.

    python -m experiments.robots.run [ROBOT …]
    python -m experiments.robots.run --evaluate FOLDER [ROBOT …]

The first fits and writes results.csv, results.md, robots.png and, for each robot, fits/ROBOT.json
with parameters from all its recordings; robots that are not named keep their last results. Folds
are whole recordings where there are five, else consecutive fifths of one. The friction law of those
in ``--laws``, and whether simulations or inverse dynamics are fitted, are chosen by
cross-validation. The second fits nothing: it prints the errors of other recordings, in a folder
like the data's, with the saved parameters. Nothing is random. Float64.
"""

import argparse
import csv
import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from matplotlib.figure import Figure

from experiments.robots.robots import (
    DATA,
    FOLDER,
    LAWS,
    ROBOTS,
    Robot,
    inverse,
    opened,
    parameters,
    problem,
    simulation,
)
from jaxccp.identify import Case, Method, Predictor, Problem
from jaxccp.identify.estimation.cross_validation import folds_of
from jaxccp.identify.estimation.evaluation import evaluation

FOLDS = 5
SERVO = 20.0, 1.5
"""Gains of go2's drives [N m/rad, N m s/rad]."""
TABLE = FOLDER / "results.csv"
LEAST_SQUARES = {
    ("tx40", "torque"): (0.050, 0.055, 0.086, 0.092, 0.112, 0.088),
    ("tiago", "torque"): (0.127, 0.158, 0.145, 0.111),
    ("go2", "torque"): (0.25, 0.18, 0.19) * 4,
    ("double_pendulum", "torque"): (0.48, 0.187),
    ("tx40", "0.25 s"): (0.0113, 0.0089, 0.035, 0.032, 0.072, 0.062),
    ("tiago", "0.5 s"): (0.0040, 0.0147, 0.0216, 0.0124),
    ("double_pendulum", "0.5 s"): (0.041, 0.053),
    ("go2", "0.5 s"): (0.0063,) * 12,
    ("double", "1 s"): (0.0089, 0.0168),
    ("triple", "1 s"): (0.0068, 0.0144, 0.0145),
}
"""Cross-validated errors of least squares on the linear regressor, from the data's README; those of
go2 are means over legs, or over all joints."""

Errors = dict[str, np.ndarray]
"""Errors of all joints by measure: ``torque`` (over its standard deviation), ``0.5 s`` [rad] …"""


class Measures:
    """Errors of a robot's recordings, which can be computed for any values of the parameters."""

    def __init__(self, robot: Robot, folder: Path, law: str) -> None:
        """Prepare the windows of all measures."""
        self.robot = robot
        loaded, recordings = opened(robot, folder)
        residuals: dict[str, Any] = {
            f"{length:g} s": simulation(robot, length) for length in robot.windows
        }
        if robot.inverse:
            residuals["torque"] = inverse(robot, every=1e-4)
        self.predictors = {
            name: Predictor(Case(loaded, recordings, residual), parameters(robot, law))
            for name, residual in residuals.items()
        }

    def errors(self, values: Sequence[Mapping[str, float]]) -> Errors:
        """Return root mean square errors over folds.

        Args:
            values: parameters that were fitted without each fold; a single set where there are no
                folds.
        """
        out = {}
        for name, predictor in self.predictors.items():
            evaluator = predictor.evaluator
            batch: Any = evaluator.plan.batch
            names = evaluator.parameters.scalars
            count = len(batch)
            fold = folds_of(batch, len(values)) if len(values) > 1 else np.zeros(count, int)
            square = samples = np.zeros(evaluator.observed)
            for number, fitted in enumerate(values):
                which = np.flatnonzero(fold == number)
                row = np.array([fitted.get(scalar.name, scalar.initial) for scalar in names])
                result = evaluation(evaluator, np.tile(row, (count, 1)), which)
                weight = np.asarray(batch.take(which).weight) > 0
                counts = weight.sum(axis=(0, 1))
                joints = np.array(list(result.channels.values()))
                square = square + counts * np.where(counts > 0, joints, 0.0) ** 2
                samples = samples + counts
            out[name] = np.sqrt(square / np.maximum(samples, 1))
            if name == "torque":
                out[name] = out[name] / self._spread(predictor)
        return out

    def _spread(self, predictor: Any) -> np.ndarray:
        """Return the standard deviation of the filtered torques where joints move [N m]."""
        plan = predictor.evaluator.plan
        samples = plan.batch.segments
        torque = np.asarray(samples.torque)[..., 0]
        if plan.controls:
            position, control = np.asarray(samples.position), np.asarray(samples.control)[..., 0]
            torque = np.stack(
                [
                    SERVO[0] * (control[:, :, k] - position[:, :, place, 0])
                    - SERVO[1] * position[:, :, place, 1]
                    for k, place in enumerate(plan.compared)
                ],
                axis=2,
            )
        used = np.asarray(samples.weight) > 0
        return np.array([np.std(torque[:, :, k][used[:, :, k]]) for k in range(torque.shape[2])])


def candidates(robot: Robot, law: str, folder: Path) -> dict[str, Problem]:
    """Return the problems whose fits are compared, by name.

    Args:
        robot: settings of the robot.
        law: one of the friction laws.
        folder: folder of the data.
    """
    out = {}
    if robot.inverse:
        out["inverse dynamics"] = problem(robot, folder, law, inverse(robot))
    if robot.simulated is not None:
        free = replace(simulation(robot, robot.simulated, "unknown"))
        out["simulation"] = problem(robot, folder, law, free)
    return out


def study(name: str, folder: Path, laws: Sequence[str]) -> list[dict]:
    """Fit one robot with each law and residual, and return a row of errors for each measure.

    Also writes the parameters of the best fit to the folder fits.

    Args:
        name: name of the robot.
        folder: folder of the data.
        laws: friction laws to compare.
    """
    robot, rows = ROBOTS[name], []
    best = np.inf
    for law in laws:
        measures = Measures(robot, folder, law)
        for method, candidate in candidates(robot, law, folder).items():
            begin = time.perf_counter()
            candidate.method = Method(iterations=20)
            count = max(FOLDS, len(candidate.cases[0].recordings))
            validation = candidate.cross_validate(count)
            values = [
                dict(zip(candidate.names, theta.tolist(), strict=True))
                for theta in validation.values
            ]
            errors = measures.errors(values)
            took = time.perf_counter() - begin
            for measure, joints in errors.items():
                rows.append({"robot": name, "law": law, "fit": method, "measure": measure})
                rows[-1] |= {"mean": float(np.mean(joints)), "seconds": round(took)}
                rows[-1]["joints"] = " ".join(f"{error:.4g}" for error in joints)
                print(rows[-1], flush=True)
            # Most users will simulate with the model: its simulation error decides.
            score = float(np.mean(errors[f"{robot.windows[0]:g} s"]))
            if score < best:
                best = score
                fit = candidate.fit()
                identified = dict(zip(fit.names, fit.values.tolist(), strict=True))
                kept = {"law": law, "fit": method, "values": identified}
                (FOLDER / "fits").mkdir(exist_ok=True)
                (FOLDER / "fits" / f"{name}.json").write_text(json.dumps(kept, indent=1) + "\n")
                (FOLDER / "fits" / f"{name}.txt").write_text(fit.table() + "\n")
    return rows


def evaluated(name: str, folder: Path) -> None:
    """Print the errors of recordings with the saved parameters."""
    kept = json.loads((FOLDER / "fits" / f"{name}.json").read_text())
    nominal = Measures(ROBOTS[name], folder, kept["law"])
    for measure, joints in nominal.errors([kept["values"]]).items():
        print(name, measure, f"mean {np.mean(joints):.4g}:", *(f"{e:.4g}" for e in joints))


def written(rows: list[dict]) -> None:
    """Write results.csv, results.md and robots.png."""
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    laws = {row["robot"]: {r["law"] for r in rows if r["robot"] == row["robot"]} for row in rows}
    single = [f"{robot} ({law})" for robot, (law, *others) in laws.items() if not others]
    lines = [
        "# Robots from logs",
        "",
        "Cross-validated errors on recordings of real robots, made by "
        "`python -m experiments.robots.run`: torque errors over the torque's standard deviation, "
        "errors of simulations from measured states in rad. LS is least squares on the linear "
        "regressor (for arms drawn to the nominal bodies), from the data's README."
        + (f" Fitted with one friction law only: {', '.join(single)}." if single else ""),
        "",
        "| robot | measure | fit | friction | mean | joints | LS, mean |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        least_squares = LEAST_SQUARES.get((row["robot"], row["measure"]))
        reference = f"{np.mean(least_squares):.3g}" if least_squares else ""
        lines.append(
            f"| {row['robot']} | {row['measure']} | {row['fit']} | {row['law']} | "
            f"{float(row['mean']):.3g} | {row['joints']} | {reference} |"
        )
    lines += ["", "![Errors over those of least squares](robots.png)", ""]
    (FOLDER / "results.md").write_text("\n".join(lines))
    drawn(rows)


def drawn(rows: list[dict]) -> None:
    """Draw each joint's best error over that of least squares."""
    shown = []
    for (robot, measure), least_squares in LEAST_SQUARES.items():
        of = [r for r in rows if (r["robot"], r["measure"]) == (robot, measure)]
        if of:
            best = min(of, key=lambda row: float(row["mean"]))
            joints = np.array([float(x) for x in best["joints"].split()])
            shown.append((f"{robot}, {measure}", joints / np.array(least_squares)))
    figure = Figure(figsize=(7, 0.45 * len(shown) + 1.2), layout="constrained")
    axes = figure.subplots()
    for place, (_, ratio) in enumerate(shown):
        axes.plot(ratio, np.full(len(ratio), place), "o", alpha=0.7, color="C0")
        axes.plot([np.mean(ratio)], [place], "|", markersize=18, color="C1")
    axes.axvline(1.0, color="0.5", linewidth=1)
    axes.set_yticks(range(len(shown)), [name for name, _ in shown])
    axes.invert_yaxis()
    axes.set_xlabel("error over that of least squares (joints; bar: their mean)")
    axes.set_xscale("log")
    ticks = [0.25, 0.5, 1, 2]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    figure.savefig(FOLDER / "robots.png", dpi=110)


def main() -> None:
    """Run the study or the evaluation that the command line asks for."""
    parser = argparse.ArgumentParser(description="Robots from logs")
    parser.add_argument("robots", nargs="*", metavar="ROBOT", default=list(ROBOTS))
    parser.add_argument("--data", type=Path, default=DATA, help="folder of the recordings")
    law_names = ", ".join(LAWS)
    parser.add_argument(
        "--laws", default="viscous,power", help=f"friction laws to compare, of {law_names}"
    )
    parser.add_argument(
        "--evaluate", type=Path, metavar="FOLDER", help="measure these, fit nothing"
    )
    asked = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    unknown = set(asked.robots) - set(ROBOTS)
    if unknown:
        parser.error(f"there is no robot {', '.join(unknown)}; there are {', '.join(ROBOTS)}")
    if asked.evaluate is not None:
        for name in asked.robots:
            evaluated(name, asked.evaluate)
        return
    rows = [row for name in asked.robots for row in study(name, asked.data, asked.laws.split(","))]
    if TABLE.exists():
        with TABLE.open() as file:
            rows += [row for row in csv.DictReader(file) if row["robot"] not in asked.robots]
    order = list(ROBOTS)
    written(sorted(rows, key=lambda row: order.index(row["robot"])))


if __name__ == "__main__":
    main()
