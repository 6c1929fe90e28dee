"""Measure steps per second of jaxccp, MuJoCo and MJX on the same machine in the same run.

    python -m experiments.throughput.run [--scenes ant,tower --batches 1,64,1024 --out FOLDER]

On one core, or as many as ``JAX_NUM_CPU_DEVICES`` names, each a device of JAX; MJX takes one of
them. Needs gymnasium (for its models), mujoco and mujoco-mjx. Writes results.md to this folder, or
results_2_cores.md for two cores, and the remarks of notes.md or notes_2_cores.md at its end, where
there are any. The page of some scenes or batches alone would replace that of all: it needs
``--out``. Run it on an otherwise idle machine: figures are the best of several.
"""

import argparse
import importlib
import importlib.metadata
import os
import platform
import shlex
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ["JAX_NUM_CPU_DEVICES"] = os.environ.get("JAX_NUM_CPU_DEVICES", "1")
if hasattr(os, "sched_setaffinity"):
    cores = sorted(os.sched_getaffinity(0))[-int(os.environ["JAX_NUM_CPU_DEVICES"]) :]
    os.sched_setaffinity(0, cores)

import jax
import jax.numpy as jnp
import numpy as np

from experiments.throughput.scenes import ROBOTS, scene
from jaxccp import EulerImplicitLinearized, Stop, fit_capacity, load, rollout_batch
from jaxccp.execution.devices import put_on_devices

mujoco: Any = importlib.import_module("mujoco")  # its names come from a binary
mjx: Any = importlib.import_module("mujoco.mjx")

CORES = int(os.environ["JAX_NUM_CPU_DEVICES"])
SEED = 0
NOISE = 0.1
"""Standard deviation of initial coordinates and velocities [m, rad, m/s, rad/s]."""
WARM = 200
"""Number of steps of a call of a program; the robots fall in the first call, which is not timed."""
SECONDS = 2.0
"""Approximate time of a timed run [s]."""
REPEATS = 5
TOLERANCE = 1e-4
"""Residual at which the iterations of a step stop [m/s]."""
NEWTON_STEPS = 4
"""Number of iterations of MJX's solver, which are not enough for some robots (robots.md)."""
LINE_SEARCH = 10
"""Largest number of steps of MJX's line search."""
SCENES, BATCHES = "ant,humanoid,stack,tower,spheres27,spheres125,spheres512", "1,64,1024"
FOLDER = Path(__file__).resolve().parent


@dataclass(frozen=True)
class Row:
    """The measurements of one engine with one scene and batch size."""

    engine: str
    batch: int
    speed: float
    """Steps of all copies per second [steps/s]."""
    compile: float | None = None
    """CPU time of compilation [s]."""
    fusions: int | None = None
    iterations: str = "–"
    """Mean number of iterations of all copies; that of the slowest copy of each step."""
    unsolved: float | None = None
    """Share of unsolved steps."""
    penetration: float | None = None
    """Largest penetration of the first copy at the end [m]."""


def peer(path: Path) -> Any:
    """Return MuJoCo's model, with one evaluation of the dynamics per step as jaxccp has.

    The robots' files ask for four, by RK4.
    """
    model = mujoco.MjModel.from_xml_path(str(path))
    model.opt.integrator = mujoco.mjtIntegrator.mjINT_EULER
    return model


def starts(model: Any, batch: int) -> tuple[np.ndarray, np.ndarray]:
    """Return initial qpos and qvel of every copy: the model's default, with noise if it is a
    robot."""
    random, noise = np.random.default_rng(SEED), NOISE * (model.nu > 0)
    qpos = np.tile(model.qpos0, (batch, 1))
    qpos[:, 7:] += noise * random.standard_normal((batch, model.nq - 7))
    return qpos, noise * random.standard_normal((batch, model.nv))


def controls(model: Any, batch: int, steps: int) -> np.ndarray:
    """Return random controls, uniform within the actuators' limits [batch steps nu].

    Args:
        model: MuJoCo's model.
        batch: number of copies.
        steps: number of steps.
    """
    low, high = model.actuator_ctrlrange.T
    return np.random.default_rng(SEED + 1).uniform(low, high, (batch, steps, model.nu))


