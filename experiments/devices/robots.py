"""Measure steps per second of batches of robots on an accelerator, jaxccp and MJX in one run.

    python experiments/devices/robots.py [--copies 1024,4096,16384,65536] [--models ant,humanoid]

The robots are Brax's ant and humanoid, of which only the feet collide, in float32; their files come
from the brax package or the folder --assets. Programs are compiled several at a time and run one
after the other. Each row is written to robots.csv beside this file (or in the folder --out) at once
and replaces the row of the same program; the table robots.md is made from all rows of the device.
Several processes may work on different robots or numbers of copies: a lock file makes them take
turns on the device. Steps are semi-implicit for both engines, with one evaluation of the dynamics
each. With --device-loops, XLA's loops run on the device without the host.
"""

import argparse
import csv
import fcntl
import importlib
import importlib.metadata
import importlib.util
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + (
    " --xla_gpu_enable_command_buffer=+WHILE,+CONDITIONAL" * ("--device-loops" in sys.argv)
)

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp import EulerImplicitLinearized, Stop, fit_capacity, load
from jaxccp.ccp import Law
from jaxccp.execution import active_copies
from jaxccp.io.mjcf.load import Loaded
from jaxccp.model import Model

mujoco: Any = importlib.import_module("mujoco")  # its names come from a binary
mjx: Any = importlib.import_module("mujoco.mjx")

SEED = 0
NOISE = 0.1
"""Standard deviation of coordinates and rates at the start [m, rad, m/s, rad/s]."""
STEPS = 50
"""Steps of one run of a program."""
LEAD = 4
"""Runs before those that are timed: the robots have fallen by then."""
REPEATS = 3
TOLERANCE = 1e-4
"""Residual at which jaxccp's iterations stop [m/s]."""
CONVERGED = (4, 10)
"""Iterations of MJX's Newton solver and of its line search with which it has converged."""
SLOTS = active_copies.SLOTS
TRIAL = 64
"""Copies in the trial run that determines how many contacts the model needs room for."""
FOLDER = Path(__file__).resolve().parent
LOCK = threading.Lock()
DEVICE_LOCK = Path(tempfile.gettempdir()) / "jaxccp_robots.lock"
"""Lock file, held by the process whose program runs."""


@dataclass
class Row:
    """Measurements of one engine with one robot and one number of copies."""

    device: str
    model: str
    engine: str
    copies: int
    loops: str
    """Where the conditions of loops are evaluated: "host" or "device"."""
    steps_per_second: float = float("nan")
    compile_seconds: float = float("nan")
    iterations: str = ""
    """Mean of all copies; mean of the slowest copy of each step."""
    unsolved_percent: float = float("nan")
    residual_median: float = float("nan")
    """Median of the residuals of all copies and steps [m/s]."""
    residual_worst: float = float("nan")
    """Largest residual of all copies and steps [m/s]."""
    note: str = ""


def asset(name: str, folder: str) -> Path:
    """Return the file of one of Brax's models.

    Raises:
        SystemExit: if ``folder`` is empty and brax is not installed.
    """
    if folder:
        return Path(folder) / f"{name}.xml"
    spec = importlib.util.find_spec("brax")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("brax is not installed; its models are needed: pip install brax")
    return Path(spec.submodule_search_locations[0]) / "envs" / "assets" / f"{name}.xml"


def starts(model: Any, copies: int) -> tuple[jax.Array, jax.Array]:
    """Return random qpos and qvel of every copy, near those of the model."""
    random = np.random.default_rng(SEED)
    qpos = np.tile(model.qpos0, (copies, 1))
    qpos[:, 7:] += NOISE * random.standard_normal((copies, model.nq - 7))
    qvel = NOISE * random.standard_normal((copies, model.nv))
    return jnp.asarray(qpos, jnp.float32), jnp.asarray(qvel, jnp.float32)


def controls(model: Any, copies: int) -> jax.Array:
    """Return random controls within the actuators' limits, shape (steps, copies, nu)."""
    low, high = np.asarray(model.actuator_ctrlrange).T
    random = np.random.default_rng(SEED + 1)
    return jnp.asarray(random.uniform(low, high, (STEPS, copies, model.nu)), jnp.float32)


@cache
def prepared(path: Path) -> tuple[Loaded, Model]:
    """Load a file; return it and its model with room for the contacts that a trial run needs."""
    reference, loaded = mujoco.MjModel.from_xml_path(str(path)), load(path, allow_unsupported=True)
    stepper = EulerImplicitLinearized(loaded.timestep, stop=Stop(TOLERANCE, max_iterations=200))
    place = jax.jit(jax.vmap(lambda q, v: loaded.layout.state(loaded.model, loaded.state, q, v)))
    state = place(*starts(reference, TRIAL))
    command = jax.vmap(jax.vmap(loaded.layout.control))(controls(reference, TRIAL))
    command = jnp.swapaxes(command, 0, 1)
    return loaded, fit_capacity(loaded.model, state, stepper, STEPS, None, command)


