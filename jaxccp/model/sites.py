"""Sites: named frames on bodies."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.math import quaternion
from jaxccp.math.linear3 import cross
from jaxccp.model.state import State
from jaxccp.names import index


@dataclass(frozen=True)
class Site:
    """A frame on a body."""

    body: int | str
    """Index or name."""
    position: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0)
    """In the body's axes, from its centre of mass [m]."""
    quaternion: Sequence[float] | np.ndarray = (1.0, 0.0, 0.0, 0.0)
    """Orientation (w, x, y, z) in the body's axes."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FrameMotion:
    """How frames stand and move; world axes."""

    position: Float[Array, "n 3"]
    """[m]"""
    quaternion: Float[Array, "n 4"]
    velocity: Float[Array, "n 3"]
    """[m/s]"""
    spin: Float[Array, "n 3"]
    """Angular velocity [rad/s]."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Sites:
    """A table of frames on bodies; their names are empty where nobody asks for them by name."""

    position: Float[Array, "n 3"]
    """In the body's axes, from its centre of mass [m]."""
    quaternion: Float[Array, "n 4"]
    names: tuple[str, ...] = field(metadata={"static": True})
    bodies: tuple[int, ...] = field(metadata={"static": True})

    @staticmethod
    def of(frames: Sequence[Site], names: Iterable[str]) -> "Sites":
        """The table of checked frames, whose bodies are indices, in JAX's default precision."""
        return Sites(
            jnp.asarray(np.array([frame.position for frame in frames]).reshape(-1, 3), float),
            jnp.asarray(np.array([frame.quaternion for frame in frames]).reshape(-1, 4), float),
            tuple(names),
            tuple(int(frame.body) for frame in frames),
        )

    def index(self, name: str) -> int:
        """Place of a site by name. Raises ``ValueError`` for one that there is not."""
        return index("the model", "site", self.names, name)

    def joined(self, other: "Sites") -> "Sites":
        """These, then ``other``."""
        return Sites(
            jnp.concatenate([self.position, other.position]),
            jnp.concatenate([self.quaternion, other.quaternion]),
            self.names + other.names,
            self.bodies + other.bodies,
        )

    def resolve(self, places: Sequence[int]) -> "Sites":
        """Some of them, by their places."""
        kept = np.array(places, np.int32)
        return Sites(
            self.position[kept],
            self.quaternion[kept],
            tuple(self.names[place] for place in places),
            tuple(self.bodies[place] for place in places),
        )

    def poses(self, state: State) -> tuple[Float[Array, "n 3"], Float[Array, "n 4"]]:
        """Positions [m] and orientations (w, x, y, z) in the world."""
        facing = state.quaternion[self._body]
        place = state.position[self._body] + self._arm(state)
        return place, quaternion.multiply(facing, self.quaternion)

    def velocities(self, state: State) -> tuple[Float[Array, "n 3"], Float[Array, "n 3"]]:
        """Linear [m/s] and angular velocities [rad/s], world axes."""
        spin = state.angular_velocity[self._body]
        return state.velocity[self._body] + cross(spin, self._arm(state)), spin

    def motion(self, state: State) -> FrameMotion:
        """Poses and velocities."""
        return FrameMotion(*self.poses(state), *self.velocities(state))

    def accelerations(
        self, state: State, body: Float[Array, "nb 6"]
    ) -> tuple[Float[Array, "n 3"], Float[Array, "n 3"]]:
        """Linear [m/s²] and angular [rad/s²] accelerations, world axes, from those of the bodies'
        centres of mass."""
        arm, spin = self._arm(state), state.angular_velocity[self._body]
        own = body[self._body]
        swung = cross(own[:, 3:], arm) + cross(spin, cross(spin, arm))
        return own[:, :3] + swung, own[:, 3:]

    @property
    def _body(self) -> np.ndarray:
        return np.array(self.bodies, np.int32)

    def _arm(self, state: State) -> Float[Array, "n 3"]:
        """Return the way from the centre of mass, in world axes."""
        return quaternion.rotate(state.quaternion[self._body], self.position)