def fastest(run: Callable[[int], None], batch: int) -> float:
    """Return steps per second, the best of several runs of about the same time."""
    start = time.perf_counter()
    run(WARM)
    steps = max(1, round(SECONDS / max(time.perf_counter() - start, 1e-3)))
    best = np.inf
    for _ in range(REPEATS):
        start = time.perf_counter()
        for _ in range(steps):
            run(WARM)
        best = min(best, time.perf_counter() - start)
    return batch * WARM * steps / best


def compiled(function: Callable, *args: object) -> tuple[Callable, float, int]:
    """Return a compiled program, the CPU time of tracing and compiling [s], and its number of
    fusions."""
    start = time.process_time()
    program = jax.jit(function).lower(*args).compile()
    spent = time.process_time() - start
    return program, spent, (program.as_text() or "").count(" fusion(")


def jaxccp_row(path: Path, batch: int) -> Row:
    reference = peer(path)
    loaded = load(path, allow_unsupported=True)
    place = jax.jit(jax.vmap(lambda q, v: loaded.layout.state(loaded.model, loaded.state, q, v)))
    state = place(*(jnp.asarray(x, float) for x in starts(reference, batch)))
    drive = jnp.asarray(controls(reference, batch, WARM), float)
    command = jax.vmap(jax.vmap(loaded.layout.control))(drive)
    stepper = EulerImplicitLinearized(loaded.timestep, stop=Stop(TOLERANCE, max_iterations=200))
    fitted = fit_capacity(loaded.model, state, stepper, WARM, None, command)

    def many(state, command):
        return rollout_batch(fitted, state, stepper, WARM, None, command)

    (state, command), _ = put_on_devices((state, command), None, batch)
    program, spent, fusions = compiled(many, state, command)
    end, path_ = jax.block_until_ready(program(state, command))
    latest = [end]

    def run(_: int) -> None:
        start = put_on_devices(latest[0], None, batch)[0]
        latest[0], _path = jax.block_until_ready(program(start, command))

    speed = fastest(run, batch)
    solver = path_.report.solver
    count = np.asarray(solver.iterations)
    first = jax.tree.map(lambda leaf: leaf[0], latest[0])
    assert np.isfinite(first.position).all()
    qpos, _ = loaded.layout.coordinates(fitted, first)
    return Row(
        f"jaxccp, room for {fitted.topology.max_contacts} contacts",
        batch,
        speed,
        spent,
        fusions,
        f"{count.mean():.1f}; {count.max(axis=0).mean():.1f}",
        float(np.mean(np.asarray(solver.status) != 0)),
        penetration(reference, np.asarray(qpos)),
    )


def mjx_row(path: Path, batch: int) -> Row:
    """Measure MJX with a batch of copies, on one device, and return its row."""
    reference = peer(path)
    reference.opt.solver = mujoco.mjtSolver.mjSOL_NEWTON
    reference.opt.iterations, reference.opt.ls_iterations = NEWTON_STEPS, LINE_SEARCH
    model = mjx.put_model(reference)
    qpos, qvel = (jnp.asarray(x, jnp.float32) for x in starts(reference, batch))
    blank = mjx.make_data(model)
    state = jax.vmap(lambda q, v: blank.replace(qpos=q, qvel=v))(qpos, qvel)
    drive = jnp.asarray(controls(reference, batch, WARM), jnp.float32)

    def many(state, drive):
        def one(state, drive):
            def step(data, control):
                return mjx.step(model, data.replace(ctrl=control)), None

            return jax.lax.scan(step, state, drive)[0]

        return jax.vmap(one)(state, drive)

    program, spent, fusions = compiled(many, state, drive)
    latest = [jax.block_until_ready(program(state, drive))]

    def run(_: int) -> None:
        latest[0] = jax.block_until_ready(program(latest[0], drive))

    return Row(f"MJX, {NEWTON_STEPS} Newton steps", batch, fastest(run, batch), spent, fusions)


