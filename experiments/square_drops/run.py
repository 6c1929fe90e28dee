"""Fit laws to single impacts of a dropped square, and simulate complete drops with them.

python -m experiments.square_drops.run [DATA] [--repeats 3]
python -m experiments.square_drops.run --evaluate params.json OTHER.npz
"""

import argparse
import json
import os
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

from experiments.square_drops.drops import AXES, SIDE, cut, read, rig
from jaxccp import EulerImplicitLinearized, rollout
from jaxccp.identify import Impacts, Method, Parameter, Predictor, Problem, law_number
from jaxccp.identify.case import Case

FOLDER = Path(__file__).resolve().parent
SHARED = Path(os.environ.get("JAXCCP_DATA", FOLDER.parents[2] / "shared/data"))
DATA = SHARED / "impacts/square_drops.npz"
FOLDS, SUBSTEPS, HELD_OUT = 5, 8, 50
METHOD = Method(threshold=0.1)
PARAMETERS = {
    "restitution": Parameter("shapes[*].restitution", 0.45, 0.0, 1.0, shared=True),
    "friction": Parameter("shapes[*].friction", 0.2, 0.0, shared=True),
    "inertia": Parameter('bodies["square"].inertia', 1.0, 0.2, factor=True),
    "angle": Parameter(f"channels['position[\"{AXES[2]}\"]'].offset", 0.0, scale=0.02),
    "tangential": law_number("tangential_stiffness", 6.0, 0.1),
}
LAWS = {
    "Newton": ("newton", "restitution", "friction"),
    "Routh/Poisson": ("poisson", "restitution", "friction"),
    "Routh/Stronge": ("stronge", "restitution", "friction"),
    "Newton, inertia": ("newton", "restitution", "friction", "inertia"),
    "Routh/Poisson, inertia": ("poisson", "restitution", "friction", "inertia"),
    "tangential compliance, inertia": (
        "tangential_compliance",
        "restitution",
        "friction",
        "inertia",
        "tangential",
    ),
    "tangential compliance, inertia, angle": (
        "tangential_compliance",
        "restitution",
        "friction",
        "inertia",
        "tangential",
        "angle",
    ),
}
SIMULATED = "Newton, inertia"
"""The law of the simulation's impacts."""
NOMINAL = {"restitution": 0.5, "friction": 0.3, "inertia": 1.0}


def norms(evaluation) -> np.ndarray:
    """Return the relative error of each impact, in the norm of kinetic energy."""
    return Impacts().noise * np.sqrt(np.sum(evaluation.windows**2, axis=1))


def predicted(values: dict, drops: np.ndarray, dt: float) -> np.ndarray:
    """Return drops simulated from their third samples [n s−3 3].

    Args:
        values: restitution, friction and inertia.
        drops: measured poses [n s 3].
        dt: time between samples [s].
    """
    arm = rig(values["friction"], values["inertia"])
    shapes = arm.model.shapes
    bouncing = jnp.full_like(shapes.restitution, values["restitution"])
    model = replace(arm.model, shapes=replace(shapes, restitution=bouncing))
    stepper = EulerImplicitLinearized(h=dt / SUBSTEPS, law="ncp")
    rates = (-3 * drops[:, 2] + 4 * drops[:, 3] - drops[:, 4]) / (2 * dt)

    def fly(pose, rate):
        state = arm.layout.state(model, arm.state, pose, rate)
        _, path = rollout(model, state, stepper, SUBSTEPS * (drops.shape[1] - 3), every=SUBSTEPS)
        return jax.vmap(lambda state: arm.layout.coordinates(model, state)[0])(path.state)

    return np.asarray(jax.jit(jax.vmap(fly))(jnp.asarray(drops[:, 2]), jnp.asarray(rates)))


def drop_errors(path: np.ndarray, drops: np.ndarray) -> dict[str, float]:
    """Return mean errors over complete drops: position in sides, angle in degrees.

    Args:
        path: simulated poses from the fourth sample on [n s-3 3].
        drops: measured poses [n s 3].
    """
    error = path - drops[:, 3:]
    place = np.linalg.norm(error[..., :2], axis=-1) / SIDE
    angle = np.degrees(np.abs(error[..., 2]))
    return {
        "position": float(np.mean(place)),
        "position_median": float(np.median(place.mean(axis=1))),
        "angle": float(np.mean(angle)),
        "angle_median": float(np.median(angle.mean(axis=1))),
    }


def compare(impacts, repeats: int) -> list[dict]:
    """Return cross-validated errors and fitted parameters of all laws.

    Args:
        impacts: recordings of impacts.
        repeats: number of partitions into folds, with the seeds 0, 1, …
    """
    rows = []
    for name, (law, *names) in LAWS.items():
        parameters = [PARAMETERS[key] for key in names]
        problem = Problem(rig(), impacts, parameters, Impacts(law), METHOD)
        fit = problem.fit()
        folds = [problem.cross_validate(FOLDS, seed=seed).folds for seed in range(repeats)]
        errors = np.array([np.concatenate([norms(key[0]) for key in fold]) for fold in folds])
        values = dict(zip(names, fit.values.tolist(), strict=True))
        half = dict(zip(names, fit.uncertainty.half_width().tolist(), strict=True))
        rows.append({"name": name, "errors": errors, "values": values, "intervals": half})
        print(f"{name}: {errors.mean():.4f}", flush=True)
    return rows


