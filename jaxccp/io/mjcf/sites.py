"""Sites: named frames on bodies."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.io.mjcf.bodies import Frames
from jaxccp.io.mjcf.source import Source
from jaxccp.math import quaternion
from jaxccp.model.state import State

Place = tuple[int, np.ndarray, np.ndarray]
"""A body of the file; position [m] and quaternion in its frame."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FrameMotion:
    """Of frames; world axes."""

    position: Float[Array, "n 3"]
    quaternion: Float[Array, "n 4"]
    velocity: Float[Array, "n 3"]
    spin: Float[Array, "n 3"]
    """Angular velocity [rad/s]."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Sites:
    """Of all sites of a file, in its order."""

    position: Float[Array, "n 3"]
    """In the axes of our body, from its centre of mass [m]."""
    quaternion: Float[Array, "n 4"]
    names: tuple[str, ...] = field(metadata={"static": True})
    bodies: tuple[int, ...] = field(metadata={"static": True})
    """Ours."""

    def index(self, name: str) -> int:
        """Place of a site by name."""
        if name not in self.names:
            known = ", ".join(filter(None, self.names)) or "none"
            raise ValueError(f"no site named {name!r}; the file has {known}")
        return self.names.index(name)

    def poses(self, state: State) -> tuple[Float[Array, "n 3"], Float[Array, "n 4"]]:
        """Positions [m] and orientations (w, x, y, z) in the world."""
        facing = state.quaternion[self._body]
        place = state.position[self._body] + self._arm(state)
        return place, quaternion.multiply(facing, self.quaternion)

    def velocities(self, state: State) -> tuple[Float[Array, "n 3"], Float[Array, "n 3"]]:
        """Linear [m/s] and angular velocities [rad/s], world axes."""
        spin = state.angular_velocity[self._body]
        return state.velocity[self._body] + jnp.cross(spin, self._arm(state)), spin

    def motion(self, state: State) -> FrameMotion:
        """Poses and velocities."""
        return FrameMotion(*self.poses(state), *self.velocities(state))

    def accelerations(
        self, state: State, body: Float[Array, "nb 6"]
    ) -> tuple[Float[Array, "n 3"], Float[Array, "n 3"]]:
        """Linear [m/s²] and angular [rad/s²], world axes, of those of the bodies."""
        arm, spin = self._arm(state), state.angular_velocity[self._body]
        own = body[self._body]
        swung = jnp.cross(own[:, 3:], arm) + jnp.cross(spin, jnp.cross(spin, arm))
        return own[:, :3] + swung, own[:, 3:]

    @property
    def _body(self) -> np.ndarray:
        return np.array(self.bodies, np.int32)

    def _arm(self, state: State) -> Float[Array, "n 3"]:
        """From the centre of mass, world axes."""
        return quaternion.rotate(state.quaternion[self._body], self.position)


def sites(source: Source, frames: Frames) -> Sites:
    """Those of the file."""
    m = source.m
    places = [(int(m.site_bodyid[i]), m.site_pos[i], m.site_quat[i]) for i in range(m.nsite)]
    return attached(frames, places, [source.name("site", site) for site in range(m.nsite)])


def attached(frames: Frames, places: Sequence[Place], names: Sequence[str] = ()) -> Sites:
    """Frames on bodies of the file as frames on ours."""
    poses = [frames.pose(*place) for place in places]
    return Sites(
        jnp.asarray(np.array([pose[0] for pose in poses]).reshape(-1, 3), float),
        jnp.asarray(np.array([pose[1] for pose in poses]).reshape(-1, 4), float),
        tuple(names),
        tuple(int(frames.body[place[0]]) for place in places),
    )
