"""Toss a cube 256 times: where does it come to rest, and on which face?"""

import time

import jax
import jax.numpy as jnp

from jaxccp import EulerImplicitLinearized, State, rollout_batch, use_all_cores
from jaxccp.math import quaternion
from jaxccp.scenes.library import SCENES, batch

TOSSES = 256

use_all_cores()  # on a CPU, each tosses its share
model, states = batch(SCENES["cube-toss"], jax.random.key(0), TOSSES)
stepper = EulerImplicitLinearized(h=2e-3, law="ncp")


def tosses(states: State) -> State:
    return rollout_batch(model, states, stepper, steps=750)[0]


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
