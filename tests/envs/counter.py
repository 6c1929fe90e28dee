"""Define an environment without mechanics, so that the effect of wrappers is known exactly."""

from dataclasses import dataclass, replace
from typing import Any, cast

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp.envs import EnvState, Spec
from jaxccp.model.model import Model


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Counter:
    """An environment that starts at a number drawn from [0, 1), adds every action to it, pays the
    action as reward, and terminates above 100."""

    model: Any = None
    sim_dt = ctrl_dt = 0.1
    action_spec = Spec(np.full(1, -1000.0), np.full(1, 1000.0))

    def with_model(self, model: Model) -> "Counter":
        return replace(self, model=model)

    def reset(self, key: jax.Array) -> EnvState:
        key, drawn = jax.random.split(key)
        place, zero, no = jax.random.uniform(drawn, (1,)), jnp.zeros(()), jnp.zeros((), bool)
        metrics = {"paid": zero, "status": jnp.zeros((), jnp.int32)}
        physics: Any = place
        return EnvState(physics, place, zero, no, no, place, key, metrics, {})

    def step(self, state: EnvState, action: jax.Array) -> EnvState:
        physics: Any = cast(Any, state.physics) + action
        metrics = {"paid": action[0], "status": (action[0] > 5).astype(jnp.int32)}
        terminated = physics[0] > 100
        return replace(
            state,
            physics=physics,
            obs=physics,
            reward=action[0],
            terminated=terminated,
            truncated=jnp.zeros((), bool),
            final_obs=physics,
            metrics=metrics,
        )
