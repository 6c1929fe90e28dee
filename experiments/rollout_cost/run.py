"""Measure compile time of a step, steps per second of batches, and cost of reverse mode.

    python experiments/rollout_cost/run.py

Writes results.md and cost.png to this folder. Times are wall-clock times; that of a run is the
shortest of many, because other processes only ever add time. Run it on an otherwise idle machine.
"""

import os
import platform
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
from matplotlib.figure import Figure
from rich.progress import track

from jaxccp import (
    Box,
    EulerImplicitLinearized,
    Material,
    Model,
    ModelBuilder,
    Plane,
    State,
    envs,
    rollout_batch,
)
from jaxccp.ccp import Law
from jaxccp.dynamics import rollout
from jaxccp.scene import WORLD
from jaxccp.scenes.library import SCENES, batch

SEED = 0
H = 1e-3
"""Length of a step [s]."""
LAWS: tuple[Law, ...] = ("ccp", "ncp")
PRECISIONS = (32, 64)
BATCHES = (1, 64, 1024)
BATCH_STEPS = 500
"""Steps of the tossed cube: flight, impacts and the beginning of rest."""
GRADIENT_STEPS = 100
COPIES = 64
BATCHED = f"{COPIES} cube-tosses"
LEAD = {"cube-toss": 230, BATCHED: 230, "sliding box": 10, "stack": 20}
"""Steps before the differentiated ones: the cube is then about to land."""
ROBOTS = ("ant", "humanoid")
"""Robots of jaxccp.envs, with random controls, each constant for a tenth of the steps."""
ROBOT_LEAD = 100
"""Steps in which the robots fall, before the differentiated ones."""
REPEATS = 100
PATIENCE = 3.0
"""Total time of the repeats after which none is started [s]."""

FOLDER = Path(__file__).resolve().parent
TARGETS = {"step": 5.0, "gradient": 20.0, "ratio": 3.0}
"""What this project aims at: compile time of a step and of a gradient [s], and gradient time over
forward time."""


def sliding_box() -> tuple[Model, State]:
    """Build a box that slides at 2 m/s and is slowed by friction."""
    surface = Material(friction=0.3)
    builder = ModelBuilder()
    builder.add_shape(WORLD, Plane(), material=surface)
    place = {"position": (0.0, 0.0, 0.1), "velocity": (2.0, 0.0, 0.0)}
    builder.add_solid(Box((0.2, 0.15, 0.1)), 1.0, surface, **place)
    return builder.build()


def scene(name: str) -> tuple[Model, State]:
    if name == "sliding box":
        return sliding_box()
    return SCENES[name](jax.random.key(SEED))


def compiled(function: Callable, *arguments: object) -> tuple[Callable, float]:
    """Return the compiled program and the time to trace and compile it [s]."""
    start = time.perf_counter()
    program = jax.jit(function).lower(*arguments).compile()
    return program, time.perf_counter() - start


def shortest(program: Callable, *arguments: object) -> float:
    """Return the time of the fastest of up to REPEATS calls [s]."""
    times: list[float] = []
    while len(times) < REPEATS and sum(times) < PATIENCE:
        start = time.perf_counter()
        jax.block_until_ready(program(*arguments))
        times.append(time.perf_counter() - start)
    return min(times)


def step_compilation() -> Iterator[dict]:
    """Yield the compile time of one step of every built-in scene."""
    for name, precision, law in product(SCENES, PRECISIONS[:1], LAWS):
        with jax.enable_x64(precision == 64):
            model, state = scene(name)
            stepper = EulerImplicitLinearized(H, law)
            _, seconds = compiled(stepper.step, model, state)
        yield {"scene": name, "precision": precision, "law": law, "compile [s]": seconds}


def throughput() -> Iterator[dict]:
    """Yield the steps per second of all copies of cube-toss together, for each batch size."""
    for copies, precision, law in product(BATCHES, PRECISIONS, LAWS):
        with jax.enable_x64(precision == 64):
            model, states = batch(SCENES["cube-toss"], jax.random.key(SEED), copies)
            stepper = EulerImplicitLinearized(H, law)

            def run(state: State, model: Model = model, stepper=stepper) -> State:
                return rollout(model, state, stepper, BATCH_STEPS)[0]

            program, _ = compiled(jax.vmap(run), states)
            rate = copies * BATCH_STEPS / shortest(program, states)
        yield {"batch": copies, "precision": precision, "law": law, "steps/s": rate}


