"""Sites: named frames on bodies."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.io.mjcf.bodies import Frames
from jaxccp.io.mjcf.source import Source
from jaxccp.math import quaternion
from jaxccp.model.state import State


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
        body = np.array(self.bodies, np.int32)
        facing = state.quaternion[body]
        place = state.position[body] + quaternion.rotate(facing, self.position)
        return place, quaternion.multiply(facing, self.quaternion)

    def velocities(self, state: State) -> tuple[Float[Array, "n 3"], Float[Array, "n 3"]]:
        """Linear [m/s] and angular velocities [rad/s], world axes."""
        body = np.array(self.bodies, np.int32)
        arm = quaternion.rotate(state.quaternion[body], self.position)
        spin = state.angular_velocity[body]
        return state.velocity[body] + jnp.cross(spin, arm), spin


def sites(source: Source, frames: Frames) -> Sites:
    """Those of the file."""
    m = source.m
    bodies = [int(body) for body in m.site_bodyid]
    poses = [frames.pose(bodies[i], m.site_pos[i], m.site_quat[i]) for i in range(m.nsite)]
    return Sites(
        jnp.asarray(np.array([pose[0] for pose in poses]).reshape(-1, 3), float),
        jnp.asarray(np.array([pose[1] for pose in poses]).reshape(-1, 4), float),
        tuple(source.name("site", site) for site in range(m.nsite)),
        tuple(int(frames.body[body]) for body in bodies),
    )
