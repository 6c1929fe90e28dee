"""Domain randomisation: a batch of models, one for each copy of an environment."""

from collections.abc import Callable
from dataclasses import replace

import jax
import numpy as np
from jaxtyping import Array, Float, PyTree

from jaxccp.envs.env import Env
from jaxccp.math.draw import Key
from jaxccp.model.model import Model
from jaxccp.model.ranges import check_range
from jaxccp.names import unknown

Randomise = Callable[[Key, Model], Model]
"""A function from a random key and a model to another model of the same topology."""
Range = tuple[float, float]
"""Lowest and highest factor."""
Factor = Callable[[tuple[int, ...]], Array]
"""A function that draws factors for an array of a given shape."""


def friction(model: Model, factor: Factor) -> Model:
    """Scale the friction coefficient of each shape, and of each pair of shapes that has its own."""
    shapes = model.shapes
    count = len(shapes.friction)
    times = factor((count + len(shapes.pair_friction),))
    rougher = replace(
        shapes,
        friction=shapes.friction * times[:count],
        pair_friction=shapes.pair_friction.at[:, 0].multiply(times[count:]),
    )
    return replace(model, shapes=rougher)


def mass(model: Model, factor: Factor) -> Model:
    """Scale the mass of each rigid body, and its inertia with it.

    Raises:
        ValueError: the model has flexible bodies.
    """
    if model.families:
        raise ValueError(
            "mass: the model has flexible bodies, whose masses cannot be scaled: leave mass out, "
            "or write a function randomise(key, model) that scales model.bodies.mass and inertia"
        )
    bodies = model.bodies
    times = factor(bodies.mass.shape)
    heavier = replace(
        bodies, mass=bodies.mass * times, inertia=bodies.inertia * times[:, None, None]
    )
    return replace(model, bodies=heavier)


def gravity(model: Model, factor: Factor) -> Model:
    """Scale the acceleration of gravity."""
    return replace(model, gravity=model.gravity * factor(()))


def damping(model: Model, factor: Factor) -> Model:
    """Scale the damping of each axis and tendon, nonlinear damping by the same factor."""
    axes = model.axes
    times = factor(axes.damping.shape)
    damped = replace(
        axes,
        damping=axes.damping * times,
        damping_polynomial=axes.damping_polynomial * times[:, None],
        power_damping=axes.power_damping * times,
    )
    return replace(model, axes=damped)


def stiffness(model: Model, factor: Factor) -> Model:
    """Scale the stiffness of each axis and tendon."""
    nominal = model.axes.stiffness
    return replace(model, axes=replace(model.axes, stiffness=nominal * factor(nominal.shape)))


def armature(model: Model, factor: Factor) -> Model:
    """Scale the rotor inertia of each axis and tendon."""
    nominal = model.axes.armature
    return replace(model, axes=replace(model.axes, armature=nominal * factor(nominal.shape)))


def strength(model: Model, factor: Factor) -> Model:
    """Scale the force of each actuator, before its limits."""
    nominal = model.actuators
    times = factor(nominal.gain.shape)
    names = ("gain", "offset", "stiffness", "damping")
    stronger = {name: getattr(nominal, name) * times for name in names}
    return replace(model, actuators=replace(nominal, **stronger))


RANDOMISED = {
    randomise_.__name__: randomise_
    for randomise_ in (friction, mass, gravity, damping, stiffness, armature, strength)
}
"""Parameters that can be randomised, by name; a new one is a function and a name here."""


def randomisation(**ranges: Range) -> Randomise:
    """Return a function ``randomise(key, model)`` that scales parameters by random factors.

    Each parameter has factors drawn uniformly from its own range, one for each shape, pair of
    shapes with its own friction, body, axis, tendon or actuator; gravity has a single one.

    Args:
        ranges: lowest and highest factor, positive, by the names of :data:`RANDOMISED`.

    Raises:
        ValueError: a name is not known, or a range is not 0 < lowest ≤ highest < ∞. The function
            raises it where ``mass`` is among the names and the model has flexible bodies.
    """
    for name, bounds in ranges.items():
        if name not in RANDOMISED:
            raise ValueError(f"cannot randomise {unknown(name, RANDOMISED)}")
        check_range(name, bounds)
        if not 0 < bounds[0] <= bounds[1] < np.inf:
            raise ValueError(f"{name}: factors are drawn from 0 < low <= high, not {bounds}")

    def randomise(key: Key, model: Model) -> Model:
        dtype = model.gravity.dtype
        for parameter_key, (name, (low, high)) in zip(
            jax.random.split(key, len(ranges)), ranges.items(), strict=True
        ):

            def factor(
                shape: tuple[int, ...],
                parameter_key: Key = parameter_key,
                low: float = low,
                high: float = high,
            ) -> Float[Array, "..."]:
                return jax.random.uniform(parameter_key, shape, dtype, low, high)

            model = RANDOMISED[name](model, factor)
        return model

    return randomise


def randomised(env: Env, randomise: Randomise, keys: Key) -> tuple[Env, PyTree[int | None]]:
    """Return an environment with a model for each copy, and the axes for ``jax.vmap``.

    Arrays that ``randomise`` changes have a leading axis of copies, all others are shared.
    ``jax.vmap(lambda env, state, action: env.step(state, action), in_axes=(axes, 0, 0))`` steps all
    copies, and likewise for ``reset``.

    Args:
        env: any environment.
        randomise: a function of a key and a model, such as :func:`randomisation` returns.
        keys: one for each copy.
    """
    first = randomise(keys[0], env.model)
    axes = jax.tree.map(lambda before, after: None if after is before else 0, env.model, first)
    models = jax.vmap(randomise, (0, None), axes)(keys, env.model)
    return env.with_model(models), jax.tree.map(lambda _: None, env).with_model(axes)
