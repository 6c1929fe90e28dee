"""Check a batch on the devices of several processes that jax.distributed connects.

    python -m tests.dynamics.rollouts.batch_on_processes PROCESS PROCESSES PORT

Every process calls the same functions, and each holds its part of the copies. The results are
compared with single rollouts on one device.
"""

import sys

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import multihost_utils

from jaxccp import Model, State, Trajectory, rollout, rollout_batch
from tests.dynamics.rollouts.batch_on_devices import (
    STEPPER,
    STEPS,
    close,
    motion,
    rubbed,
    scene,
    thrown,
)

COPIES = 7


def main(process: int, processes: int, port: int) -> None:
    jax.config.update("jax_num_cpu_devices", 2)
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_disable_most_optimizations", True)
    jax.distributed.initialize(f"localhost:{port}", processes, process)
    assert jax.device_count() == 2 * processes and jax.local_device_count() == 2
    model, state = scene()
    states = thrown(state, COPIES)

    outcome = rollout_batch(model, states, STEPPER, STEPS, every=4)
    assert len(outcome[0].position.sharding.device_set) == jax.device_count()
    gathered = multihost_utils.process_allgather(motion(outcome), tiled=True)

    def alone(state: State) -> tuple[State, Trajectory]:
        return rollout(model, state, STEPPER, STEPS, every=4)

    close(gathered, motion(jax.jit(jax.vmap(alone))(states)))

    def loss(friction: jax.Array, states: State, run) -> jax.Array:
        final, _ = run(rubbed(model, friction), states)
        return jnp.mean(jnp.sum(final.position**2, axis=(1, 2)))

    def many(model: Model, states: State) -> tuple[State, Trajectory]:
        return rollout_batch(model, states, STEPPER, STEPS)

    def plain(model: Model, states: State) -> tuple[State, Trajectory]:
        return jax.vmap(lambda s: rollout(model, s, STEPPER, STEPS))(states)

    gradient = jax.jit(jax.grad(loss), static_argnums=2)
    friction = jnp.array(0.4)
    close(np.asarray(gradient(friction, states, many)), gradient(friction, states, plain), 1e-9)
    print("done", flush=True)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
