"""Identify the articulated elbow from tosses drawn at random, and measure the model on others.

    python -m experiments.elbow_tosses.run DATA.npz [--draws 3] [--fitted 12] [--judged 40]

DATA.npz: recorded tosses of two boxes joined by a hinge (``q``: poses of the first box and angles
of the hinge, one toss after the other; ``lengths``, ``ids``, ``jump``, ``dt``), elbow_tosses.npz of
the real data sets of CONTRIBUTING.md, in their folder impacts. Some of them are fitted, over
segments of 20 and then of 40 samples that begin at regular intervals along the tosses. Prediction
errors on tosses that were not fitted, over 20 samples, 40 samples and whole tosses, are compared
with those of the nominal model in both engines and with those of MuJoCo fitted by ``mujoco.sysid``
(``pip install 'jaxccp[sysid]'``) to the same segments of 40 samples. Writes results.json,
results.md and elbow.png; a run that was interrupted resumes with the draws that are missing.
Float64.
"""

import argparse
import json
import time
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
from jaxtyping import Float

from experiments.elbow_tosses.report import page
from experiments.elbow_tosses.task import (
    EVERY,
    FOLDER,
    HORIZONS,
    MODEL,
    PARAMETERS,
    Judge,
    Starts,
    means,
    read,
    residual,
)
from experiments.sysid_comparison.available import has_mujoco_sysid
from jaxccp import load
from jaxccp.identify import Method, Problem, Recording
from jaxccp.identify.cube.fit import interval

RESULTS = FOLDER / "results.json"


def main() -> None:
    """Run the missing draws and write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--fitted", type=int, default=12)
    parser.add_argument("--judged", type=int, default=40)
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    tosses = read(options.data)
    draws = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
    for seed in range(len(draws), options.draws):
        order = np.random.default_rng(seed).permutation(len(tosses))
        fitted = [tosses[k] for k in order[: options.fitted]]
        judged = [tosses[k] for k in order[options.fitted :][: options.judged]]
        draws.append({"seed": seed, "fitted": len(fitted)} | draw(fitted, judged))
        RESULTS.write_text(json.dumps(draws) + "\n", encoding="utf-8")
    page(draws)


def draw(fitted: list[Recording], judged: list[Recording]) -> dict:
    """Return the parameters identified from some tosses, and the errors of all models on others.

    Args:
        fitted: tosses to fit.
        judged: tosses to predict.
    """
    begin = time.process_time()
    task = problem(fitted)
    fit = task.fit(lambda step, loss, _: print(f"step {step}: loss {loss:.1f}"))
    out: dict = {
        "cpu_seconds": round(time.process_time() - begin, 1),
        "evaluations": fit.descent.evaluations,
        "notes": list(fit.notes),
        "parameters": {
            name: {"value": float(value), "standard_error": float(error)}
            for name, value, error in zip(
                fit.names, fit.values, fit.uncertainty.standard_error, strict=True
            )
        },
        "errors": {},
    }
    initial = task.column("initial")
    short, full = Starts(tuple(judged), False), Starts(tuple(judged), True)
    judges = {False: Judge(short), True: Judge(full)}
    for name, values in (("nominal", initial), ("identified", fit.values)):
        predicted = {key: judge.distances(values) for key, judge in judges.items()}
        out["errors"][name] = entry(judges, predicted)
    out |= _peer(fitted, {False: short, True: full}, judges, out["errors"])
    return out


def problem(tosses: list[Recording]) -> Problem:
    """Return the identification problem of some tosses, with short segments first.

    Args:
        tosses: the recordings.
    """
    dt = interval(tosses)
    settings = replace(
        residual(dt, HORIZONS[-1], EVERY * dt, EVERY * dt),
        segment=tuple(samples * dt for samples in HORIZONS),
    )
    method = Method(iterations=12, tolerance=1e-3)
    return Problem(load(str(MODEL)), tosses, PARAMETERS, settings, method)


def entry(
    judges: dict[bool, Judge], distances: dict[bool, Float[np.ndarray, "b s"]]
) -> dict[str, list[float]]:
    """Return the errors of every start as lists for JSON, by the number of samples predicted.

    Args:
        judges: those of segments (False) and of whole tosses (True).
        distances: distances of each judge, at every sample [box lengths].
    """
    out = {
        str(n): means(distances[False], judges[False].present, n).round(5).tolist()
        for n in HORIZONS
    }
    return out | {"whole": means(distances[True], judges[True].present, None).round(5).tolist()}


def _peer(
    fitted: list[Recording],
    starts: dict[bool, Starts],
    judges: dict[bool, Judge],
    errors: dict,
) -> dict:
    """Add MuJoCo's errors to ``errors``; return the values and the cost of its fit."""
    if not has_mujoco_sysid():
        print("mujoco.sysid is left out: it needs pip install 'jaxccp[sysid]'")
        return {}
    from experiments.elbow_tosses.peer import distances, fit, nominal

    segments = Starts(tuple(fitted), False)
    begin = time.process_time()
    values, evaluations = fit(Judge(segments), segments)
    seconds = round(time.process_time() - begin, 1)
    for name, parameters in (("MuJoCo, nominal", nominal()), ("MuJoCo, fitted", values)):
        predicted = {key: distances(judges[key], starts[key], parameters) for key in judges}
        errors[name] = entry(judges, predicted)
    return {"peer": {"cpu_seconds": seconds, "evaluations": evaluations, "values": values}}


if __name__ == "__main__":
    main()
