"""Measure steps per CPU-second of a soft block that lands and slides, and of MuJoCo's flex.

    python -m experiments.flexible.solids

Needs mujoco 3.17 or newer. Runs on one core for about two minutes; writes solids.md beside this
file.
"""

import importlib
import os
import time
from pathlib import Path
from typing import Any

os.environ["JAX_NUM_CPU_DEVICES"] = "1"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])

import jax
import numpy as np

from jaxccp import (
    EulerImplicitLinearized,
    Material,
    ModelBuilder,
    Plane,
    Stop,
    box_of_tetrahedra,
    rollout,
)

mujoco: Any = importlib.import_module("mujoco")  # its names come from a binary

CELLS, EDGE = (5, 5, 8), 0.025
YOUNG, POISSON, DENSITY, DAMPING, FRICTION = 5e4, 0.3, 1000.0, 0.01, 0.5
RADIUS, DROP, SPEED = 2.5e-4, 2e-3, 0.3
STEP, STEPS, REPEATS = 2e-3, 200, 3
FOLDER = Path(__file__).resolve().parent
HEAD = """# A soft block on a plane

`python -m experiments.flexible.solids`. A block of {cells} cells of {edge:g} m (324 nodes,
36 of them on the ground; Young's modulus {young:g} Pa, Poisson's ratio {poisson:g}, damping
{damping:g} s) falls {drop:g} m and slides from {speed:g} m/s over a plane (friction {friction:g}):
{steps} steps of {step:g} s, best of {repeats}, CPU time of one core of a machine that others used
too. jaxccp converges to 1e-8 m/s in double and 1e-5 m/s in single precision, MuJoCo {version}
(`integrator="discrete"`, else as it comes) to its default.

| | elements | steps per CPU-second | deepest penetration, all steps [m] | speed at the end [m/s] |
|---|---|---|---|---|
"""


def ours(law: str, precision: type) -> tuple[int, float, float, float]:
    """Simulate the block in jaxccp, with an elastic law and a floating-point type.

    Returns the number of elements, steps per CPU-second, the deepest penetration of all steps [m]
    and the speed at the end [m/s].
    """
    jax.config.update("jax_enable_x64", precision is np.float64)
    half = 0.5 * EDGE * np.array(CELLS)
    builder, rough = ModelBuilder(margin=4e-3), Material(FRICTION)
    builder.add_shape(0, Plane(), material=rough)
    frames = builder.add_soft_solid(
        *box_of_tetrahedra(half, CELLS),
        young=YOUNG,
        poisson=POISSON,
        density=DENSITY,
        damping=DAMPING,
        law=law,
        position=(0, 0, half[2] + DROP),
        velocity=(SPEED, 0, 0),
        radius=RADIUS,
        material=rough,
    )
    model, state = builder.build(max_contacts=36)
    tolerance = 1e-8 if precision is np.float64 else 1e-5
    stepper = EulerImplicitLinearized(STEP, law="ncp", stop=Stop(tolerance))
    run = jax.jit(lambda state: rollout(model, state, stepper, STEPS))
    jax.block_until_ready(run(state))
    best = np.inf
    for _ in range(REPEATS):
        begin = time.process_time()
        final, path = jax.block_until_ready(run(state))
        best = min(best, time.process_time() - begin)
    height = path.state.position[:, np.array(frames), 2]
    speed = np.linalg.norm(final.velocity[np.array(frames)].mean(axis=0))
    assert not path.report.solver.status.any() and not path.report.overflow.any()
    elements = 5 * int(np.prod(CELLS))
    return elements, STEPS / best, float(RADIUS - height.min()), float(speed)


def mujocos() -> tuple[int, float, float, float]:
    """Simulate MuJoCo's flex of the same nodes; return the same numbers as :func:`ours`."""
    count, size = np.array(CELLS) + 1, EDGE * np.array(CELLS)
    grid = f'type="grid" dim="3" count="{" ".join(map(str, count))}" spacing="{EDGE} {EDGE} {EDGE}"'
    model = mujoco.MjModel.from_xml_string(f"""
        <mujoco><option timestep="{STEP}" integrator="discrete"/><size memory="200M"/><worldbody>
        <geom type="plane" size="2 2 .1" friction="{FRICTION} 0 0"/>
        <flexcomp name="block" {grid} radius="{RADIUS}" mass="{DENSITY * size.prod()}"
                  pos="0 0 {size[2] / 2 + DROP}">
        <elasticity young="{YOUNG}" poisson="{POISSON}" damping="{DAMPING}"/>
        <contact selfcollide="none" friction="{FRICTION} 0 0"/>
        </flexcomp></worldbody></mujoco>""")
    best, deepest = np.inf, -np.inf
    for _ in range(REPEATS):
        data = mujoco.MjData(model)
        data.qvel[::3] = SPEED
        begin = time.process_time()
        heights = []
        for _ in range(STEPS):
            mujoco.mj_step(model, data)
            heights.append(data.flexvert_xpos[:, 2].min())
        best = min(best, time.process_time() - begin)
        deepest = RADIUS - min(heights)
    assert np.isfinite(data.qpos).all()
    speed = np.linalg.norm(data.qvel.reshape(-1, 3).mean(axis=0))
    return model.nflexelem, STEPS / best, float(deepest), float(speed)


def main() -> None:
    """Simulate the block in all variants and write solids.md."""
    rows = {
        "jaxccp, neo-Hookean, float64": ours("neo-hookean", np.float64),
        "jaxccp, corotational, float64": ours("corotational", np.float64),
        "jaxccp, neo-Hookean, float32": ours("neo-hookean", np.float32),
        "MuJoCo's flex": mujocos(),
    }
    text = HEAD.format(
        cells=" × ".join(map(str, CELLS)),
        edge=EDGE,
        young=YOUNG,
        poisson=POISSON,
        damping=DAMPING,
        drop=DROP,
        speed=SPEED,
        friction=FRICTION,
        steps=STEPS,
        step=STEP,
        repeats=REPEATS,
        version=mujoco.__version__,
    )
    for name, (elements, rate, depth, speed) in rows.items():
        text += f"| {name} | {elements} | {rate:.0f} | {depth:.1e} | {speed:.1e} |\n"
    (FOLDER / "solids.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
