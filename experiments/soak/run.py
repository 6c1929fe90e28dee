"""Play every environment with random actions for many steps.

    python -m experiments.soak.run [--names ant,hopper] [--steps 1000000] [--seconds 60]

Each environment is played until it has had ``--steps`` steps in all runs so far, or for another
``--seconds``, whichever comes first; then with bad actions for some steps, if it never was. The
counts are in results.json in this folder. They and the table of README.md are written after every
environment, so that an interrupted run continues where it stopped.
"""

import argparse
import json
import time
from pathlib import Path

import jax
import jax.numpy as jnp

from experiments.soak.play import Play
from experiments.soak.table import written
from jaxccp.envs import TASKS

FOLDER = Path(__file__).resolve().parent
COPIES, STEPS = 64, 100
"""Copies and steps of a call of the program."""
ADDED = ("unsolved", "overflow", "non_finite", "not_finite_shown", "escaped", "episodes")
Entry = dict[str, float]


def add(entry: Entry, counts: dict[str, jax.Array]) -> None:
    """Add the counts of one call to the totals of an environment."""
    for name in (*ADDED, "action_nan", "action_clipped"):
        entry[name] = entry.get(name, 0) + int(counts[name])
    entry["deepest"] = max(entry.get("deepest", -1e30), float(counts["deepest"]))
    entry["steps"] = entry.get("steps", 0) + COPIES * STEPS


def soak(name: str, earlier: dict[str, Entry], steps: int, seconds: float) -> dict[str, Entry]:
    """Play one environment and return its counts, with those of earlier runs.

    Args:
        name: name of the environment.
        earlier: counts of earlier runs, with good and with bad actions.
        steps: total number of steps to reach.
        seconds: longest time of this run [s].
    """
    good, bad = dict(earlier.get("good", {})), dict(earlier.get("bad", {}))
    if good.get("steps", 0) >= steps and bad:
        return earlier
    play = Play.of(name, COPIES, STEPS)
    key = jax.random.fold_in(jax.random.key(0), int(good.get("steps", 0)))
    state = play.start(key)
    jax.block_until_ready(play.run(state, key, jnp.asarray(False)))
    begin = time.perf_counter()
    while good.get("steps", 0) < steps and time.perf_counter() - begin < seconds:
        key, drawn = jax.random.split(key)
        state, counts = play.run(state, drawn, jnp.asarray(False))
        add(good, counts)
    good["seconds"] = good.get("seconds", 0.0) + time.perf_counter() - begin
    good["solves"] = good["steps"] * play.solves
    if not bad:
        _, counts = play.run(state, key, jnp.asarray(True))
        add(bad, counts)
        bad["solves"] = bad["steps"] * play.solves
        bad["refuses"] = play.rejects_wrong_shape()
    return {"good": good, "bad": bad}


def main() -> None:
    parser = argparse.ArgumentParser(description="Random play of every environment.")
    parser.add_argument("--names", default=",".join(TASKS), help="of environments, by commas")
    parser.add_argument("--steps", type=int, default=850_000, help="of each environment")
    parser.add_argument("--seconds", type=float, default=1e9, help="at most, for each environment")
    asked = parser.parse_args()
    file = FOLDER / "results.json"
    results = json.loads(file.read_text()) if file.exists() else {}
    for name in asked.names.split(","):
        results[name] = soak(name, results.get(name, {}), asked.steps, asked.seconds)
        ordered = {task: results[task] for task in TASKS if task in results}
        file.write_text(json.dumps(ordered, indent=1) + "\n")
        written(FOLDER / "README.md", ordered)
        print(name, json.dumps(results[name]["good"]), flush=True)


if __name__ == "__main__":
    main()
