"""The built-in scenes by name; a new one is a file and a line here."""

from collections.abc import Callable

import jax

from jaxccp.model import Model, State
from jaxccp.scene.beam_and_ball import beam_and_ball
from jaxccp.scene.billiards import billiards
from jaxccp.scene.cable_over_peg import cable_over_peg
from jaxccp.scene.cloth_on_sphere import cloth_on_sphere
from jaxccp.scene.cube_toss import cube_toss
from jaxccp.scene.draw import Key
from jaxccp.scene.granular_smc import granular_smc
from jaxccp.scene.incline import incline
from jaxccp.scene.stack import stack

Scene = Callable[[Key], tuple[Model, State]]
"""A function from a random key to a model, which is the same for every key, and an initial state.

They are in JAX's current default precision. The function can be traced.
"""

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
"""The scenes, compiled, so that every call returns the very same topology."""


def batch(scene: Scene, key: Key, copies: int) -> tuple[Model, State]:
    """Return one model, and initial states stacked along a leading axis.

    Args:
        scene: from :data:`SCENES`.
        key: is split into one key per copy.
        copies: number of states.
    """
    return jax.vmap(scene, out_axes=(None, 0))(jax.random.split(key, copies))
