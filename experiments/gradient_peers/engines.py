"""Wrap each engine as a function from the parameters of a problem to its outcomes.

All engines run in float64. MJX and Brax load the same MJCF, with pyramidal cones, which are exact
along the axes; their friction is set as the coefficient of every geom.
"""

import importlib
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from experiments.gradient_peers.problems import Problem, coordinates, outcome
from jaxccp import EulerImplicitLinearized, Stop, rollout

Outcomes = Callable[[jax.Array], jax.Array]


def ours(problem: Problem) -> Outcomes:
    model, state = problem.build()
    stepper = EulerImplicitLinearized(problem.h, "ncp", stop=Stop(1e-10))

    def run(x: jax.Array) -> jax.Array:
        position, velocity = coordinates(problem.name, x)
        first = len(state.position) - len(position)
        start = replace(
            state,
            position=state.position.at[first:].set(position),
            velocity=state.velocity.at[first:].set(velocity),
        )
        shapes = model.shapes
        if "μ" in problem.parameters:
            shapes = replace(shapes, friction=jnp.full_like(shapes.friction, x[-1]))
        final, _ = rollout(replace(model, shapes=shapes), start, stepper, problem.steps)
        return outcome(problem.name, final.position, final.velocity, final.angular_velocity)

    return run


def mjx(problem: Problem, iterations: int) -> Outcomes:
    """Return the outcomes by MuJoCo XLA; with one solver iteration it supports reverse mode."""
    mujoco: Any = importlib.import_module("mujoco")
    mjx: Any = importlib.import_module("mujoco.mjx")
    native = mujoco.MjModel.from_xml_string(problem.xml)
    native.opt.iterations = iterations
    native.opt.tolerance = 1e-10
    model = mjx.put_model(native)
    blank = mjx.make_data(model)

    def run(x: jax.Array) -> jax.Array:
        system, (qpos, qvel) = model, _generalised(problem, x)
        if "μ" in problem.parameters:
            system = model.replace(geom_friction=model.geom_friction.at[:, 0].set(x[-1]))

        def step(data: Any, _: None) -> tuple[Any, None]:
            return mjx.step(system, data), None

        data, _ = jax.lax.scan(step, blank.replace(qpos=qpos, qvel=qvel), length=problem.steps)
        return _free_bodies(problem, data.qpos, data.qvel)

    return run


def brax(problem: Problem, pipeline: str) -> Outcomes:
    """Return the outcomes by a pipeline of Brax: ``generalized``, ``spring`` or ``positional``."""
    engine: Any = importlib.import_module(f"brax.{pipeline}.pipeline")
    mjcf: Any = importlib.import_module("brax.io.mjcf")
    system = mjcf.loads(problem.xml)

    def run(x: jax.Array) -> jax.Array:
        changed, (q, qd) = system, _generalised(problem, x)
        if "μ" in problem.parameters:
            changed = system.replace(geom_friction=system.geom_friction.at[:, 0].set(x[-1]))

        def step(state: Any, _: None) -> tuple[Any, None]:
            return engine.step(changed, state, jnp.zeros(0)), None

        state, _ = jax.lax.scan(step, engine.init(changed, q, qd), length=problem.steps)
        return _free_bodies(problem, state.q, state.qd)

    return run


def _generalised(problem: Problem, x: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return qpos and qvel of the free joints at the start."""
    position, velocity = coordinates(problem.name, x)
    rotation = jnp.broadcast_to(jnp.array([1.0, 0, 0, 0]), (len(position), 4))
    q = jnp.concatenate([position, rotation], axis=1)
    return q.ravel(), jnp.concatenate([velocity, jnp.zeros_like(velocity)], axis=1).ravel()


def _free_bodies(problem: Problem, q: jax.Array, qd: jax.Array) -> jax.Array:
    """Return the outcome from the coordinates and rates of free joints.

    Balls spin about y alone, so that their angular velocity is the same in body and world axes.
    """
    q, qd = q.reshape(-1, 7), qd.reshape(-1, 6)
    return outcome(problem.name, q[:, :3], qd[:, :3], qd[:, 3:])


ENGINES: dict[str, Callable[[Problem], Outcomes]] = {
    "jaxccp": ours,
    "MJX": lambda problem: mjx(problem, 100),
    "MJX, 1 iteration": lambda problem: mjx(problem, 1),
    "Brax generalized": lambda problem: brax(problem, "generalized"),
    "Brax spring": lambda problem: brax(problem, "spring"),
    "Brax positional": lambda problem: brax(problem, "positional"),
}
