"""Random play of every environment, for as many steps as there is time for.

    python -m experiments.soak.run [--names ant,hopper] [--steps 1000000] [--seconds 60]

Each environment is played until it has had ``--steps`` steps in all runs so far, or for
``--seconds`` more, whichever comes first; then for some with bad actions, if it never was. Numbers
are in results.json beside this file, and the table of README.md is written from them after every
environment, so that a run that was cut off goes on where it was.
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

HERE = Path(__file__).resolve().parent
COPIES, STEPS = 64, 100
"""Of a call of the program."""
ADDED = ("unsolved", "overflow", "non_finite", "not_finite_shown", "escaped", "episodes")
Entry = dict[str, float]


def add(entry: Entry, counts: dict[str, jax.Array]) -> None:
    """Add the counts of one call."""
    for name in (*ADDED, "action_nan", "action_clipped"):
        entry[name] = entry.get(name, 0) + int(counts[name])
    entry["deepest"] = max(entry.get("deepest", -1e30), float(counts["deepest"]))
    entry["steps"] = entry.get("steps", 0) + COPIES * STEPS


def soak(name: str, known: dict[str, Entry], steps: int, seconds: float) -> dict[str, Entry]:
    """The numbers of one environment with those of this run."""
    good, bad = dict(known.get("good", {})), dict(known.get("bad", {}))
    if good.get("steps", 0) >= steps and bad:
        return known
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
        bad["refuses"] = play.refuses_other_shapes()
    return {"good": good, "bad": bad}


def main() -> None:
    parser = argparse.ArgumentParser(description="Random play of every environment.")
    parser.add_argument("--names", default=",".join(TASKS), help="of environments, by commas")
    parser.add_argument("--steps", type=int, default=850_000, help="of each environment")
    parser.add_argument("--seconds", type=float, default=1e9, help="at most, for each environment")
    asked = parser.parse_args()
    file = HERE / "results.json"
    results = json.loads(file.read_text()) if file.exists() else {}
    for name in asked.names.split(","):
        results[name] = soak(name, results.get(name, {}), asked.steps, asked.seconds)
        ordered = {known: results[known] for known in TASKS if known in results}
        file.write_text(json.dumps(ordered, indent=1) + "\n")
        written(HERE / "README.md", ordered)
        print(name, json.dumps(results[name]["good"]), flush=True)


if __name__ == "__main__":
    main()
