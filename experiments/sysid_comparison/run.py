"""Identify ten parameters of an arm of seven axes by jaxccp and by mujoco.sysid.

    python -m experiments.sysid_comparison.run [--count 100] [--only NAME …]

100 motions of 1.5 s, sampled every 10 ms with noise, come from MuJoCo's simulation in steps of
0.1 ms; fits start with every parameter 15 to 25 % off. Complete fits, with compilation and without
a compilation cache, run on two cores, single iterations afterwards on one. Each fit is a separate
process. Writes results.csv, results.md and comparison.png; rows that are not run are kept. Where
``mujoco.sysid`` cannot be imported (``pip install 'jaxccp[sysid]'``) its rows are left out. Seeds
are fixed. Float64.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np

from experiments.sysid_comparison.available import has_mujoco_sysid
from experiments.sysid_comparison.report import write
from experiments.sysid_comparison.task import FOLDER, QUANTITIES, SAMPLES, record, rough

FITS = {
    "jaxccp, 10 ms": ("ours", 0.01, "measured"),
    "jaxccp, 5 ms": ("ours", 0.005, "measured"),
    "jaxccp, 5 ms, starts unknown": ("ours", 0.005, "unknown"),
    "mujoco.sysid, RK4 10 ms": ("peer", 0.01, "RK4"),
    "mujoco.sysid, RK4 5 ms": ("peer", 0.005, "RK4"),
    "mujoco.sysid, RK4 2 ms": ("peer", 0.002, "RK4"),
    "mujoco.sysid, implicitfast 1 ms": ("peer", 0.001, "IMPLICITFAST"),
}
"""Library, step length [s], and kind of initial states or integrator of each fit."""
REPEATS = 2
"""Number of timed iterations, of which the fastest counts."""
TABLE = FOLDER / "results.csv"


def main() -> None:
    """Run the fits that the command line names and write the results."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=100, help="recordings")
    parser.add_argument("--only", nargs="*", default=list(FITS), help="fits to run")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        print(json.dumps(measured(options.worker, options.count)))
        return
    rows = {}
    if TABLE.exists():
        with TABLE.open() as file:
            rows = {row["fit"]: row for row in csv.DictReader(file)}
    for name in options.only:
        if FITS[name][0] == "peer" and not has_mujoco_sysid():
            print(f"{name} is left out: mujoco.sysid needs pip install 'jaxccp[sysid]'")
            continue
        command = [sys.executable, "-m", "experiments.sysid_comparison.run", "--worker", name]
        done = subprocess.run(
            [*command, "--count", str(options.count)], check=True, capture_output=True, text=True
        )
        rows[name] = {"fit": name, **json.loads(done.stdout.splitlines()[-1])}
        print(name, {key: value for key, value in rows[name].items() if "second" in key})
        kept = [rows[fit] for fit in FITS if fit in rows]
        with TABLE.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(kept[0]))
            writer.writeheader()
            writer.writerows(kept)
    with TABLE.open() as file:
        table = list(csv.DictReader(file))
    write(table, [fit for fit in FITS if fit not in {row["fit"] for row in table}])


def measured(name: str, count: int) -> dict[str, float]:
    """Return times, evaluations and identified values of one fit.

    Args:
        name: name of the fit.
        count: number of recordings.
    """
    library, h, option = FITS[name]
    data, (truth, initial) = record(count, seed=0), rough(seed=1)
    _bind(2)
    begin = time.perf_counter(), time.process_time()
    if library == "ours":
        import jax

        jax.config.update("jax_enable_x64", True)
        jax.config.update("jax_enable_compilation_cache", False)
        from experiments.sysid_comparison.ours import Ours

        task = Ours(data, initial, h, option)
    else:
        from experiments.sysid_comparison.peer import peer

        task = peer(data, initial, h, option, threads=2)
    values, half = task.fit()
    fit_time = time.perf_counter() - begin[0], time.process_time() - begin[1]
    _bind(1)
    iteration = min((_timed(task.iteration) for _ in range(REPEATS)), key=lambda pair: pair[1])
    out = {
        "recordings": count,
        "samples": SAMPLES,
        "fit_seconds": round(fit_time[0], 1),
        "fit_cpu_seconds": round(fit_time[1], 1),
        "iteration_seconds": round(iteration[0], 2),
        "iteration_cpu_seconds": round(iteration[1], 2),
        "evaluations": task.evaluations,
        "load": round(os.getloadavg()[0], 1),
    }
    for k, quantity in enumerate(QUANTITIES):
        out[f"{quantity.name} error"] = float(f"{values[k] / truth[k] - 1.0:.3g}")
        out[f"{quantity.name} interval"] = float(f"{half[k] / truth[k]:.3g}")
    return out


def _timed(function: Callable[[], None]) -> tuple[float, float]:
    """Return wall-clock time and processor time of a call [s]."""
    begin = time.perf_counter(), time.process_time()
    function()
    return time.perf_counter() - begin[0], time.process_time() - begin[1]


def _bind(cores: int) -> None:
    """Restrict this process, with its present and future threads, to a number of cores."""
    if hasattr(os, "sched_setaffinity"):
        allowed = sorted(os.sched_getaffinity(0))[:cores]
        for thread in os.listdir("/proc/self/task"):
            os.sched_setaffinity(int(thread), allowed)


if __name__ == "__main__":
    np.set_printoptions(precision=4)
    main()
