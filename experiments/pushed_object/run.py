"""Identify a box pushed by a finger from recordings that MuJoCo simulated.

    python -m experiments.pushed_object.run [--count 4] [--folds 2]

MuJoCo's contact is soft and its steps are fine (0.2 ms); jaxccp's contact is hard. Pushes make and
break contact away from the box's middle, so that it turns and the tip slides; two more are slow.
Fits start 20 to 25 % off and are cross-validated over pushes. Where ``mujoco.sysid`` can be
imported it fits the same, with the contact model that the pushes were simulated with. Writes
results.json, results.md and pushes.png. Seeds are fixed. Float64.
"""

import argparse
import json
import time
from collections.abc import Sequence
from dataclasses import replace

import jax
import numpy as np
from jaxtyping import Float

from experiments.pushed_object.report import page, picture
from experiments.pushed_object.task import FOLDER, PEER_ITERATIONS, TRUTH, problem, record
from experiments.sysid_comparison.available import has_mujoco_sysid
from jaxccp.identify import Problem, Recording
from jaxccp.identify.estimation.evaluation import Evaluation, evaluation
from jaxccp.identify.uncertainty.intervals import Identifiability, identifiability

H, PEER_H = 5e-3, 5e-4
"""Step lengths of simulations, in jaxccp and in mujoco.sysid [s]."""
SLOW = 2
"""Number of slow pushes among the recordings; they are the last ones."""


def main() -> None:
    """Identify, cross-validate and write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=4, help="quick pushes")
    parser.add_argument("--folds", type=int, default=2)
    options = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    recordings = [*record(options.count, seed=0), *record(SLOW, seed=1, slow=True)]
    truth = np.array([*TRUTH.values()])
    begin = time.process_time()
    task = problem(recordings, H)
    fit = task.fit(lambda number, loss, _: print(f"step {number}: loss {loss:.1f}"))
    results: dict = {
        "quick": options.count,
        "slow": SLOW,
        "cpu_seconds": round(time.process_time() - begin, 1),
        "evaluations": fit.descent.evaluations,
        "initial": task.column("initial").tolist(),
        "values": fit.values.tolist(),
        "interval": fit.uncertainty.half_width().tolist(),
        "all_pushes": _summary(fit.identifiability),
        "slow_pushes": _summary(_of_last(task, truth)),
    }
    results["errors"] = {
        "initial values": _errors(predicted(task, task.column("initial"))),
        "true values": _errors(predicted(task, truth)),
        "identified": _errors(predicted(task, fit.values)),
    }
    (FOLDER / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    crossed = task.cross_validate(options.folds)
    errors_of_folds = {
        name: float(np.sqrt(np.mean(errors**2))) for name, errors in crossed.channels.items()
    }
    results["errors"][f"held out, {options.folds} folds"] = errors_of_folds | {
        "overall": crossed.mean
    }
    results["peer"] = None
    page(results)
    picture(task, results)
    results["peer"] = _peer(recordings)
    (FOLDER / "results.json").write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    page(results)
    picture(task, results)


def predicted(task: Problem, values: Float[np.ndarray, " p"]) -> Evaluation:
    """Return the prediction errors of all pushes.

    Args:
        task: identification, whose compiled programs are used.
        values: values of the parameters.
    """
    evaluator = task.objective.evaluators[0]
    return evaluation(evaluator, np.tile(values, (len(evaluator.plan.batch), 1)))


def _errors(result: Evaluation) -> dict[str, float]:
    return result.channels | {"overall": result.overall}


def _summary(analysis: Identifiability) -> dict:
    return {
        "deviation": analysis.deviation.tolist(),
        "alone": analysis.alone.tolist(),
        "weakest": [
            f"{direction.text} ({direction.deviation:.3g} scales)"
            for direction in analysis.directions[:2]
        ],
        "poorly_determined": [direction.text for direction in analysis.poorly_determined],
    }


def _of_last(task: Problem, values: Float[np.ndarray, " p"]) -> Identifiability:
    """Return which parameters the slow pushes alone determine.

    Args:
        task: identification.
        values: values of the parameters.
    """
    point = task.objective.at(values, tuple(np.zeros((len(p.batch), 0)) for p in task.plans))
    matrix = point.terms[0].hessian[-SLOW:].sum(axis=0)
    point = replace(point, chains=replace(point.chains, corner=matrix))
    return identifiability(task.objective, point, task.names, task.column("scale"))


def _peer(recordings: Sequence[Recording]) -> dict | None:
    """Return what mujoco.sysid identifies, or None where it cannot be imported."""
    if not has_mujoco_sysid():
        print("mujoco.sysid is left out: it needs pip install 'jaxccp[sysid]'")
        return None
    from experiments.pushed_object.peer import peer

    begin = time.process_time()
    task = peer(recordings, PEER_H)
    values, _ = task.fit(max_iters=PEER_ITERATIONS)
    return {
        "values": values.tolist(),
        "evaluations": task.evaluations,
        "cpu_seconds": round(time.process_time() - begin, 1),
    }


if __name__ == "__main__":
    main()