def gradients() -> Iterator[dict]:
    """Yield the cost of reverse mode through GRADIENT_STEPS steps and of the forward rollout."""
    for name, precision, law in product(LEAD, PRECISIONS, LAWS):
        with jax.enable_x64(precision == 64):
            stepper = EulerImplicitLinearized(H, law)
            if name == BATCHED:
                model, states = batch(SCENES["cube-toss"], jax.random.key(SEED), COPIES)
            else:
                model, state = scene(name)
                states = jax.tree.map(lambda leaf: leaf[None], state)

            def lead(state: State, model: Model = model, stepper=stepper, name=name) -> State:
                return rollout(model, state, stepper, LEAD[name])[0]

            states = jax.jit(jax.vmap(lead))(states)
            cost = measured(*differentiable(model, states, stepper))
        yield {"scene": name, "precision": precision, "law": law, **cost}


def measured(loss: Callable, parameters: tuple) -> dict:
    """Return run and compile times of a loss and of its gradient."""
    forward, forward_compile = compiled(loss, parameters)
    gradient, compile_s = compiled(jax.value_and_grad(loss), parameters)
    times = shortest(forward, parameters), shortest(gradient, parameters)
    return {
        "forward [ms]": 1e3 * times[0],
        "gradient [ms]": 1e3 * times[1],
        "ratio": times[1] / times[0],
        "compile forward [s]": forward_compile,
        "compile gradient [s]": compile_s,
    }


def robot_gradients() -> Iterator[dict]:
    """Yield the cost of reverse mode and of the forward rollout of robots, one and many at once."""
    for name, copies, law in product(ROBOTS, (1, COPIES), LAWS):
        with jax.enable_x64(False):
            loss, parameters = robot(name, copies, law)
            cost = measured(loss, parameters)
        scene = name if copies == 1 else f"{copies} {name}s"
        yield {"scene": scene, "precision": 32, "law": law, **cost}


