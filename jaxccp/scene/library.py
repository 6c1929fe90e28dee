"""The built-in scenes by name; a new one is a file and a line here."""

from collections.abc import Callable

import jax

from jaxccp.model import Model, State
from jaxccp.scene.billiards import billiards
from jaxccp.scene.cube_toss import cube_toss
from jaxccp.scene.draw import Key
from jaxccp.scene.incline import incline
from jaxccp.scene.stack import stack

Scene = Callable[[Key], tuple[Model, State]]
"""From a random key to a model, the same for every key, and an initial state that depends on it.

Built in JAX's current default precision; traceable in the key.
"""

SCENES: dict[str, Scene] = {
    name: jax.jit(scene)
    for name, scene in {
        "cube-toss": cube_toss,
        "stack": stack,
        "incline": incline,
        "billiards": billiards,
    }.items()
}
"""Compiled, so that every call gives the very same topology, and programs made for it serve on."""


def batch(scene: Scene, key: Key, copies: int) -> tuple[Model, State]:
    """One model and ``copies`` initial states, stacked along a leading axis."""
    return jax.vmap(scene, out_axes=(None, 0))(jax.random.split(key, copies))
