"""PushT: a round pusher moves a T-shaped block on a table to a given pose."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.ccp.problem import Law
from jaxccp.envs.task import Moment, Start, Task
from jaxccp.math import quaternion, safe
from jaxccp.math.draw import Key

EDGE = ((0.08, 0.04), (0.08, 0.0), (0.02, 0.0), (0.02, -0.12))
CORNERS = np.array([(side * x, y) for side in (1, -1) for x, y in EDGE])
"""Corners of the T in its own frame [m]."""
CLEAR = 0.15
"""Initial distance of the pusher from the T's frame [m], larger than that of all corners."""
REACH = 0.35
"""Distance along x or y beyond which the pusher cannot bring the T back [m]."""
CLOSE_DISTANCE = 0.1
"""Mean distance of the corners at which the reward is a quarter of its maximum [m]."""


@dataclass(frozen=True, kw_only=True)
class PushT(Task):
    """Push a T on a table to a given pose.

    Observation: position of the pusher [m]; position [m] of the T, cos and sin of its angle;
    velocity of the pusher [m/s]; velocity [m/s] and rate [rad/s] of the T; position [m] of the
    goal, cos and sin of its angle.

    Reward: ``close`` is 1 if all corners of the T are at those of the goal, and falls with their
    mean distance; ``near`` is minus the distance from the pusher to the T times ``near_weight``
    [1/m]; ``success`` is 1 if the T is within ``place_tolerance`` and ``angle_tolerance``. The
    episode is terminated if the pusher cannot reach the T.

    An action is the position to which two servos pull the pusher [m]. The T is held on the table by
    its weight and Coulomb friction only: under the convex law it would lift by 0.7 mm at 0.26 m/s,
    and a push would turn it less.
    """

    terms: ClassVar = ("close", "near", "success")
    sim_dt: float = 0.005
    ctrl_dt: float = 0.05
    episode_steps: int = 300
    max_contacts: int | None = None
    law: Law = "ncp"
    goal: tuple[float, float, float] = (0.0, 0.0, np.pi / 4)
    """Position [m] and angle [rad] of the goal."""
    start_reach: float = 0.1
    """Largest initial distance of the T from the middle, along x and along y [m]."""
    start_turn: float = np.pi / 4
    """Smallest initial angle of the T from that of the goal [rad]."""
    near_weight: float = 0.1
    """Cost per distance from the pusher to the T [1/m]."""
    place_tolerance: float = 0.01
    """Largest distance that counts as success [m]."""
    angle_tolerance: float = 0.1
    """Largest angle that counts as success [rad]."""

    def start(self, key: Key, qpos: Float[Array, "9"], qvel: Float[Array, "8"]) -> Start:
        drawn = jax.random.uniform(key, (4,), qpos.dtype)
        place = self.start_reach * (2 * drawn[:2] - 1)
        t_angle = self.goal[2] + self.start_turn + 2 * (np.pi - self.start_turn) * drawn[2]
        pusher = place + CLEAR * _direction(2 * np.pi * drawn[3])
        cos, sin = _direction(t_angle / 2)
        qpos = qpos.at[:2].set(pusher).at[2:4].set(place).at[5].set(cos).at[8].set(sin)
        x, y, angle = self.goal
        goal = jnp.array([x, y, np.cos(angle), np.sin(angle)], qpos.dtype)
        return Start(qpos, qvel, goal)

    def observe(self, moment: Moment) -> Float[Array, "15"]:
        moving = (moment.qvel[:4], moment.qvel[7:])
        return jnp.concatenate([moment.qpos[:2], _pose(moment), *moving, moment.goal])

    def rewards(self, before: Moment, moment: Moment) -> tuple[Float[Array, ""], ...]:
        pose = _pose(moment)
        distance = jnp.mean(safe.norm(_corners(pose) - _corners(moment.goal)))
        return (
            1 - jnp.tanh(distance / CLOSE_DISTANCE),
            -self.near_weight * safe.norm(moment.qpos[:2] - pose[:2]),
            self._arrived(pose, moment.goal).astype(pose.dtype),
        )

    def terminated(self, moment: Moment) -> Bool[Array, ""]:
        return jnp.any(jnp.abs(moment.qpos[2:4]) > REACH)

    def _arrived(self, pose: Float[Array, "4"], goal: Float[Array, "4"]) -> Bool[Array, ""]:
        close = safe.norm(pose[:2] - goal[:2]) < self.place_tolerance
        return close & (pose[2:] @ goal[2:] > np.cos(self.angle_tolerance))


def _direction(angle: Float[Array, ""]) -> Float[Array, "2"]:
    return jnp.stack([jnp.cos(angle), jnp.sin(angle)])


def _pose(moment: Moment) -> Float[Array, "4"]:
    """Return the pose of the T on the table: its position [m], and cos and sin of its angle."""
    direction = quaternion.to_matrix(moment.qpos[5:9])[:2, 0]
    return jnp.concatenate([moment.qpos[2:4], direction])


def _corners(pose: Float[Array, "4"]) -> Float[Array, "8 2"]:
    """Return the positions of the corners on the table [m]."""
    cos, sin = pose[2], pose[3]
    axes = jnp.stack([jnp.stack([cos, sin]), jnp.stack([-sin, cos])])
    return pose[:2] + jnp.asarray(CORNERS, pose.dtype) @ axes