def robot(name: str, copies: int, law: Law) -> tuple[Callable, tuple]:
    """Return a loss of initial coordinates and rates, masses and friction, and its arguments.

    Args:
        name: name of the environment in jaxccp.envs.
        copies: number of copies.
        law: contact law.
    """
    env: Any = envs.make(name, auto_reset=False, law=law)
    model, stepper = env.model, env.stepper
    start_key, action_key = jax.random.split(jax.random.key(SEED))
    states = jax.vmap(env.reset)(jax.random.split(start_key, copies)).physics.state
    low, high = env.action_spec.low, env.action_spec.high
    size = (copies, 10, *env.action_spec.shape)
    actions = jax.random.uniform(action_key, size, minval=low, maxval=high)
    controls = jax.vmap(jax.vmap(env.layout.control))(actions)

    @jax.jit
    def lead(states: State) -> State:
        repeated_controls = jnp.repeat(controls, ROBOT_LEAD // 10, axis=1)
        return rollout_batch(model, states, stepper, ROBOT_LEAD, None, repeated_controls)[0]

    states = lead(states)
    repeated_controls = jnp.repeat(controls, GRADIENT_STEPS // 10, axis=1)

    def loss(parameters: tuple) -> jax.Array:
        qpos, qvel, mass, friction = parameters
        changed = altered(model, mass, friction)
        place = partial(env.layout.state, changed)
        initial_states = jax.vmap(place)(states, qpos, qvel)
        final, _ = rollout_batch(
            changed, initial_states, stepper, GRADIENT_STEPS, None, repeated_controls
        )
        return jnp.sum(final.position**2) + jnp.sum(final.twist**2)

    start = jax.vmap(partial(env.layout.coordinates, model))(states)
    return loss, (*start, model.bodies.mass, model.shapes.friction)


def differentiable(model: Model, states: State, stepper) -> tuple[Callable, tuple]:
    """Return a loss of initial positions, velocities, spins, masses and friction, and its
    arguments.

    Args:
        model: model of the scene.
        states: initial states of all copies.
        stepper: time stepper.
    """

    def loss(parameters: tuple) -> jax.Array:
        position, velocity, spin, mass, friction = parameters
        initial_states = replace(
            states, position=position, velocity=velocity, angular_velocity=spin
        )
        changed = altered(model, mass, friction)

        def outcome(state: State) -> jax.Array:
            final, _ = rollout(changed, state, stepper, GRADIENT_STEPS)
            quaternion = final.quaternion
            return jnp.sum(final.position**2) + jnp.sum(quaternion[:, 1] * quaternion[:, 2])

        if len(position) == 1:
            return outcome(jax.tree.map(lambda leaf: leaf[0], initial_states))
        return jnp.sum(jax.vmap(outcome)(initial_states))

    start = (states.position, states.velocity, states.angular_velocity)
    return loss, (*start, model.bodies.mass, model.shapes.friction)


def altered(model: Model, mass: jax.Array, friction: jax.Array) -> Model:
    bodies, shapes = model.bodies, model.shapes
    return replace(
        model, bodies=replace(bodies, mass=mass), shapes=replace(shapes, friction=friction)
    )


def table(rows: list[dict]) -> str:
    def cell(value: object) -> str:
        return (
            f"{value:,.3g}"
            if isinstance(value, float) and value < 1e3
            else (f"{value:,.0f}" if isinstance(value, float) else str(value))
        )

    lines = ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    lines += ["| " + " | ".join(map(cell, row.values())) + " |" for row in rows]
    return "\n".join(lines)


def plot(steps: list[dict], rates: list[dict], ratios: list[dict]) -> Figure:
    figure = Figure(figsize=(12.0, 4.0), dpi=100, layout="constrained")
    axes = figure.subplots(1, 3)
    colours = {(32, "ccp"): "#2f6690", (32, "ncp"): "#8fb8d6"}
    colours |= {(64, "ccp"): "#d1603d", (64, "ncp"): "#eeb49f"}
    panels = (
        (steps, "scene", "compile [s]", "compilation of a step [s]", TARGETS["step"]),
        (rates, "batch", "steps/s", "cube-toss: steps per second", None),
        (ratios, "scene", "ratio", "reverse-mode gradient / forward", TARGETS["ratio"]),
    )
    for ax, (rows, group, value, title, target) in zip(axes, panels, strict=True):
        names = list(dict.fromkeys(row[group] for row in rows))
        for i, ((precision, law), colour) in enumerate(colours.items()):
            selected = [r for r in rows if (r["precision"], r["law"]) == (precision, law)]
            places = [names.index(r[group]) + 0.2 * (i - 1.5) for r in selected]
            ax.bar(
                places,
                [r[value] for r in selected],
                0.18,
                color=colour,
                label=f"{law}, {precision}",
            )
        if target is not None:
            ax.axhline(target, color="#333333", linewidth=1.0, linestyle="--")
        ax.set_xticks(range(len(names)), list(map(str, names)))
        if group == "scene":
            ax.tick_params("x", labelrotation=30)
            for label in ax.get_xticklabels():
                label.set_horizontalalignment("right")
        ax.set_title(title, loc="left", fontsize=10)
        ax.spines[["top", "right"]].set_visible(False)
    axes[1].legend(frameon=False, fontsize=8)
    return figure


def collected(rows: Iterator[dict], title: str, count: int) -> list[dict]:
    results = []
    for row in track(rows, title, count):
        results.append(row)
        print(*(f"{k} {v:.4g}" if isinstance(v, float) else f"{k} {v}" for k, v in row.items()))
    return results


def main() -> None:
    steps = collected(step_compilation(), "compiling steps", 2 * len(SCENES))
    rates = collected(throughput(), "throughput", 4 * len(BATCHES))
    ratios = collected(gradients(), "gradients", 4 * len(LEAD))
    ratios += collected(robot_gradients(), "gradients of robots", 4 * len(ROBOTS))
    machine = f"{os.cpu_count()} cores, {platform.machine()}, jax {jax.__version__}, CPU"
    (FOLDER / "results.md").write_text(
        f"""# What steps, batches and gradients cost

`python experiments/rollout_cost/run.py` · seed {SEED}, steps of {1e3 * H:g} ms, the shortest of
up to {REPEATS} runs · {machine}

![cost](cost.png)

## Compiling one step (aim of this project: {TARGETS["step"]:g} s)

{table(steps)}

## Steps per second, cube-toss, {BATCH_STEPS} steps of each copy

{table(rates)}

## Gradient of {GRADIENT_STEPS} steps (aims: {TARGETS["ratio"]:g} × forward, compiled in \
{TARGETS["gradient"]:g} s)

Reverse mode, value included, in initial positions, velocities, spins, masses and friction. Robots
are those of `jaxccp.envs`, with its steps of 5 and 3 ms and its tolerance.

{table(ratios)}
""",
        encoding="utf-8",
    )
    plot(steps, rates, ratios).savefig(FOLDER / "cost.png")
    print(f"wrote {FOLDER / 'results.md'} and {FOLDER / 'cost.png'}")


if __name__ == "__main__":
    main()
