"""Steps per second of the robots that people train, beside MJX and MuJoCo on the same core.

    python -m experiments.throughput.robots [ROBOT …] [--copies 1,64,1024]

The robots are brax's and MuJoCo Playground's, of which only the feet collide. All engines take
turns, on one core, in single precision; the clock is the processor's. Results are kept in
robots.json by version of jax, so that a run under another version is set beside them in robots.md.
It needs mujoco-mjx, and for the files ``pip install --no-deps brax playground``.
"""

import argparse
import importlib
import importlib.metadata
import json
import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
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

from experiments.throughput.trained import ROBOTS, controls, reference, starts, written
from jaxccp import EulerImplicitLinearized, Stop, load

mujoco: Any = importlib.import_module("mujoco")  # its names come from a binary
mjx: Any = importlib.import_module("mujoco.mjx")

STEPS = 200
"""Steps of a run; the robots fall in the first run, which is not measured."""
SECONDS = 0.7
"""CPU time that a measurement takes at least [s]."""
ROUNDS = 7
"""Measurements of each engine, in turn with the others."""
TOLERANCE = 1e-4
"""Residual at which the iterations of a step stop [m/s]."""
CONVERGED = 4, 10
"""Iterations and steps of line search with which MJX's velocities are nearly converged."""
EXACT = 1e-7, 2000
"""Tolerance [m/s] and iterations of the step that ours is compared with."""
RESULTS = Path(__file__).resolve().parent / "robots.json"
VERSION = importlib.metadata.version("jax")


@dataclass(frozen=True)
class Row:
    """What one engine did with one robot in so many copies."""

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
    """Root mean square over copies of the largest difference between the velocities after a step
    and those after a step with many more iterations [m/s, rad/s]."""


class Engine:
    """A compiled rollout of all copies, that goes on from where it ended."""

    def __init__(self, step: Callable[[Any, jax.Array], Any], state: Any, drive: jax.Array) -> None:
        """Compile a rollout and run it once.

        Args:
            step: from a state of all copies and their controls to the next state.
            state: of all copies.
            drive: controls of all steps and copies.
        """

        def many(state: Any, drive: jax.Array) -> Any:
            return jax.lax.scan(lambda s, u: (step(s, u), None), state, drive)[0]

        start = time.process_time()
        self.program = jax.jit(many).lower(state, drive).compile()
        self.compile: float | None = time.process_time() - start
        self.state, self.drive = state, drive
        self.run()

    def run(self) -> None:
        """Advance all copies by :data:`STEPS`."""
        self.state = jax.block_until_ready(self.program(self.state, self.drive))


class Native:
    """MuJoCo C, one copy after the other."""

    compile = None

    def __init__(self, model: Any) -> None:
        self.model, self.data = model, mujoco.MjData(model)
        qpos, qvel = starts(model, 1)
        self.data.qpos, self.data.qvel = qpos[0], qvel[0]
        self.drive = controls(model, 1, STEPS)[:, 0]
        self.run()

    def run(self) -> None:
        """Advance one copy by :data:`STEPS`."""
        for control in self.drive:
            self.data.ctrl = control
            mujoco.mj_step(self.model, self.data)


def ours(path: Path, copies: int) -> tuple[Engine, float]:
    """Return our rollout, and the error of its last step."""
    model, loaded = reference(path), load(path, allow_unsupported=True)
    layout = loaded.layout
    place = jax.vmap(lambda q, v: layout.state(loaded.model, loaded.state, q, v))
    state = jax.jit(place)(*(jnp.asarray(x, jnp.float32) for x in starts(model, copies)))
    drive = jnp.asarray(controls(model, copies, STEPS), jnp.float32)
    drive = jax.jit(jax.vmap(jax.vmap(layout.control)))(drive)

    def stepping(stop: Stop) -> tuple[Any, Callable[[Any, jax.Array], Any]]:
        stepper = EulerImplicitLinearized(loaded.timestep, stop=stop)

        def step(carry: Any, control: jax.Array) -> Any:
            return jax.vmap(lambda c, u: stepper.advance(loaded.model, c, None, u)[0])(
                carry, control
            )

        return stepper, step

    stepper, step = stepping(Stop(TOLERANCE, max_iterations=200))
    carry = jax.jit(jax.vmap(lambda s: stepper.init(loaded.model, s)))(state)
    engine = Engine(step, carry, drive)
    _, exact = stepping(Stop(EXACT[0], max_iterations=EXACT[1]))
    rates = jax.jit(jax.vmap(lambda s: layout.coordinates(loaded.model, s)[1]))
    found, best = (rates(jax.jit(f)(engine.state, drive[0]).state) for f in (step, exact))
    return engine, difference(found, best)