def ours(
    path: Path, copies: int, law: Law, tolerance: float, together: bool = False
) -> tuple[Any, tuple]:
    """Return jaxccp's program of STEPS steps, lowered, and its arguments.

    Args:
        path: file of the robot.
        copies: number of copies.
        law: the law of contact.
        tolerance: residual at which iterations stop [m/s].
        together: whether all copies iterate until the slowest has converged.
    """
    reference = mujoco.MjModel.from_xml_path(str(path))
    with LOCK:
        loaded, fitted = prepared(path)
    stop = Stop(tolerance, max_iterations=200)
    stepper = EulerImplicitLinearized(loaded.timestep, law=law, stop=stop)
    place = jax.jit(jax.vmap(lambda q, v: loaded.layout.state(fitted, loaded.state, q, v)))
    drive = controls(reference, copies)

    def many(carry: Any, drive: jax.Array) -> tuple[Any, tuple[jax.Array, ...]]:
        def step(carry: Any, ctrl: jax.Array) -> tuple[Any, tuple[jax.Array, ...]]:
            advance = jax.vmap(lambda c, u: stepper.advance(fitted, c, None, u))
            carry, report = advance(carry, jax.vmap(loaded.layout.control)(ctrl))
            solver = report.solver
            residual = solver.residual_ccp if law == "ccp" else solver.residual_ncp
            return carry, (solver.iterations, solver.status, residual)

        return jax.lax.scan(step, carry, drive)

    carry = jax.jit(jax.vmap(lambda s: stepper.init(fitted, s)))(place(*starts(reference, copies)))
    with LOCK:
        active_copies.SLOTS = copies if together else SLOTS
        lowered = jax.jit(many).lower(carry, drive)
    return lowered, (carry, drive)


def theirs(path: Path, copies: int, iterations: tuple[int, int]) -> tuple[Any, tuple]:
    """Return MJX's program of STEPS steps, lowered, and its arguments.

    Args:
        path: file of the robot.
        copies: number of copies.
        iterations: limits of the solver's iterations and of those of the line search in each.
    """
    reference = mujoco.MjModel.from_xml_path(str(path))
    reference.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    reference.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    # As brax trains them: damping is explicit, so that the inertia is factorised once a step.
    reference.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_EULERDAMP
    reference.opt.iterations, reference.opt.ls_iterations = iterations
    model = mjx.put_model(reference)
    blank = mjx.make_data(model)
    qpos, qvel = starts(reference, copies)
    state = jax.vmap(lambda q, v: blank.replace(qpos=q, qvel=v))(qpos, qvel)

    def many(state: Any, drive: jax.Array) -> tuple[Any, tuple]:
        def step(state: Any, ctrl: jax.Array) -> tuple[Any, None]:
            return jax.vmap(lambda d, u: mjx.step(model, d.replace(ctrl=u)))(state, ctrl), None

        return jax.lax.scan(step, state, drive)[0], ()

    arguments = state, controls(reference, copies)
    return jax.jit(many).lower(*arguments), arguments


def measured(row: Row, program: Callable, arguments: tuple) -> Row:
    """Run a program and return its row with the measurements filled in.

    Args:
        row: the program's labels and compile time; it is changed in place.
        program: compiled function of ``arguments``.
        arguments: initial state and controls.
    """
    carry, drive = arguments
    for _ in range(LEAD):
        carry, shown = program(carry, drive)
    jax.block_until_ready(carry)
    best = np.inf
    for _ in range(REPEATS):
        start = time.perf_counter()
        carry, shown = jax.block_until_ready(program(carry, drive))
        best = min(best, time.perf_counter() - start)
    row.steps_per_second = row.copies * STEPS / best
    if shown:
        count, status, residual = (np.asarray(part) for part in shown)
        row.iterations = f"{count.mean():.1f}; {count.max(axis=1).mean():.1f}"
        row.unsolved_percent = 100 * float(np.mean(status != 0))
        row.residual_median = float(np.median(residual))
        row.residual_worst = float(np.max(residual))
    finite = all(
        np.isfinite(np.asarray(leaf)).all()
        for leaf in jax.tree.leaves(carry)
        if jnp.issubdtype(leaf.dtype, jnp.floating)
    )
    row.note = "" if finite else "some copies not finite"
    return row


