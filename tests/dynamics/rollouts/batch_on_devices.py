"""Check batches on a given number of CPU devices, in a process of its own.

JAX creates its devices only once per process, hence the separate one.

    python -m tests.dynamics.rollouts.batch_on_devices DEVICES CHECK …

Every result is compared with ``jax.vmap`` of single rollouts, which uses one device and no chunks.
"""

import sys
from collections.abc import Callable
from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxccp import (
    Box,
    EulerImplicitLinearized,
    Material,
    Model,
    ModelBuilder,
    Plane,
    Sphere,
    State,
    Stop,
    Trajectory,
    chunked_vmap,
    rollout,
    rollout_batch,
)

STEPPER = EulerImplicitLinearized(5e-3, "ncp", stop=Stop(1e-13, max_iterations=1000))
STEPS = 12


def scene() -> tuple[Model, State]:
    """Build a scene in which a ball is thrown along a floor into another."""
    builder = ModelBuilder()
    builder.add_shape(0, Plane(), material=Material(friction=0.4))
    for i in range(2):
        builder.add_solid(
            *(Sphere(0.1), 1.0 + i, Material(friction=0.4)),
            position=(0.22 * i, 0.02 * i, 0.1),
            velocity=(1.0 - i, 0, 0),
        )
    return builder.build()


def close(actual: object, expected: object, tolerance: float = 1e-10) -> None:
    """Check that two programs agree.

    They round differently and may stop an iteration apart. Each solve leaves 1e-13 m/s, of which
    an impact of two balls, whose normal turns with their places, makes some 50 times as much.
    """
    for x, y in zip(jax.tree.leaves(actual), jax.tree.leaves(expected), strict=True):
        np.testing.assert_allclose(np.asarray(x), np.asarray(y), rtol=tolerance, atol=tolerance)


def motion(outcome: tuple[State, Trajectory]) -> object:
    """Return the final state, the recorded states and the numbers of contacts of a rollout.
    Counts of iterations are left out: two programs differ in them, since they round differently."""
    return outcome[0], outcome[1].state, outcome[1].report.contacts


def thrown(state: State, copies: int) -> State:
    """Return copies of a state whose velocities are scaled by 0.5 to 2."""
    speed = jnp.linspace(0.5, 2.0, copies)
    return jax.vmap(lambda s: replace(state, velocity=s * state.velocity))(speed)


def rubbed(model: Model, friction: Array) -> Model:
    every = jnp.broadcast_to(friction[..., None], (*friction.shape, 3))
    return replace(model, shapes=replace(model.shapes, friction=every))


def states_and_models() -> None:
    """Check more copies than a chunk holds, each with its own state and one array of the model
    of its own; the forces are the same for all."""
    copies = 130
    model, state = scene()
    models = rubbed(model, jnp.linspace(0.1, 0.9, copies))
    states = thrown(state, copies)
    axes = jax.tree.map(lambda _: None, model)
    axes = replace(axes, shapes=replace(axes.shapes, friction=0))
    forces = jnp.zeros((STEPS, 3, 6)).at[:, 1, 1].set(0.5)
    outcome = rollout_batch(models, states, STEPPER, STEPS, forces, model_axes=axes, every=4)
    assert len(outcome[0].position.sharding.device_set) == jax.device_count()
    assert outcome[1].state.position.shape == (copies, STEPS // 4, 3, 3)

    def single_run(model: Model, state: State) -> object:
        return motion(rollout(model, state, STEPPER, STEPS, forces, every=4))

    close(motion(outcome), jax.jit(jax.vmap(single_run, (axes, 0)))(models, states))
    compiled: list[str] = []
    jax.monitoring.register_event_duration_secs_listener(
        lambda event, *_, **__: compiled.append(event)
    )
    again = rollout_batch(models, outcome[0], STEPPER, STEPS, forces, model_axes=axes, every=4)
    assert "/jax/core/compile/backend_compile_duration" not in compiled
    close(again[0].time, np.full(copies, 2 * STEPS * STEPPER.h))


def fewer_copies_than_devices() -> None:
    """Check three copies that start from one state, each with its own forces."""
    model, state = scene()
    forces = jnp.asarray(np.random.default_rng(0).normal(size=(3, STEPS, 3, 6)))
    outcome = rollout_batch(model, state, STEPPER, STEPS, forces)
    alone = jax.vmap(lambda f: rollout(model, state, STEPPER, STEPS, f))(forces)
    close(motion(outcome), motion(alone))


def steps_of_a_batch() -> None:
    """Check one step of each copy, with a model of its own, by a function written for one copy."""
    copies = 11
    model, state = scene()
    models = rubbed(model, jnp.linspace(0.1, 0.9, copies))
    axes = jax.tree.map(lambda _: None, model)
    axes = replace(axes, shapes=replace(axes.shapes, friction=0)), 0

    def single_step(model: Model, state: State) -> object:
        return STEPPER.step(model, state)[0]

    both = [mapping(single_step, axes) for mapping in (chunked_vmap, jax.vmap)]
    actual, expected = (jax.jit(mapped)(models, thrown(state, copies)) for mapped in both)
    close(actual, expected)


def gradients() -> None:
    """Check gradients by the copies' own velocities and by the friction that all share. The
    number of copies is prime, so that neither chunks nor several devices divide it."""
    copies = 131
    model, state = scene()
    states = thrown(state, copies)

    def many(model: Model, states: State) -> tuple[State, Trajectory]:
        return rollout_batch(model, states, STEPPER, STEPS, memory=800_000)

    def plain(model: Model, states: State) -> tuple[State, Trajectory]:
        return jax.vmap(lambda s: rollout(model, s, STEPPER, STEPS))(states)

    def gradient(run: Callable) -> tuple[Array, Array]:
        def loss(friction: Array, velocity: Array) -> Array:
            final, path = run(rubbed(model, friction), replace(states, velocity=velocity))
            return jnp.sum(final.position**2) + jnp.sum(path.state.velocity[..., 0])

        return jax.grad(loss, (0, 1))(jnp.array(0.4), states.velocity)

    gradient = jax.jit(gradient, static_argnums=0)
    expected = gradient(plain)
    assert all(float(jnp.linalg.norm(part)) > 1.0 for part in expected)
    # Another program rounds otherwise, which the solver's tolerance of 1e-10 m/s lets through.
    close(gradient(many), expected, 1e-9)


def room_for_contacts() -> None:
    """Check that there is room for the contacts of the copy with most of them. The first copy
    never lands."""
    builder = ModelBuilder()
    builder.add_shape(0, Plane())
    for i in range(3):
        builder.add_solid(Box((0.1, 0.1, 0.1)), 1.0, position=(i, 0, 0.2))
    model, state = builder.build()
    gravity = jnp.array([[0, 0, 0], [0, 0, -10.0]])
    models = replace(model, gravity=gravity)
    axes = replace(jax.tree.map(lambda _: None, model), gravity=0)
    final, path = rollout_batch(models, state, STEPPER, 40, model_axes=axes, check=True)
    assert path.report.contacts.max(axis=1).tolist() == [0, 12]
    close(final.position[:, 1:, 2], np.repeat([[0.2], [0.1]], 3, axis=1), 1e-4)


CHECKS = {
    check.__name__: check
    for check in (
        states_and_models,
        fewer_copies_than_devices,
        steps_of_a_batch,
        gradients,
        room_for_contacts,
    )
}


def main(devices: int, names: list[str]) -> None:
    jax.config.update("jax_num_cpu_devices", devices)
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_disable_most_optimizations", True)
    assert jax.device_count() == devices
    for name in names:
        CHECKS[name]()
        print(name, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2:])
