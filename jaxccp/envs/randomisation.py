"""Domain randomisation: a batch of models, one for each copy of an environment."""

from collections.abc import Callable
from dataclasses import replace

import jax
import numpy as np
from jaxtyping import Array, Float, PyTree

from jaxccp.envs.env import Env
from jaxccp.model.model import Model
from jaxccp.names import unknown
from jaxccp.scene.draw import Key

Randomise = Callable[[Key, Model], Model]
"""A function from a random key to another model of the same topology."""
Range = tuple[float, float]
Factor = Callable[[tuple[int, ...]], Array]
"""Factors drawn for an array of some shape."""


def friction(model: Model, factor: Factor) -> Model:
    """Coulomb coefficients of the shapes."""
    given = model.shapes.friction
    return replace(model, shapes=replace(model.shapes, friction=given * factor(given.shape)))


def mass(model: Model, factor: Factor) -> Model:
    """Masses of the bodies, and inertias with them."""
    bodies = model.bodies
    times = factor(bodies.mass.shape)
    heavier = replace(
        bodies, mass=bodies.mass * times, inertia=bodies.inertia * times[:, None, None]
    )
    return replace(model, bodies=heavier)


def gravity(model: Model, factor: Factor) -> Model:
    """The acceleration by gravity."""
    return replace(model, gravity=model.gravity * factor(()))


def damping(model: Model, factor: Factor) -> Model:
    """Damping along axes and tendons."""
    given = model.axes.damping
    return replace(model, axes=replace(model.axes, damping=given * factor(given.shape)))


def stiffness(model: Model, factor: Factor) -> Model:
    """Stiffness along axes and tendons."""
    given = model.axes.stiffness
    return replace(model, axes=replace(model.axes, stiffness=given * factor(given.shape)))


def armature(model: Model, factor: Factor) -> Model:
    """Inertia of the rotors along axes and tendons."""
    given = model.axes.armature
    return replace(model, axes=replace(model.axes, armature=given * factor(given.shape)))


def strength(model: Model, factor: Factor) -> Model:
    """What actuators exert, before their force limits."""
    given = model.actuators
    times = factor(given.gain.shape)
    names = ("gain", "offset", "stiffness", "damping")
    stronger = {name: getattr(given, name) * times for name in names}
    return replace(model, actuators=replace(given, **stronger))


RANDOMISED = {
    known.__name__: known
    for known in (friction, mass, gravity, damping, stiffness, armature, strength)
}
"""What can be randomised, by name; a new one is a function and a name here."""


def randomisation(**ranges: Range) -> Randomise:
    """A function ``randomise(key, model)`` that multiplies each named parameter by factors drawn
    uniformly from its own range, one for each shape, body, axis or actuator.

    Args:
        ranges: lowest and highest factor, positive, by the names of :data:`RANDOMISED`.

    Raises:
        ValueError: for a name that is not known, or a range that is none.
    """
    for name, (low, high) in ranges.items():
        if name not in RANDOMISED:
            raise ValueError(f"cannot randomise {unknown(name, RANDOMISED)}")
        if not 0 < low <= high < np.inf:
            raise ValueError(f"{name}: factors are drawn from 0 < low <= high, not {(low, high)}")

    def randomise(key: Key, model: Model) -> Model:
        dtype = model.gravity.dtype
        for own, (name, (low, high)) in zip(
            jax.random.split(key, len(ranges)), ranges.items(), strict=True
        ):

            def factor(
                shape: tuple[int, ...], own: Key = own, low: float = low, high: float = high
            ) -> Float[Array, "..."]:
                return jax.random.uniform(own, shape, dtype, low, high)

            model = RANDOMISED[name](model, factor)
        return model

    return randomise


def randomised(env: Env, randomise: Randomise, keys: Key) -> tuple[Env, PyTree[int | None]]:
    """An environment whose model has the values of each copy on a leading axis, and its axes.

    ``jax.vmap(lambda env, state, action: env.step(state, action), in_axes=(axes, 0, 0))`` steps all
    copies, ``reset`` likewise; what the function leaves alone all copies share.

    Args:
        env: any.
        randomise: a function of a key and a model, such as :func:`randomisation` returns.
        keys: one for each copy.
    """
    one = randomise(keys[0], env.model)
    own = jax.tree.map(lambda before, after: None if after is before else 0, env.model, one)
    models = jax.vmap(randomise, (0, None), own)(keys, env.model)
    return env.with_model(models), jax.tree.map(lambda _: None, env).with_model(own)
