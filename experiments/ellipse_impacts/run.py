"""Compare impact laws by cross-validation on recorded impacts of an ellipse.

python -m experiments.ellipse_impacts.run [DATA] [--repeats 3]
python -m experiments.ellipse_impacts.run --evaluate params.json OTHER.npz
"""

import argparse
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import jax
import numpy as np

from experiments.ellipse_impacts import laws as laws
from experiments.ellipse_impacts.impacts import AXES, INERTIA, MASS, read, rig
from experiments.ellipse_impacts.report import draw, write
from jaxccp.identify import Impacts, Method, Parameter, Problem, law_number
from jaxccp.identify.case import Case
from jaxccp.identify.impacts.plan import ImpactPlan

FOLDER = Path(__file__).resolve().parent
SHARED = Path(os.environ.get("JAXCCP_DATA", FOLDER.parents[2] / "shared/data"))
DATA = SHARED / "impacts/ellipse_impacts.npz"
FOLDS = 5
UNIFORM = 4.625e-4
"""I/m of a uniform ellipse [m²]."""
METHOD = Method(threshold=0.1)
"""Method of the fits; with this threshold its loss is nearly the mean relative error, the score."""
PARAMETERS = {
    "restitution": Parameter("shapes[*].restitution", 0.54, 0.0, 1.0, shared=True),
    "friction": Parameter("shapes[*].friction", 0.18, 0.0, shared=True),
    "inertia": Parameter('bodies["ellipse"].inertia', 1.0, 0.2, factor=True),
    "floor": Parameter('axes["floor"].armature', 7e-3, 1e-4),
    "pivot": Parameter(f"channels['position[\"{AXES[0]}\"]'].offset", -0.3),
    "angle": Parameter(f"channels['position[\"{AXES[2]}\"]'].offset", 0.0, scale=0.02),
    "tangential": law_number("tangential_stiffness", 6.0, 0.1),
    "slip": law_number("per_slip_speed", 0.05, -1.0, 1.0),
    "power": law_number("power", 0.05, -2.0, 2.0),
}


@dataclass(frozen=True)
class Entry:
    """A law and its fitted parameters: restitution, friction and those named in ``further``."""

    name: str
    law: str
    further: tuple[str, ...] = ()

    @property
    def parameters(self) -> list[Parameter]:
        """Return the fitted parameters, restitution and friction first."""
        return [PARAMETERS[name] for name in ("restitution", "friction", *self.further)]

    def case(self, recordings) -> Case:
        """Return the model, the recordings and the residual that compares them."""
        return Case(rig("pivot" in self.further), recordings, Impacts(self.law))

    def problem(self, recordings) -> Problem:
        """Return the identification problem of this law for some recordings."""
        case = self.case(recordings)
        return Problem(case.mechanism, recordings, self.parameters, case.residual, METHOD)


ENTRIES = (
    Entry("Newton", "newton"),
    Entry("Anitescu–Potra", "anitescu_potra"),
    Entry("Routh/Poisson", "poisson"),
    Entry("Routh/Stronge", "stronge"),
    Entry("Routh/Poisson, inertia", "poisson", ("inertia",)),
    Entry("… e falls with approach speed", "speed_restitution", ("inertia", "power")),
    Entry("… e falls with slip speed", "slip_restitution", ("inertia", "slip")),
    Entry("… tangential compliance", "tangential_compliance", ("inertia", "tangential")),
    Entry("Routh/Poisson, inertia, floor pivots", "poisson", ("inertia", "floor", "pivot")),
    Entry(
        "… e falls with slip speed (2)", "slip_restitution", ("inertia", "floor", "pivot", "slip")
    ),
    Entry("… angle offset", "poisson", ("inertia", "floor", "pivot", "angle")),
    Entry(
        "… tangential compliance (2)",
        "tangential_compliance",
        ("inertia", "floor", "pivot", "tangential"),
    ),
    Entry(
        "floor pivots, tangential compliance, angle offset",
        "tangential_compliance",
        ("inertia", "floor", "pivot", "tangential", "angle"),
    ),
)
WINNER = ENTRIES[-1]


def norms(evaluation, noise: float = Impacts().noise) -> np.ndarray:
    """Return the relative error of each impact, shape (impacts,)."""
    return noise * np.sqrt(np.sum(evaluation.windows**2, axis=1))


def compare(entry: Entry, recordings, repeats: int) -> dict:
    """Return the cross-validated errors and the parameters of one law.

    Args:
        entry: the law.
        recordings: all impacts.
        repeats: number of partitions into folds, drawn with the seeds 0, 1, …
    """
    problem = entry.problem(recordings)
    fit = problem.fit()
    errors = [
        np.concatenate([norms(fold[0]) for fold in problem.cross_validate(FOLDS, seed=seed).folds])
        for seed in range(repeats)
    ]
    names = ["restitution", "friction", *entry.further]
    half = fit.uncertainty.half_width()
    row = {
        "name": entry.name,
        "law": entry.law,
        "errors": errors,
        "parameters": {
            name: {"value": float(value), "interval": float(wide)}
            for name, value, wide in zip(names, fit.values, half, strict=True)
        },
    }
    print(f"{entry.name}: {np.mean(errors):.4f}", flush=True)
    return row


def evaluate(parameters: Path, data: Path) -> dict[float, np.ndarray]:
    """Return the relative errors of the impacts of a file with saved parameters.

    The keys of the result are the values of I/m in the norm of errors [m²].

    Args:
        parameters: params.json of a run.
        data: npz of impacts, in the layout that ``read`` takes.
    """
    saved = json.loads(parameters.read_text())
    entry = next(law for law in ENTRIES if law.name == saved["name"])
    problem = entry.problem(read(data))
    plan = cast(ImpactPlan, problem.plans[0])
    values = np.array([parameter["value"] for parameter in saved["parameters"].values()])
    subject, pairs = problem.subject(values), plan.batch.take(np.arange(len(plan.batch)))
    rates = np.asarray(jax.jit(jax.vmap(lambda pair: plan.predict(subject, pair)))(pairs))
    after = np.asarray(pairs.after)

    def size(rates: np.ndarray, inertia: float) -> np.ndarray:
        return np.sqrt(rates**2 @ np.array([1.0, 1.0, inertia]))

    return {i: size(rates - after, i) / size(after, i) for i in (INERTIA / MASS, UNIFORM)}


def main() -> None:
    """Run the comparison, or evaluate saved parameters."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?", default=DATA)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--evaluate", type=Path, metavar="params.json")
    asked = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    if asked.evaluate:
        for inertia, errors in evaluate(asked.evaluate, asked.data).items():
            spread = np.std(errors, ddof=1) / np.sqrt(len(errors))
            print(
                f"norm with I/m = {inertia:.4g} m²: relative error, mean "
                f"{np.mean(errors):.4f} ± {spread:.4f} (s.e.), median {np.median(errors):.4f}, "
                f"{len(errors)} impacts"
            )
        return
    recordings = read(asked.data)
    rows = [compare(entry, recordings, asked.repeats) for entry in ENTRIES]
    best = next(row for row in rows if row["name"] == WINNER.name)
    saved = {key: best[key] for key in ("name", "law", "parameters")}
    (FOLDER / "params.json").write_text(json.dumps(saved, indent=1, ensure_ascii=False) + "\n")
    write(FOLDER / "results.md", FOLDER / "findings.md", rows, len(recordings), asked.repeats)
    draw(FOLDER / "laws.png", rows, recordings)


if __name__ == "__main__":
    main()
