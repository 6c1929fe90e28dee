"""Measure penetration, drift and cost of ten boxes with a heavy one on top over two seconds.

    python experiments/stack/run.py

Writes results.md and results.png to this folder, with MuJoCo on the aligned stack if it is
installed. Nine boxes of 1 kg and a top of 1, 100 or 1000 kg, exactly aligned or askew (random
offsets and yaws, so that faces overlap in octagons and half of the contacts are redundant). Time is
the fastest of three rollouts, after compilation. The solver is APGD.
"""

import importlib.util
import time
from dataclasses import replace
from itertools import product
from pathlib import Path

import jax
import matplotlib
import numpy as np
from mujoco_baseline import STEP, sags

from jaxccp import Box, EulerImplicitLinearized, Material, Model, ModelBuilder, Plane, State, Stop
from jaxccp.ccp import Law
from jaxccp.dynamics import Trajectory, rollout

matplotlib.use("Agg")
jax.config.update("jax_enable_x64", True)

SEED = 3
COUNT = 10
SIDE = 0.1
FRICTION = 0.5
OFFSET, YAW = 0.003, 0.05
"""Largest offset [m] and yaw [rad] of a box of the askew stack."""
H = 5e-3
STEPS = 400
RATIOS = (1, 100, 1000)
LAWS: tuple[Law, ...] = ("ccp", "ncp")
TOLERANCES = {"aligned": 1e-8, "askew": 1e-6}
"""Tolerances of the solver [m/s]; multiplied by two seconds they bound the drift."""
SOLVER = "apgd"
"""Solver of the steps; left to itself a stepper takes ``gradient-newton`` for ten boxes."""
MAX_ITERATIONS = 20_000
REPETITIONS = 3
TARGET = 1e-5
"""Penetration and drift that this project aims at [m]."""
FOLDER = Path(__file__).resolve().parent


def scene(askew: bool) -> tuple[Model, State]:
    """Build a stack of cubes of 1 kg, each touching the next."""
    random = np.random.default_rng(SEED)
    material = Material(friction=FRICTION)
    builder = ModelBuilder(margin=0.01)
    builder.add_shape(0, Plane(), material=material)
    for i in range(COUNT):
        x, y, yaw = askew * random.uniform(-1, 1, 3) * [OFFSET, OFFSET, YAW]
        builder.add_solid(
            Box((SIDE / 2, SIDE / 2, SIDE / 2)),
            1.0,
            material,
            position=(x, y, (i + 0.5) * SIDE),
            quaternion=(np.cos(yaw / 2), 0, 0, np.sin(yaw / 2)),
        )
    return builder.build(max_contacts=84 if askew else 48)


def heavy_top(model: Model, ratio: float) -> Model:
    bodies = model.bodies
    bodies = replace(
        bodies,
        mass=bodies.mass.at[COUNT].multiply(ratio),
        inertia=bodies.inertia.at[COUNT].multiply(ratio),
    )
    return replace(model, bodies=bodies)


def stand(model: Model, state: State, law: Law, tolerance: float) -> tuple[Trajectory, float]:
    """Return the trajectory and the wall-clock time it took [s].

    Args:
        model: model of the stack.
        state: initial state.
        law: contact law.
        tolerance: tolerance of the solver [m/s].
    """
    stop = Stop(tolerance, max_iterations=MAX_ITERATIONS)
    stepper = EulerImplicitLinearized(H, law, SOLVER, stop)

    def run() -> Trajectory:
        return jax.block_until_ready(rollout(model, state, stepper, STEPS)[1])

    trajectory = run()
    best = np.inf
    for _ in range(REPETITIONS):
        start = time.perf_counter()
        trajectory = run()
        best = min(best, time.perf_counter() - start)
        if best > 10:
            break
    return jax.device_get(trajectory), best


