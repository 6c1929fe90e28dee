"""PushT: a round pusher moves a T-shaped block on a table into its place."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.ccp.problem import Law
from jaxccp.envs.task import Moment, Start, Task
from jaxccp.math import quaternion, safe
from jaxccp.scene.draw import Key

EDGE = ((0.08, 0.04), (0.08, 0.0), (0.02, 0.0), (0.02, -0.12))
CORNERS = np.array([(side * x, y) for side in (1, -1) for x, y in EDGE])
"""Of the T in its own frame [m]."""
CLEAR = 0.15
"""The pusher starts so far from the T's frame [m], which is beyond all corners."""
FAR = 0.35
"""From further away along x or y [m] the pusher cannot bring the T back."""
NEAR = 0.1
"""Mean distance of the corners [m] at which the reward for them has fallen to a quarter."""


@dataclass(frozen=True, kw_only=True)
class PushT(Task):
    """Observation: place of the pusher [m]; place [m] of the T, cos and sin of its angle; speeds of
    the pusher [m/s]; speeds [m/s] and rate [rad/s] of the T; place [m] of the goal, cos and sin of
    its angle.

    Reward: ``close`` is 1 where all corners of the T are at those of the goal, and falls with their
    mean distance; ``near`` is minus the distance from the pusher to the T by ``near_weight`` [1/m];
    ``success`` is 1 where the T is within ``place_tolerance`` and ``angle_tolerance``. It is over
    where the T is out of the pusher's reach.

    An action is the place [m] to which two servos pull the pusher. The T lies on the table by its
    weight, and Coulomb's law of friction alone holds it: under the convex law it lifts by 0.7 mm at
    0.26 m/s, and a push turns it less.
    """

    terms: ClassVar = ("close", "near", "success")
    sim_dt: float = 0.005
    ctrl_dt: float = 0.05
    episode_steps: int = 300
    max_contacts: int | None = None
    law: Law = "ncp"
    goal: tuple[float, float, float] = (0.0, 0.0, np.pi / 4)
    """Place [m] and angle [rad]."""
    start_reach: float = 0.1
    """The T starts within this of the middle along x and y [m]."""
    start_turn: float = np.pi / 4
    """The T's angle is at least so far from the goal's at the start [rad]."""
    near_weight: float = 0.1
    place_tolerance: float = 0.01
    """In m."""
    angle_tolerance: float = 0.1
    """In rad."""

    def start(self, key: Key, qpos: Float[Array, "9"], qvel: Float[Array, "8"]) -> Start:
        drawn = jax.random.uniform(key, (4,), qpos.dtype)
        place = self.start_reach * (2 * drawn[:2] - 1)
        turn = self.goal[2] + self.start_turn + 2 * (np.pi - self.start_turn) * drawn[2]
        pusher = place + CLEAR * _facing(2 * np.pi * drawn[3])
        cos, sin = _facing(turn / 2)
        qpos = qpos.at[:2].set(pusher).at[2:4].set(place).at[5].set(cos).at[8].set(sin)
        x, y, angle = self.goal
        goal = jnp.array([x, y, np.cos(angle), np.sin(angle)], qpos.dtype)
        return Start(qpos, qvel, goal)

    def observe(self, now: Moment) -> Float[Array, "16"]:
        moving = (now.qvel[:4], now.qvel[7:])
        return jnp.concatenate([now.qpos[:2], _pose(now), *moving, now.goal])

    def rewards(self, before: Moment, now: Moment) -> tuple[Float[Array, ""], ...]:
        pose = _pose(now)
        apart = jnp.mean(safe.norm(_corners(pose) - _corners(now.goal)))
        return (
            1 - jnp.tanh(apart / NEAR),
            -self.near_weight * safe.norm(now.qpos[:2] - pose[:2]),
            self._arrived(pose, now.goal).astype(pose.dtype),
        )

    def terminated(self, now: Moment) -> Bool[Array, ""]:
        return jnp.any(jnp.abs(now.qpos[2:4]) > FAR)

    def _arrived(self, pose: Float[Array, "4"], goal: Float[Array, "4"]) -> Bool[Array, ""]:
        close = safe.norm(pose[:2] - goal[:2]) < self.place_tolerance
        return close & (pose[2:] @ goal[2:] > np.cos(self.angle_tolerance))


def _facing(angle: Float[Array, ""]) -> Float[Array, "2"]:
    return jnp.stack([jnp.cos(angle), jnp.sin(angle)])


def _pose(now: Moment) -> Float[Array, "4"]:
    """Return the pose of the T on the table: its place [m], and cos and sin of its angle."""
    along = quaternion.to_matrix(now.qpos[5:9])[:2, 0]
    return jnp.concatenate([now.qpos[2:4], along])


def _corners(pose: Float[Array, "4"]) -> Float[Array, "8 2"]:
    """Return where the corners are on the table [m]."""
    cos, sin = pose[2], pose[3]
    turned = jnp.stack([jnp.stack([cos, sin]), jnp.stack([-sin, cos])])
    return pose[:2] + jnp.asarray(CORNERS, pose.dtype) @ turned
