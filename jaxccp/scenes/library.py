"""The built-in scenes by name; a new one is a file and a line here."""

from collections.abc import Callable

import jax

from jaxccp.math.draw import Key
from jaxccp.model import Model, State
from jaxccp.scenes.beam_and_ball import beam_and_ball
from jaxccp.scenes.billiards import billiards
from jaxccp.scenes.cable_over_peg import cable_over_peg
from jaxccp.scenes.cloth_on_sphere import cloth_on_sphere
from jaxccp.scenes.cube_toss import cube_toss
from jaxccp.scenes.granular_smc import granular_smc
from jaxccp.scenes.incline import incline
from jaxccp.scenes.stack import stack

Scene = Callable[[Key], tuple[Model, State]]
"""A function from a random key to a model, which does not depend on the key, and an initial state,
in JAX's current default precision. It can be traced."""

SCENES: dict[str, Scene] = {
    name: jax.jit(scene)
    for name, scene in {
        "cube-toss": cube_toss,
        "stack": stack,
        "incline": incline,
        "billiards": billiards,
        "granular-smc": granular_smc,
        "cable": cable_over_peg,
        "beam": beam_and_ball,
        "cloth-on-sphere": cloth_on_sphere,
    }.items()
}
"""The scenes by name, compiled, so that every call returns the same topology object."""


def batch(scene: Scene, key: Key, copies: int) -> tuple[Model, State]:
    """Return the model of a scene, and several initial states stacked along a leading axis.

    Args:
        scene: a scene of :data:`SCENES`.
        key: random key; it is split into one key for each copy.
        copies: number of states.
    """
    return jax.vmap(scene, out_axes=(None, 0))(jax.random.split(key, copies))
