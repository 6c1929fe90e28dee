"""Play one environment with random actions, in a program of many steps, and count failures."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp import Model, envs
from jaxccp.envs import EnvState
from jaxccp.envs.environment import COUNTS

STRANGE = (jnp.nan, jnp.inf, -jnp.inf, 1e30, -1e30)
"""Values that replace entries of a bad action."""
SHARE = 0.1
"""Share of the entries of a bad action that are replaced."""
SUNK = 0.05
"""Depth below the ground at which a body's centre of mass counts as escaped [m]."""


@dataclass(frozen=True)
class Play:
    """One environment and a compiled program that plays it with good or bad actions."""

    env: Any
    copies: int
    steps: int
    """Steps of each copy in a call."""
    run: Callable[..., tuple[EnvState, dict[str, jax.Array]]]

    @property
    def solves(self) -> int:
        """Number of simulation steps in a step of the environment."""
        return round(self.env.ctrl_dt / self.env.sim_dt)

    @staticmethod
    def of(name: str, copies: int, steps: int) -> "Play":
        env: Any = envs.make(name)
        core = env
        while hasattr(core, "env"):
            core = core.env
        spec, ground = env.action_spec, lowest_ground(core.model)
        stands = jnp.asarray(grounded(core.model))

        def advance(state: EnvState, inputs: tuple[jax.Array, jax.Array]) -> tuple[EnvState, dict]:
            key, bad = inputs
            drawn, which, what = jax.random.split(key, 3)
            shape = (copies, *spec.shape)
            action = jax.random.uniform(drawn, shape, spec.low.dtype, spec.low, spec.high)
            strange = jax.random.choice(what, jnp.asarray(STRANGE, action.dtype), shape)
            replaced = bad & (jax.random.uniform(which, shape) < SHARE)
            state = jax.vmap(env.step)(state, jnp.where(replaced, strange, action))
            physics = state.physics.state
            depth = jnp.where(stands, ground - physics.position[..., 2], -jnp.inf).max(axis=-1)
            finite = jnp.stack([jnp.isfinite(part).all() for part in (state.obs, state.reward)])
            return state, {
                **{count: state.metrics[count].sum() for count in COUNTS if count != "status"},
                "not_finite_shown": (~finite.all()).astype(jnp.int32),
                "escaped": (depth > SUNK).sum(dtype=jnp.int32),
                "episodes": state.done.sum(dtype=jnp.int32),
                "deepest": depth.max(),
            }

        @jax.jit
        def run(state: EnvState, key: jax.Array, bad: jax.Array) -> tuple[EnvState, dict]:
            keys = jax.random.split(key, steps)
            state, counts = jax.lax.scan(advance, state, (keys, jnp.broadcast_to(bad, steps)))
            deepest = counts.pop("deepest").max()
            return state, {**jax.tree.map(jnp.sum, counts), "deepest": deepest}

        return Play(env, copies, steps, run)

    def start(self, key: jax.Array) -> EnvState:
        """Return the initial states of all copies."""
        return jax.jit(jax.vmap(self.env.reset))(jax.random.split(key, self.copies))

    def rejects_wrong_shape(self) -> bool:
        """Return whether an action of the wrong shape raises an error that names the shape."""
        state = jax.eval_shape(self.env.reset, jax.random.key(0))
        wrong = jnp.zeros(self.env.action_spec.shape[0] + 1)
        try:
            jax.eval_shape(self.env.step, state, wrong)
        except ValueError as error:
            return "an action must have shape" in str(error)
        return False


def grounded(model: Model) -> np.ndarray:
    """Return a mask of the bodies that may touch a plane or a height field; others are free to go
    lower."""
    topology = model.topology
    ground = np.isin(topology.shapes, ("plane", "height_field"))
    mask = np.zeros(len(topology.bodies), bool)
    for group in topology.pairs:
        for shapes, partners in ((group.first, group.second), (group.second, group.first)):
            mask[topology.shape_body[shapes[ground[partners]]]] = True
    return mask & topology.free


def lowest_ground(model: Model) -> float:
    """Return the height of the lowest point of planes and height fields [m], −∞ where there are
    none."""
    shapes, topology = model.shapes, model.topology
    heights = [np.inf]
    for shape, kind in enumerate(topology.shapes):
        height = float(shapes.position[shape, 2])
        if kind == "plane":
            heights.append(height)
        if kind == "height_field":
            field = shapes.grids.heights[topology.row[shape]]
            heights.append(height + float(jnp.min(field) * shapes.size[shape, 2]))
    return min(heights) if len(heights) > 1 else -np.inf