def show(title: str, errors: dict[str, float]) -> str:
    """Return a row of the table of complete drops."""
    return (
        f"| {title} | {errors['position']:.2f} | {errors['position_median']:.2f} | "
        f"{errors['angle']:.0f} | {errors['angle_median']:.0f} |"
    )


def write(rows: list[dict], drops: dict[str, dict], count: int, repeats: int) -> None:
    """Write results.md with the tables of laws and of complete drops.

    Args:
        rows: results of the laws.
        drops: errors of complete drops, by the parameters they were simulated with.
        count: number of impacts.
        repeats: repetitions of cross-validation.
    """
    lines = [
        "# Drops of a square",
        "",
        f"`python -m experiments.square_drops.run DATA`: {count} impacts of a single corner cut "
        f"out of drops without jumps of the tracker, {repeats} × 5-fold cross-validation, seeds 0 "
        f"to {repeats - 1}. Error |v_pred − v⁺| / |v⁺| of impacts not fitted, in the "
        "kinetic-energy norm of a uniform square. Intervals are 95 %.",
        "",
        "| law | mean | ± s.e. | median | parameters |",
        "|---|---|---|---|---|",
    ]
    for row in rows:
        errors = row["errors"]
        spread = np.std(errors, axis=1, ddof=1).mean() / np.sqrt(count)
        numbers = ", ".join(
            f"{name} {value:.3g} ± {row['intervals'][name]:.2g}"
            for name, value in row["values"].items()
        )
        lines.append(
            f"| {row['name']} | {errors.mean():.4f} | {spread:.4f} | {np.median(errors):.4f} | "
            f"{numbers} |"
        )
    lines += [
        "",
        f"Whole drops ({HELD_OUT} whose impacts were not fitted), simulated from the third sample "
        "to the end; mean error of all samples, median over drops:",
        "",
        "| parameters | position [sides] | median | angle [°] | median |",
        "|---|---|---|---|---|",
        *(show(title, errors) for title, errors in drops.items()),
    ]
    findings = FOLDER / "findings.md"
    text = findings.read_text() if findings.exists() else ""
    table = "\n".join(lines)
    (FOLDER / "results.md").write_text(f"{table}\n\n![A drop](drops.png)\n\n{text}")


def draw(measured: np.ndarray, paths: dict[str, np.ndarray], dt: float) -> None:
    """Draw three drops, measured and simulated.

    Args:
        measured: poses [n s 3].
        paths: simulated poses by name.
        dt: time between samples [s].
    """
    figure, axes = plt.subplots(2, 3, figsize=(14, 6), sharex=True)
    time = dt * np.arange(measured.shape[1])
    for column in range(3):
        for row, part, unit in ((0, 1, "height y [m]"), (1, 2, "angle θ [rad]")):
            axis = axes[row, column]
            axis.plot(time, measured[column, :, part], "k", label="measured")
            for name, path in paths.items():
                axis.plot(time[3:], path[column, :, part], label=name)
            axis.set_ylabel(unit)
        axes[1, column].set_xlabel("time [s]")
    axes[0, 0].legend()
    figure.tight_layout()
    figure.savefig(FOLDER / "drops.png", dpi=80)


def main() -> None:
    """Run the comparison, or evaluate saved parameters."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?", default=DATA)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--evaluate", type=Path, metavar="params.json")
    asked = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    drops, dt = read(asked.data)
    if asked.evaluate:
        values = json.loads(asked.evaluate.read_text())
        law, *law_parameters = LAWS[SIMULATED]
        case = Case(rig(), cut(drops, dt), Impacts(law))
        predictor = Predictor(case, [PARAMETERS[key] for key in law_parameters])
        names = [key.name for key in predictor.evaluator.parameters.scalars]
        errors = norms(
            predictor.evaluate({a: values[b] for a, b in zip(names, law_parameters, strict=True)})
        )
        print(f"impacts: relative error, mean {errors.mean():.4f}, median {np.median(errors):.4f}")
        print(f"drops: {drop_errors(predicted(values, drops, dt), drops)}")
        return
    order = np.random.default_rng(0).permutation(len(drops))
    test_drops, fitted = drops[order[:HELD_OUT]], drops[order[HELD_OUT:]]
    impacts = cut(fitted, dt)
    rows = compare(impacts, asked.repeats)
    values = next(row["values"] for row in rows if row["name"] == SIMULATED)
    (FOLDER / "params.json").write_text(json.dumps(values, indent=1) + "\n")
    paths = {
        "nominal": predicted(NOMINAL, test_drops, dt),
        "fitted": predicted(values, test_drops, dt),
    }
    errors = {name: drop_errors(path, test_drops) for name, path in paths.items()}
    print(errors, flush=True)
    write(rows, errors, len(impacts), asked.repeats)
    draw(test_drops, paths, dt)


if __name__ == "__main__":
    main()