def theirs(path: Path, copies: int, effort: tuple[int, int]) -> tuple[Engine, float]:
    """Return MJX's rollout with so many iterations and steps of line search, and the error of its
    last step."""

    def stepping(effort: tuple[int, int]) -> tuple[Any, Callable[[Any, jax.Array], Any]]:
        model = reference(path)
        model.opt.iterations, model.opt.ls_iterations = effort
        put = mjx.put_model(model)

        def step(data: Any, control: jax.Array) -> Any:
            return jax.vmap(lambda d, u: mjx.step(put, d.replace(ctrl=u)))(data, control)

        return put, step

    put, step = stepping(effort)
    model = reference(path)
    qpos, qvel = (jnp.asarray(x, jnp.float32) for x in starts(model, copies))
    blank = mjx.make_data(put)
    data = jax.vmap(lambda q, v: blank.replace(qpos=q, qvel=v))(qpos, qvel)
    drive = jnp.asarray(controls(model, copies, STEPS), jnp.float32)
    engine = Engine(step, data, drive)
    _, exact = stepping((50, 50))
    found, best = (jax.jit(f)(engine.state, drive[0]).qvel for f in (step, exact))
    return engine, difference(found, best)


def difference(found: jax.Array, best: jax.Array) -> float:
    """Return the root mean square over copies of their largest difference."""
    largest = np.max(np.abs(np.asarray(found) - np.asarray(best)), axis=1)
    return float(np.sqrt(np.mean(largest**2)))


def measured(name: str, path: Path, copies: int) -> list[Row]:
    """Return a row for every engine."""
    trained = ROBOTS[name].iterations, ROBOTS[name].line_search
    engines: dict[str, tuple[Any, float | None]] = {
        "jaxccp": ours(path, copies),
        "MJX as in training": theirs(path, copies, trained),
        "MJX converged": theirs(path, copies, CONVERGED),
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
            speeds[key].append(copies * STEPS * runs / spent)
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


def page(rows: list[dict]) -> str:
    """Return the page of all results."""
    lines = [
        "# Steps per second of robots that people train",
        "",
        "`python -m experiments.throughput.robots`. Files of brax and of MuJoCo Playground, of "
        "which only the feet collide; single precision, one core, random controls. Medians of "
        f"{ROUNDS} measurements of CPU time, engines in turn (least to most). The error is that of "
        "the velocities after a step, against a step with many more iterations: the largest of a "
        "copy, root mean square over copies [m/s, rad/s]. MJX converged has "
        f"{CONVERGED[0]} Newton steps of {CONVERGED[1]} steps of line search.",
        "",
        "The processor was shared with other machines, which halves all speeds for minutes at a "
        "time: engines of one row of copies and version ran in turn and can be compared, rows "
        "that ran at another time cannot.",
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
            own = next(r for r in of if r["engine"] == "jaxccp" and (r["jax"], r["copies"]) == case)
            error = "–" if row["error"] is None else f"{row['error']:.1e}"
            if error == "nan":
                error = "diverged"
            spent = "–" if row["compile"] is None else f"{row['compile']:.1f}"
            lines.append(
                f"| {row['copies']} | {row['jax']} | {row['engine']} | {row['speed']:,.0f} "
                f"({row['least']:,.0f}–{row['most']:,.0f}) | {row['speed'] / own['speed']:.2f} "
                f"| {error} | {spent} |"
            )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure the robots that are named, or all."""
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
