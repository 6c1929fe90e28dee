"""Measure steps per second of batches of robots on an accelerator: jaxccp, MJX and MJWarp.

    python -m experiments.devices.robots [--copies 1024,4096,16384,65536] [--models ant,humanoid]

The robots are Brax's ant and humanoid, of which only the feet collide, in float32; their files come
from the brax package or the folder --assets. Programs are compiled several at a time and run one
after the other. Each row is written to robots.csv beside this file (or in the folder --out) at once
and replaces the row of the same program; the table robots.md is made from all rows of the device.
Several processes may work on different robots or numbers of copies: a lock file makes them take
turns on the device. Steps are semi-implicit for all engines, with one evaluation of the dynamics
each. MJWarp takes part where mujoco-warp is installed. With --device-loops, XLA's loops run on the
device without the host. Without, one more run of each of XLA's programs is traced for the share of
time in which the device waits; of loops on the device a trace has the first round alone
(https://github.com/pytorch/kineto/issues/1062).
"""

import argparse
import fcntl
import importlib.metadata
import os
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + (
    " --xla_gpu_enable_command_buffer=+WHILE,+CONDITIONAL" * ("--device-loops" in sys.argv)
)

import jax

from experiments.devices.engines import mjwarp, mjx, ours
from experiments.devices.engines.compiled import Compiled
from experiments.devices.engines.setting import STEPS, Program, asset
from experiments.devices.robots_table import Row, record
from experiments.devices.waiting import waiting_percent
from experiments.throughput.traces import traced

LEAD = 4
"""Runs before those that are timed: the robots have fallen by then."""
REPEATS = 3
MANY = (4, 10)
"""Iterations of MuJoCo's Newton solver and of its line search. With some robots they are not enough
to converge (../throughput/robots.md); errors are not measured here."""
TRAINING = (1, 4)
"""The same as trainers have them."""
ENGINES: dict[str, Callable[[Path, int], Program]] = {
    "jaxccp, ccp": partial(ours.program, law="ccp"),
    "jaxccp, ccp, together": partial(ours.program, law="ccp", together=True),
    "MJX, 4 × 10": partial(mjx.program, iterations=MANY),
    "MJX, 1 × 4": partial(mjx.program, iterations=TRAINING),
    "MJWarp, 4 × 10": partial(mjwarp.MJWarp, iterations=MANY),
    "MJWarp, 1 × 4": partial(mjwarp.MJWarp, iterations=TRAINING),
    "jaxccp, ncp": partial(ours.program, law="ncp"),
    "jaxccp, no iterations": partial(ours.program, law="ccp", tolerance=1e9),
}
"""Programs by name, each made from a robot's file and a number of copies."""
FOLDER = Path(__file__).resolve().parent
DEVICE_LOCK = Path(tempfile.gettempdir()) / "jaxccp_robots.lock"
"""Lock file, held by the process whose program runs."""


def measured(row: Row, program: Program) -> Row:
    """Run a program and return its row with the measurements filled in.

    Args:
        row: the program's labels.
        program: the program, which goes on from the state that it has.
    """
    for _ in range(LEAD):
        program.run()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        program.run()
        times.append(time.perf_counter() - start)
    return replace(
        row,
        steps_per_second=row.copies * STEPS / min(times),
        compile_seconds=program.compile_seconds,
        **program.facts(),
    )


def jobs(options: argparse.Namespace) -> Iterator[tuple[Row, Callable[[], Program]]]:
    """Yield the labels of each program and the function that makes it."""
    device, chosen = jax.devices()[0], options.engines.split(";")
    for copies in map(int, options.copies.split(",")):
        for name in options.models.split(","):
            path = asset(name, options.assets)
            for engine, make in ENGINES.items():
                own = engine.startswith("MJWarp") and device.platform == "gpu"
                loops = "device" if options.device_loops or own else "host"
                if not options.engines or engine in chosen:
                    row = Row(device.device_kind, name, engine, copies, loops)
                    yield row, partial(make, path, copies)


def versions() -> str:
    """Return the versions of the packages that are installed."""
    known = []
    for package in ("jax", "mujoco", "mujoco-mjx", "mujoco-warp", "warp-lang"):
        try:
            known.append(f"{package} {importlib.metadata.version(package)}")
        except importlib.metadata.PackageNotFoundError:
            continue
    return ", ".join(known)


def main() -> None:
    """Compile all programs, run them one by one and write their measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", default="ant,humanoid")
    parser.add_argument("--copies", default="4096,65536,1024,16384")
    parser.add_argument("--assets", default="")
    parser.add_argument("--out", default=str(FOLDER))
    parser.add_argument("--device-loops", action="store_true", help="loops without the host")
    parser.add_argument("--engines", default="", help="names, separated by semicolons")
    parser.add_argument("--threads", type=int, default=6, help="programs compiled at a time")
    parser.add_argument("--seconds", type=float, default=1e9, help="no new program after that")
    options = parser.parse_args()
    began, device, work = time.perf_counter(), jax.devices()[0].device_kind, list(jobs(options))
    print(device, versions(), f"{len(work)} programs", flush=True)

    def compiled(make: Callable[[], Program]) -> Program | None:
        return make() if time.perf_counter() - began <= options.seconds else None

    head = (
        f"# Robots on {device}\n\n`python -m experiments.devices.robots` · {versions()} · "
        f"{STEPS} steps a program after {LEAD * STEPS}, best of {REPEATS}; compilation by the "
        "clock, several programs at a time"
    )
    device_lock = DEVICE_LOCK.open("w")
    with ThreadPoolExecutor(options.threads) as pool:
        # Programs are let go of once they have run, since they hold the device's memory.
        waiting = deque(pool.submit(compiled, make) for _, make in work)
        for row, _ in work:
            try:
                program = waiting.popleft().result()
                if program is None:
                    continue
                fcntl.flock(device_lock, fcntl.LOCK_EX)
                row = measured(row, program)
                if isinstance(program, Compiled) and row.loops == "host":
                    row.waiting_percent = waiting_percent(traced(program.run))
            except ModuleNotFoundError as error:
                row = replace(row, note=str(error))
            except Exception as error:  # a program that fails says so in its row
                row = replace(row, note=f"{type(error).__name__}: {str(error)[:80]}")
            # The table has its turn too, also after a program that failed before it had one.
            fcntl.flock(device_lock, fcntl.LOCK_EX)
            print(f"{time.perf_counter() - began:6.0f} s", row, flush=True)
            record(Path(options.out), row, head)
            fcntl.flock(device_lock, fcntl.LOCK_UN)


if __name__ == "__main__":
    main()
