"""256 tosses of a cube: where do they come to rest, and on which face?"""

import time

import jax
import jax.numpy as jnp

from jaxccp import EulerImplicitLinearized, State, rollout
from jaxccp.math import quaternion
from jaxccp.scene.library import SCENES, batch

TOSSES = 256
AT_ONCE = 16 if jax.default_backend() == "cpu" else TOSSES
"""All that run at once take as many iterations as the worst of them: on a CPU that is a loss."""

model, states = batch(SCENES["cube-toss"], jax.random.key(0), TOSSES)
stepper = EulerImplicitLinearized(h=2e-3, law="ncp")


def toss(state: State) -> State:
    return rollout(model, state, stepper, steps=750)[0]


def tosses(states: State) -> State:
    """All of them, AT_ONCE at a time."""

    def shaped(tree: State, *lead: int, by: int) -> State:
        return jax.tree.map(lambda leaf: leaf.reshape(*lead, *leaf.shape[by:]), tree)

    groups = shaped(states, TOSSES // AT_ONCE, AT_ONCE, by=1)
    return shaped(jax.lax.map(jax.vmap(toss), groups), TOSSES, by=2)


run = jax.jit(tosses).lower(states).compile()
start = time.perf_counter()
final = jax.block_until_ready(run(states))
seconds = time.perf_counter() - start
print(f"{TOSSES} tosses of 1.5 s in {seconds:.2f} s: {TOSSES * 750 / seconds:,.0f} steps/s")

place = final.position[:, 1, :2]
up = quaternion.to_matrix(final.quaternion[:, 1])[:, 2]  # the world's z in the cube's frame
face = jnp.argmax(jnp.concatenate([up, -up], axis=1), axis=1)
print("rest at", place.mean(axis=0).round(3), "m, spread", place.std(axis=0).round(3), "m")
names = ("+x", "+y", "+z", "-x", "-y", "-z")
for name, count in zip(names, jnp.bincount(face, length=6).tolist(), strict=True):
    print(f"{name} on top {count:4d} {'█' * (count // 2)}")
