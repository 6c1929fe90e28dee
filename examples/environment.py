"""Run 64 hoppers under random actions: how long do they stand, and was every step solved?"""

import jax

from jaxccp import envs

COPIES, STEPS = 64, 500
env = envs.make("hopper")
low, high = env.action_spec.low, env.action_spec.high


@jax.jit
def play(key: jax.Array) -> envs.EnvState:
    def step(state: envs.EnvState, key: jax.Array) -> tuple[envs.EnvState, envs.EnvState]:
        actions = jax.random.uniform(key, (COPIES, *low.shape), low.dtype, low, high)
        state = jax.vmap(env.step)(state, actions)
        return state, state

    start = jax.vmap(env.reset)(jax.random.split(key, COPIES))
    return jax.lax.scan(step, start, jax.random.split(key, STEPS))[1]


path = play(jax.random.key(0))
falls = int(path.terminated.sum())
print(f"{falls} falls, one in {COPIES * STEPS * env.ctrl_dt / falls:.2f} s of hopping")
print(
    f"mean reward {path.reward.mean():.2f}, of which "
    + ", ".join(
        f"{name} {path.metrics[name].mean():.2f}" for name in ("forward", "survive", "control")
    )
)
print(
    "steps not solved:",
    int(path.metrics["unsolved"].sum()),
    "with contacts left out:",
    int(path.metrics["overflow"].sum()),
)
