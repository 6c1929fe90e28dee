"""Test that no gradient is ever NaN or infinite, by random states of every pair of shapes.

The folder experiments/random_scenes draws more of them.
"""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.ccp import Stop
from jaxccp.dynamics import EulerImplicitLinearized
from jaxccp.model import Box, Capsule, Material, Model, Plane, Sphere, State
from jaxccp.scene import ModelBuilder

COUNT, CHUNK = 1_500, 500
SIZE = 0.1
KINDS = ("exact", "loose", "piled", "resting", "coincident", "still")
TURNS = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 1, 1.0]])


@cache
def scene() -> tuple[Model, State]:
    """Build every kind of shape with round dimensions, so that coincidences are exact."""
    builder = ModelBuilder()
    surface = Material(friction=0.5, restitution=0.5)
    builder.add_shape(0, Plane(), material=surface)
    half = (SIZE, SIZE, SIZE)
    for shape in (Box(half), Box(half, 0.02), Capsule(SIZE, SIZE), Capsule(SIZE, SIZE)):
        builder.add_solid(shape, 1.0, surface)
    for shape in (Sphere(SIZE), Sphere(SIZE)):
        builder.add_solid(shape, 1.0, surface)
    return builder.build()


def random_states(seed: int, count: int) -> tuple[Model, State]:
    """Return a batch of random models and states: bodies on a lattice of touching distances or
    anywhere, level or rotated, moving or not."""
    model, state = scene()
    random = np.random.default_rng(seed)
    nb = len(state.position)
    kind = random.choice(KINDS, size=(count, 1))
    lattice = 2 * SIZE * random.integers(0, 2, (count, nb, 3)) + [0, 0, SIZE]
    anywhere = random.uniform(0, 4 * SIZE, (count, nb, 3))
    position = np.where((kind == "loose")[..., None], anywhere, lattice)
    position = np.where((kind == "piled")[..., None], 0.9 * lattice, position)
    position[kind[:, 0] == "coincident"] = position[kind[:, 0] == "coincident"][:, :1]
    level = TURNS[random.integers(0, len(TURNS), (count, nb))]
    rotated = random.normal(size=(count, nb, 4))
    quaternion = np.where(random.random((count, 1, 1)) < 0.6, level, rotated)
    quaternion /= np.linalg.norm(quaternion, axis=-1, keepdims=True)
    moving = ((kind != "still") & (kind != "resting"))[..., None] * random.integers(
        0, 2, (count, nb, 1)
    )
    velocity, spin = (moving * random.normal(size=(count, nb, 3)) for _ in range(2))
    position[:, 0], quaternion[:, 0], velocity[:, 0], spin[:, 0] = 0, TURNS[0], 0, 0

    def spread(leaf: jax.Array) -> jax.Array:
        return jnp.broadcast_to(leaf, (count, *leaf.shape))

    models, states = jax.tree.map(spread, (model, state))
    # Friction and restitution may vanish, gravity too.
    ng = model.shapes.friction.shape[0]
    shapes = replace(
        models.shapes,
        friction=jnp.asarray(random.choice([0.0, 0.5, 1.0], (count, ng))),
        restitution=jnp.asarray(random.choice([0.0, 0.5, 1.0], (count, 1)) * np.ones(ng)),
        compliance=jnp.asarray(random.choice([0.0, 0.0, 1e-4], (count, 1)) * np.ones(ng)),
    )
    gravity = random.choice([0.0, 1.0], (count, 1)) * np.asarray(model.gravity)
    states = replace(
        states,
        position=jnp.asarray(position),
        quaternion=jnp.asarray(quaternion),
        velocity=jnp.asarray(velocity),
        angular_velocity=jnp.asarray(spin),
    )
    return replace(models, shapes=shapes, gravity=jnp.asarray(gravity)), states


@pytest.mark.slow
def test_gradients_of_random_scenes_are_finite() -> None:
    """Gradients of the state after a step are finite in every number of the model and of the
    state before."""
    stepper = EulerImplicitLinearized(5e-3, "ncp", stop=Stop(max_iterations=20))

    def loss(model: Model, state: State, force: jax.Array, weights: jax.Array):
        after, report = stepper.step(model, state, force)
        values = (after.position, after.quaternion, after.velocity, after.angular_velocity)
        return jnp.sum(weights * jnp.concatenate(values, axis=1)), report.contacts

    def gradient(model: Model, state: State, force: jax.Array, weights: jax.Array):
        slope = jax.value_and_grad(loss, (0, 1, 2), has_aux=True, allow_int=True)
        (value, contacts), slopes = slope(model, state, force, weights)
        floats = [x for x in jax.tree.leaves(slopes) if x.dtype == value.dtype]
        return jnp.array([jnp.isfinite(x).all() for x in [value, *floats]]).all(), contacts

    # One after the other: a batch waits for its slowest, and takes longer to trace and to compile.
    several = jax.jit(lambda *arrays: jax.lax.map(lambda case: gradient(*case), arrays))
    for seed in range(COUNT // CHUNK):
        models, states = random_states(seed, CHUNK)
        nb = states.position.shape[1]
        random = np.random.default_rng(seed)
        weights = jnp.asarray(random.normal(size=(CHUNK, nb, 13)))
        fine, contacts = several(models, states, jnp.zeros((CHUNK, nb, 6)), weights)
        assert np.all(fine), f"chunk {seed}: states {np.flatnonzero(~np.asarray(fine))[:5]}"
        assert np.mean(contacts) > 10
