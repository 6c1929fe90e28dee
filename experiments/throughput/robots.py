"""Measure steps per second of robots that people train, with MJX and MuJoCo on the same core.

    python -m experiments.throughput.robots [ROBOT …] [--copies 1,64,1024]

The robots are brax's and MuJoCo Playground's, of which few shapes collide, mostly feet. All engines
take turns, on one core, in single precision; times are CPU times. Many copies are also stepped in
chunks (:func:`jaxccp.chunked_vmap`), by both engines. Results are kept in robots.json by version
of jax, so that a run under another version is set beside them in robots.md. It needs mujoco-mjx,
and for the files ``pip install --no-deps brax playground``.
"""

import argparse
import importlib
import importlib.metadata
import itertools
import json
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "")
    + " --xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import jax
import jax.numpy as jnp
import numpy as np

from experiments.throughput.trained import ROBOTS, Copies, controls, reference, starts, written
from jaxccp import Stop, chunked_vmap
from jaxccp.execution.devices import CPU_CHUNK

mujoco: Any = importlib.import_module("mujoco")  # its names come from a binary
mjx: Any = importlib.import_module("mujoco.mjx")

STEPS = 200
"""Number of steps before the first measurement, in which the robots fall to the ground; random
controls repeat after this number of steps."""
STEPS_OF_MANY = 20
"""Number of steps of a run with more than :data:`MANY` copies; it is :data:`STEPS` otherwise."""
MANY = 64
"""Largest number of copies that take :data:`STEPS` steps in a run."""
SECONDS = 0.7
"""Shortest CPU time of a measurement [s]."""
ROUNDS = 7
"""Number of measurements of each engine, in turn with the others."""
TOLERANCES = {"jaxccp": 1e-4, "jaxccp to 1e-2": 1e-2}
"""Residuals at which the iterations of a step stop [m/s], by name of the engine."""
EFFORTS = {"MJX 4 × 10": (4, 10), "MJX 8 × 20": (8, 20)}
"""Iterations and steps of line search of MJX, by name of the engine: with the first most copies of
a batch nearly converge, with the second nearly all do."""
ACCURATE = 1e-3
"""Error below which MJX counts as converged, or else below ours [m/s, rad/s]."""
EXACT = 1e-7, 2000
"""Tolerance [m/s] and iterations of the reference step of jaxccp."""
STATES = 64
"""Smallest number of states whose next step is compared with the reference: those of all copies, at
successive steps."""
CHUNKS = " in chunks"
"""Suffix of the name of an engine whose copies are stepped in chunks."""
RESULTS = Path(__file__).resolve().parent / "robots.json"
VERSION = importlib.metadata.version("jax")


@dataclass(frozen=True)
class Row:
    """The measurements of one engine with one robot and number of copies."""

    jax: str
    robot: str
    copies: int
    engine: str
    speed: float
    """Median of the measurements [steps/s]."""
    least: float
    most: float
    compile: float | None
    """CPU time to trace and compile [s]."""
    error: float | None
    """Root mean square over :data:`STATES` of the largest difference between the velocities after a
    step and those after a step with many more iterations [m/s, rad/s]."""


