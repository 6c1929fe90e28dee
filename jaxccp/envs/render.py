"""Frames of environments (extra ``viz``)."""

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import jax
import numpy as np
from jaxtyping import UInt8

from jaxccp.envs.env import Env, EnvState

if TYPE_CHECKING:
    from jaxccp.viz.film import Stage


@dataclass(frozen=True)
class Renderer:
    """Draws an environment, one copy at a time, with a camera that follows the first moving body.

    ``Renderer(env)(state)`` is an array of pixels [height width 3].
    """

    env: Env
    """The environment."""

    @cached_property
    def stage(self) -> "Stage":
        """Position of the camera, with the initial state in the frame."""
        from jaxccp.viz.film import Stage
        from jaxccp.viz.replay import moving_bodies

        start = jax.device_get(jax.jit(self.env.reset)(jax.random.key(0)).physics.state)
        model = self.env.model
        first = int(np.argmax(moving_bodies(model, start.position, start.quaternion)))
        return Stage.around(model, start.position, start.quaternion, first)

    def __call__(self, state: EnvState) -> UInt8[np.ndarray, "h w 3"]:
        """Draw one copy.

        Args:
            state: a state of the environment.

        Raises:
            ValueError: the state is a batch of copies.
        """
        host_state = jax.device_get(state.physics.state)
        if host_state.position.ndim != 2:
            raise ValueError(
                f"one copy is drawn at a time, not {len(host_state.position)}: give "
                "jax.tree.map(lambda leaf: leaf[0], state)"
            )
        return self.stage.frame(host_state.position, host_state.quaternion)