def measure() -> list[dict]:
    rows = []
    for kind, law in product(TOLERANCES, LAWS):
        model, state = scene(kind == "askew")
        for ratio in RATIOS:
            trajectory, seconds = stand(heavy_top(model, ratio), state, law, TOLERANCES[kind])
            displacement = trajectory.state.position[:, 1:] - np.asarray(state.position[1:])
            solver = trajectory.report.solver
            rows.append(
                {
                    "stack": kind,
                    "law": law,
                    "ratio": ratio,
                    "contacts": int(trajectory.report.contacts.max()),
                    "penetration": np.abs(displacement[..., 2]).max(),
                    "drift": np.linalg.norm(displacement[..., :2], axis=-1).max(),
                    "first": int(solver.iterations[0]),
                    "mean": float(solver.iterations[1:].mean()),
                    "largest": int(solver.iterations.max()),
                    "milliseconds": 1e3 * seconds / STEPS,
                    "unsolved": int(np.sum(solver.status != 0)),
                }
            )
            print(rows[-1], flush=True)
    return rows


def write_table(rows: list[dict], peers: dict[str, list[float]]) -> None:
    lines = [
        "# Ten boxes, a heavy one on top, two seconds",
        "",
        f'`python experiments/stack/run.py`: `solver="{SOLVER}"`, float64, one step is {H * 1e3:g} '
        f"ms, at most {MAX_ITERATIONS} iterations; tolerance "
        + ", ".join(f"{t:g} m/s ({k})" for k, t in TOLERANCES.items())
        + f". Target, which this project sets itself: {TARGET:g} m. Iterations: of the first step "
        "(cold), the mean of the others (warm) and the largest. Times on a shared machine: trust "
        "ratios.",
        "",
        "A stepper that is not told a solver takes `gradient-newton` for ten boxes "
        f"([limits](../../README.md#limits)); iterations and times here are those of `{SOLVER}`.",
        "",
        "| stack | law | top : box | contacts | penetration [m] | drift [m] "
        "| cold | warm | largest | ms/step | steps not converged |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    lines += [
        f"| {r['stack']} | {r['law']} | {r['ratio']} | {r['contacts']} | {r['penetration']:.1e} "
        f"| {r['drift']:.1e} | {r['first']} | {r['mean']:.0f} | {r['largest']} "
        f"| {r['milliseconds']:.2f} | {r['unsolved']} of {STEPS} |"
        for r in rows
    ]
    if peers:
        shown = " | ".join(f"1:{ratio}" for ratio in RATIOS)
        lines += [
            "",
            f"Aligned, steps of {STEP * 1e3:g} ms; largest displacement of a box [m]:",
            "",
        ]
        lines += [f"| | {shown} |", "|---" * (len(RATIOS) + 1) + "|"]
    for name, values in peers.items():
        lines.append(f"| {name} | " + " | ".join(f"{value:.1e}" for value in values) + " |")
    lines.append("")
    (FOLDER / "results.md").write_text("\n".join(lines), encoding="utf-8")


def draw(rows: list[dict], peers: dict[str, list[float]]) -> None:
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
    for kind, law in product(TOLERANCES, LAWS):
        selected = [r for r in rows if r["stack"] == kind and r["law"] == law]
        ratios = [r["ratio"] for r in selected]
        style = {"marker": "o", "linestyle": "-" if law == "ncp" else "--"}
        worst = [max(r["penetration"], r["drift"]) for r in selected]
        left.plot(ratios, worst, label=f"{kind}, {law}", **style)
        right.plot(ratios, [r["milliseconds"] for r in selected], label=f"{kind}, {law}", **style)
    for name, values in peers.items():
        left.plot(RATIOS, values, ":", marker="x", label=name)
    left.axhline(TARGET, color="black", linewidth=0.8, label="target")
    left.set(ylabel="worst penetration or drift in 2 s [m]")
    right.set(ylabel="time per step [ms]")
    for axes in (left, right):
        axes.set(xscale="log", yscale="log", xlabel="mass of the top / mass of a box")
        axes.grid(alpha=0.3)
    figure.legend(*left.get_legend_handles_labels(), loc="outside right upper", fontsize="small")
    figure.savefig(FOLDER / "results.png", dpi=110)


def main() -> None:
    rows, peers = measure(), {}
    if importlib.util.find_spec("mujoco"):
        peers = sags(RATIOS, COUNT, SIDE, FRICTION)
    write_table(rows, peers)
    draw(rows, peers)
    print(f"wrote {FOLDER / 'results.md'} and {FOLDER / 'results.png'}")


if __name__ == "__main__":
    main()