class Engine:
    """A compiled rollout of all copies, which continues from its last state."""

    def __init__(self, step: Callable[[Any, jax.Array], Any], state: Any, drive: jax.Array) -> None:
        """Compile a rollout and run it for :data:`STEPS` steps.

        Args:
            step: function of a state of all copies and their controls that returns the next state.
            state: initial state of all copies.
            drive: controls of all steps and copies.
        """

        def many(state: Any, drive: jax.Array, count: jax.Array) -> Any:
            return jax.lax.fori_loop(0, count, lambda k, state: step(state, drive[k]), state)

        start = time.process_time()
        self.steps = STEPS if len(drive[0]) <= MANY else STEPS_OF_MANY
        self.drives = itertools.cycle(drive.reshape(-1, self.steps, *drive.shape[1:]))
        first = next(self.drives)
        self.program = jax.jit(many).lower(state, first, jnp.int32(1)).compile()
        self.compile: float | None = time.process_time() - start
        self.state = state
        for _ in range(0, STEPS, self.steps):
            self.run()

    def run(self) -> None:
        """Advance all copies by :attr:`steps`."""
        count = jnp.int32(self.steps)
        self.state = jax.block_until_ready(self.program(self.state, next(self.drives), count))

    def error(self, exact: Callable, rates: Callable[[Any], jax.Array]) -> float:
        """Return the error of velocities after a step.

        It is the root mean square over :data:`STATES` of the largest error of a copy.

        Args:
            exact: function of a state of all copies and their controls that returns the reference
                state.
            rates: function that returns the velocities of a state of all copies.
        """
        drive, state, largest = next(self.drives), self.state, []
        for k in range(-(-STATES // len(drive[0]))):
            best = rates(exact(state, drive[k]))
            state = self.program(state, jnp.roll(drive, -k, axis=0), jnp.int32(1))
            largest.append(np.max(np.abs(np.asarray(rates(state)) - np.asarray(best)), axis=1))
        return float(np.sqrt(np.mean(np.square(largest))))


class Native:
    """MuJoCo C with a single copy."""

    compile = None

    def __init__(self, model: Any) -> None:
        self.model, self.data = model, mujoco.MjData(model)
        qpos, qvel = starts(model, 1)
        self.data.qpos, self.data.qvel = qpos[0], qvel[0]
        self.drive = controls(model, 1, STEPS)[:, 0]
        self.steps = STEPS
        self.run()

    def run(self) -> None:
        """Advance one copy by :data:`STEPS`."""
        for control in self.drive:
            self.data.ctrl = control
            mujoco.mj_step(self.model, self.data)


def mappings(copies: int) -> dict[str, Callable]:
    """Return the mappings over copies, by suffix of the engine's name."""
    return {"": jax.vmap, **({CHUNKS: chunked_vmap} if copies > CPU_CHUNK else {})}


def jaxccp_engines(path: Path, copies: int) -> dict[str, tuple[Engine, float]]:
    """Return jaxccp's rollouts and their errors, by name of the engine."""
    exact = Copies(path, copies, 1, Stop(EXACT[0], max_iterations=EXACT[1]))
    rates = jax.jit(jax.vmap(lambda s: exact.layout.coordinates(exact.model, s)[1]))
    exactly, engines = jax.jit(exact.advance), {}
    for name, tolerance in TOLERANCES.items():
        robots = Copies(path, copies, STEPS, Stop(tolerance, max_iterations=200))
        for how, mapping in mappings(copies).items():
            engine = Engine(partial(robots.advance, mapping=mapping), robots.carry, robots.drive)
            error = engine.error(exactly, lambda carry: rates(carry.state))
            engines[name + how] = engine, error
    return engines


def mjx_engines(
    path: Path, copies: int, efforts: dict[str, tuple[int, int]]
) -> dict[str, tuple[Engine, float]]:
    """Return MJX's rollouts and their errors, by name of the engine.

    Args:
        path: path of the robot's file.
        copies: number of copies.
        efforts: iterations and steps of line search, by name of the engine.
    """
    model = reference(path)

    def put(effort: tuple[int, int]) -> Any:
        model.opt.iterations, model.opt.ls_iterations = effort
        return mjx.put_model(model)

    def step(put: Any, data: Any, control: jax.Array, mapping: Callable = jax.vmap) -> Any:
        return mapping(lambda d, u: mjx.step(put, d.replace(ctrl=u)))(data, control)

    exactly, engines = jax.jit(partial(step, put((50, 50)))), {}
    qpos, qvel = (jnp.asarray(x, jnp.float32) for x in starts(model, copies))
    drive = jnp.asarray(controls(model, copies, STEPS), jnp.float32)
    for name, effort in efforts.items():
        of = put(effort)
        blank = mjx.make_data(of)
        data = jax.vmap(lambda q, v, blank=blank: blank.replace(qpos=q, qvel=v))(qpos, qvel)
        for how, mapping in mappings(copies).items():
            engine = Engine(partial(step, of, mapping=mapping), data, drive)
            engines[name + how] = engine, engine.error(exactly, lambda data: data.qvel)
    return engines


def measured(name: str, path: Path, copies: int) -> list[Row]:
    """Return a row for every engine.

    Args:
        name: name of the robot.
        path: path of its file.
        copies: number of copies.
    """
    trained = ROBOTS[name].iterations, ROBOTS[name].line_search
    engines: dict[str, tuple[Any, float | None]] = {
        **jaxccp_engines(path, copies),
        **mjx_engines(path, copies, {"MJX as in training": trained, **EFFORTS}),
    }
    if copies == 1:
        engines["MuJoCo C"] = Native(reference(path)), None
    speeds: dict[str, list[float]] = {key: [] for key in engines}
    for _ in range(ROUNDS):
        for key, (engine, _) in engines.items():
            start, runs = time.process_time(), 0
            while (spent := time.process_time() - start) < SECONDS or not runs:
                engine.run()
                runs += 1
            speeds[key].append(copies * engine.steps * runs / spent)
    return [
        Row(
            VERSION,
            name,
            copies,
            key,
            float(np.median(speeds[key])),
            min(speeds[key]),
            max(speeds[key]),
            engine.compile,
            error,
        )
        for key, (engine, error) in engines.items()
    ]


def ratios(rows: list[dict]) -> list[str]:
    """Return the table of our speed over MJX's, by robot, number of copies and version of jax.

    Rows without a version compare the best of our versions with the best of MJX's.
    """
    engines = ["MJX as in training", *EFFORTS]
    lines = [
        f"| robot | copies | jax | MJX, converged | {' | '.join(engines)} |",
        "|---" * (4 + len(engines)) + "|",
    ]
    cases = sorted({(row["robot"], row["copies"]) for row in rows})
    for robot, copies in cases:
        of = [row for row in rows if (row["robot"], row["copies"]) == (robot, copies)]
        versions = sorted({row["jax"] for row in of})
        for version in [*versions, *(["best"] if len(versions) > 1 else [])]:
            some = [row for row in of if version in (row["jax"], "best")]
            own = [row for row in some if row["engine"].removesuffix(CHUNKS) == "jaxccp"]
            bound = max(ACCURATE, *(row["error"] for row in own))
            peers = [[r for r in some if r["engine"].startswith("MJX") and r["error"] <= bound]]
            peers += [[r for r in some if r["engine"].removesuffix(CHUNKS) == e] for e in engines]
            fastest = max(row["speed"] for row in own)
            figures = [
                f"{fastest / max(row['speed'] for row in peer):.2f}" if peer else "–"
                for peer in peers
            ]
            lines.append(f"| {robot} | {copies} | {version} | {' | '.join(figures)} |")
    return lines


def page(rows: list[dict]) -> str:
    """Return the page of all results."""
    trained = ", ".join(f"{name} {r.iterations} × {r.line_search}" for name, r in ROBOTS.items())
    lines = [
        "# Steps per second of robots that people train",
        "",
        "`python -m experiments.throughput.robots`. Files of brax and of MuJoCo Playground, of "
        "which few shapes collide, mostly feet; single precision, one core, random controls. "
        f"Medians of {ROUNDS} measurements of CPU time, engines in turn (least to most). The error "
        "is that of the velocities after a step, against a step of the same engine with many more "
        "iterations: the largest of a copy, root mean square over copies, and over steps up to "
        f"{STATES} states [m/s, rad/s]. The iterations of jaxccp stop at a residual of 1e-4 m/s, "
        "or at 1e-2 where the row says so; MJX has so many Newton steps × steps of line search, "
        f"and in training {trained}. Copies are under `vmap`, or in chunks of {CPU_CHUNK} "
        "(`jaxccp.chunked_vmap`) where the row says so.",
        "",
        "The other core was at work at the same time, and other machines that share the processor "
        "can halve all speeds for minutes: engines of one row of copies and version ran in turn "
        "and can be compared, rows that ran at another time need not be. Every case has the "
        "figures of its last run, which may be of an earlier version of this project.",
        "",
        "Our steps per second (to 1e-4 m/s) over those of MJX, of each the faster of `vmap` and "
        "chunks. *MJX, converged* is the fastest of MJX's rows whose error is at most "
        f"{ACCURATE:g} or ours; *best* sets the faster of our versions of jax beside the faster of "
        "MJX's:",
        "",
        *ratios(rows),
    ]
    for name in ROBOTS:
        of = [row for row in rows if row["robot"] == name]
        if not of:
            continue
        lines += ["", f"## {name}", ""]
        lines += ["| copies | jax | engine | steps/s | of ours | error | compile, CPU [s] |"]
        lines += ["|---|---|---|---|---|---|---|"]
        for row in sorted(of, key=lambda r: (r["copies"], r["jax"])):
            case = row["jax"], row["copies"]
            base = next(
                r for r in of if r["engine"] == "jaxccp" and (r["jax"], r["copies"]) == case
            )
            error = "–" if row["error"] is None else f"{row['error']:.1e}"
            if error == "nan":
                error = "diverged"
            spent = "–" if row["compile"] is None else f"{row['compile']:.1f}"
            lines.append(
                f"| {row['copies']} | {row['jax']} | {row['engine']} | {row['speed']:,.0f} "
                f"({row['least']:,.0f}–{row['most']:,.0f}) | {row['speed'] / base['speed']:.2f} "
                f"| {error} | {spent} |"
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure the robots that the command line names, or all."""
    parser = argparse.ArgumentParser(description="Steps per second of robots that people train")
    parser.add_argument("robots", nargs="*", metavar="ROBOT", default=list(ROBOTS))
    parser.add_argument("--copies", default="1,64,1024")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for name in options.robots:
            path = written(name, Path(folder))
            for copies in map(int, options.copies.split(",")):
                new = [asdict(row) for row in measured(name, path, copies)]
                for row in new:
                    print(row, flush=True)
                kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
                case = VERSION, name, copies
                kept = [r for r in kept if (r["jax"], r["robot"], r["copies"]) != case] + new
                RESULTS.write_text(json.dumps(kept, indent=0) + "\n", encoding="utf-8")
                RESULTS.with_suffix(".md").write_text(page(kept), encoding="utf-8")


if __name__ == "__main__":
    main()