def table(rows: list[dict[str, str]]) -> str:
    """Return the rows as Markdown."""
    lines = [
        "| model | copies | engine | loops | steps/s | compile [s] | iterations | unsolved [%] | "
        "residual, median; worst [m/s] | |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in sorted(rows, key=lambda r: (r["model"], int(r["copies"]), r["engine"], r["loops"])):
        residual = f"{float(row['residual_median']):.1e}; {float(row['residual_worst']):.1e}"
        unsolved = f"{float(row['unsolved_percent']):.2f}"
        if row["residual_median"] == "nan":
            residual = unsolved = "–"
        lines.append(
            f"| {row['model']} | {row['copies']} | {row['engine']} | {row['loops']} | "
            f"{float(row['steps_per_second']):,.0f} | {float(row['compile_seconds']):.0f} | "
            f"{row['iterations'] or '–'} | "
            f"{unsolved} | {residual} | {row['note']} |"
        )
    return "\n".join(lines)


def record(out: Path, row: Row, head: str) -> None:
    """Write a row to robots.csv, in place of that of the same program, and write robots.md.

    Args:
        out: folder of the tables.
        row: measurements of a program.
        head: text above the table of robots.md.
    """
    path, new = out / "robots.csv", {name: str(value) for name, value in asdict(row).items()}
    with open(path, newline="") if path.exists() else nullcontext([]) as file:
        rows = list(csv.DictReader(file))
    key = "device", "model", "engine", "copies", "loops"
    rows = [old for old in rows if any(old[name] != new[name] for name in key)] + [new]
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, list(new))
        writer.writeheader()
        writer.writerows(rows)
    shown = [old for old in rows if old["device"] == new["device"]]
    (out / "robots.md").write_text(f"{head}\n\n{table(shown)}\n")


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
    began, device = time.perf_counter(), jax.devices()[0].device_kind
    loops = "device" if options.device_loops else "host"
    jobs: list[tuple[Row, Callable]] = []
    for copies in map(int, options.copies.split(",")):
        for name in options.models.split(","):
            path = asset(name, options.assets)
            engines: dict[str, Callable] = {
                "jaxccp, ccp": lambda p=path, c=copies: ours(p, c, "ccp", TOLERANCE),
                "jaxccp, ccp, together": lambda p=path, c=copies: ours(
                    p, c, "ccp", TOLERANCE, True
                ),
                "MJX, 4 × 10": lambda p=path, c=copies: theirs(p, c, CONVERGED),
                "MJX, 1 × 4": lambda p=path, c=copies: theirs(p, c, (1, 4)),
                "jaxccp, ncp": lambda p=path, c=copies: ours(p, c, "ncp", TOLERANCE),
                "jaxccp, no iterations": lambda p=path, c=copies: ours(p, c, "ccp", 1e9),
            }
            engine_names = options.engines.split(";")
            jobs += [
                (Row(device, name, engine, copies, loops), make)
                for engine, make in engines.items()
                if not options.engines or engine in engine_names
            ]
    versions = ", ".join(
        f"{p} {importlib.metadata.version(p)}" for p in ("jax", "mujoco", "mujoco-mjx")
    )
    print(device, versions, f"{len(jobs)} programs", flush=True)

    def compiled(job: tuple[Row, Callable]) -> tuple[Row, Callable | None, tuple]:
        row, make = job
        if time.perf_counter() - began > options.seconds:
            return row, None, ()
        start = time.perf_counter()
        lowered, arguments = make()
        program = lowered.compile()
        row.compile_seconds = time.perf_counter() - start
        return row, program, arguments

    out, device_lock = Path(options.out), DEVICE_LOCK.open("w")
    with ThreadPoolExecutor(options.threads) as pool:
        waiting = [pool.submit(compiled, job) for job in jobs]
        for place, job in enumerate(waiting):
            row = jobs[place][0]
            try:
                row, program, arguments = job.result()
                waiting[place] = None  # type: ignore[call-overload]
                if program is None:
                    continue
                fcntl.flock(device_lock, fcntl.LOCK_EX)
                row = measured(row, program, arguments)
            except Exception as error:  # a program that fails says so in its row
                row.note = f"{type(error).__name__}: {str(error)[:80]}"
            del job
            # The table has its turn too, also after a program that failed before it had one.
            fcntl.flock(device_lock, fcntl.LOCK_EX)
            print(f"{time.perf_counter() - began:6.0f} s", row, flush=True)
            record(
                out,
                row,
                f"# Robots on {device}\n\n`python experiments/devices/robots.py` · "
                f"{versions} · {STEPS} steps a program after {LEAD * STEPS}, best of {REPEATS}; "
                "compilation by the clock, several programs at a time",
            )
            fcntl.flock(device_lock, fcntl.LOCK_UN)


if __name__ == "__main__":
    main()