def native(path: Path, solver: str) -> Row:
    """Measure MuJoCo C with a single copy and one of its solvers, and return its row."""
    model = peer(path)
    model.opt.solver = getattr(mujoco.mjtSolver, f"mjSOL_{solver.upper()}")
    data = mujoco.MjData(model)
    qpos, qvel = starts(model, 1)
    data.qpos, data.qvel = qpos[0], qvel[0]
    drive = controls(model, 1, WARM)[0]

    def run(steps: int) -> None:
        for k in range(steps):
            data.ctrl = drive[k]
            mujoco.mj_step(model, data)

    speed = fastest(run, 1)
    return Row(f"MuJoCo C, {solver}", 1, speed, penetration=penetration(model, data.qpos))


def penetration(model: Any, qpos: np.ndarray) -> float:
    """Return the largest penetration according to MuJoCo [m]."""
    data = mujoco.MjData(model)
    data.qpos = qpos
    mujoco.mj_forward(model, data)
    return max(0.0, -min(data.contact.dist, default=0.0))


def table(rows: list[Row]) -> str:
    lines = [
        "| engine | copies | steps/s | compile, CPU [s] | fusions | iterations | not solved | "
        "penetration [mm] |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        spent = "–" if row.compile is None else f"{row.compile:.1f}"
        fusions = "–" if row.fusions is None else str(row.fusions)
        unsolved = "–" if row.unsolved is None else f"{100 * row.unsolved:.2f} %"
        deep = "–" if row.penetration is None else f"{1e3 * row.penetration:.3f}"
        lines.append(
            f"| {row.engine} | {row.batch} | {row.speed:,.0f} | {spent} | {fusions} | "
            f"{row.iterations} | {unsolved} | {deep} |"
        )
    return "\n".join(lines)


def measured(name: str, path: Path, batches: str) -> list[Row]:
    """Measure one scene and return the rows of all engines.

    MJX is measured with all batches of robots, and with a single copy of the other scenes, unless
    they are too large for it.

    Args:
        name: name of the scene.
        path: path of its file.
        batches: comma-separated batch sizes of robots.
    """
    robot, large = name in ROBOTS, name in ("spheres125", "spheres512")
    rows = []
    for batch in map(int, batches.split(",") if robot else ("1", "64")[: 1 if large else 2]):
        rows.append(jaxccp_row(path, batch))
        if robot or (batch == 1 and not large):
            rows.append(mjx_row(path, batch))
    rows += [native(path, solver) for solver in ("Newton", "CG")]
    print(f"{name}\n{table(rows)}", flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scenes", default=SCENES)
    parser.add_argument("--batches", default=BATCHES, help="of the robots; others: 1,64")
    parser.add_argument("--out", type=Path, help="where the page goes; needed for a part of it")
    options = parser.parse_args()
    if options.out is None and (options.scenes, options.batches) != (SCENES, BATCHES):
        parser.error("a part of the scenes or batches needs --out FOLDER: the page here has all")
    out = options.out or FOLDER
    out.mkdir(parents=True, exist_ok=True)
    versions = {p: importlib.metadata.version(p) for p in ("jax", "mujoco", "mujoco-mjx")}
    command = f"JAX_NUM_CPU_DEVICES={CORES} " * (CORES > 1)
    command += shlex.join(["python", "-m", "experiments.throughput.run", *sys.argv[1:]])
    text = (FOLDER / "results.template.md").read_text().replace("COMMAND", command)
    text += (
        f"\n{platform.machine()}, {CORES} core{'s' * (CORES > 1)}; "
        + ", ".join(map(" ".join, versions.items()))
        + "\n"
    )
    with tempfile.TemporaryDirectory() as folder:
        for name in options.scenes.split(","):
            rows = measured(name, scene(name, Path(folder)), options.batches)
            text += f"\n## {name.capitalize()}\n\n{table(rows)}\n"
    ending = ".md" if CORES == 1 else f"_{CORES}_cores.md"
    notes = out / f"notes{ending}"
    text += f"\n{notes.read_text()}" if notes.exists() else ""
    (out / f"results{ending}").write_text(text)


if __name__ == "__main__":
    main()
