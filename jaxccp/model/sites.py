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
    """A frame that is fixed to a body."""

    body: int | str
    """Index or name of the body."""
    position: Sequence[float] | np.ndarray = (0.0, 0.0, 0.0)
    """Origin in the body's axes, from its centre of mass [m]."""
    quaternion: Sequence[float] | np.ndarray = (1.0, 0.0, 0.0, 0.0)
    """Orientation (w, x, y, z) in the body's axes."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FrameMotion:
    """Poses and velocities of n frames in world axes."""

    position: Float[Array, "n 3"]
    """Origins [m]."""
    quaternion: Float[Array, "n 4"]
    """Orientations (w, x, y, z)."""
    velocity: Float[Array, "n 3"]
    """Velocities of the origins [m/s]."""
    angular_velocity: Float[Array, "n 3"]
    """Angular velocities [rad/s]."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Sites:
    """A table of named frames on bodies; ``names`` is empty if no name is needed."""

    position: Float[Array, "n 3"]
    """Origins in the body's axes, from its centre of mass [m]."""
    quaternion: Float[Array, "n 4"]
    """Orientations (w, x, y, z) in the body's axes."""
    names: tuple[str, ...] = field(metadata={"static": True})
    """Name of each site."""
    bodies: tuple[int, ...] = field(metadata={"static": True})
    """Index of each site's body."""

    @staticmethod
    def of(frames: Sequence[Site], names: Iterable[str]) -> "Sites":
        """Return the table of the given frames, in JAX's default precision.

        Args:
            frames: the sites, already checked, with indices as their ``body``.
            names: name of each site.
        """
        return Sites(
            jnp.asarray(np.array([frame.position for frame in frames]).reshape(-1, 3), float),
            jnp.asarray(np.array([frame.quaternion for frame in frames]).reshape(-1, 4), float),
            tuple(names),
            tuple(int(frame.body) for frame in frames),
        )

    def index(self, name: str) -> int:
        """Return the index of a site by name.

        Raises:
            ValueError: no site has that name.
        """
        return index("the model", "site", self.names, name)

    def concatenate(self, sites: "Sites") -> "Sites":
        """Return the table of these sites, followed by those of ``sites``."""
        return Sites(
            jnp.concatenate([self.position, sites.position]),
            jnp.concatenate([self.quaternion, sites.quaternion]),
            self.names + sites.names,
            self.bodies + sites.bodies,
        )

    def take(self, indices: Sequence[int]) -> "Sites":
        """Return the table of the sites with these indices."""
        kept = np.array(indices, np.int32)
        return Sites(
            self.position[kept],
            self.quaternion[kept],
            tuple(self.names[i] for i in indices),
            tuple(self.bodies[i] for i in indices),
        )

    def poses(self, state: State) -> tuple[Float[Array, "n 3"], Float[Array, "n 4"]]:
        """Return positions [m] and orientations (w, x, y, z) of the sites in the world."""
        orientation = state.quaternion[self._body]
        position = state.position[self._body] + self._arm(state)
        return position, quaternion.multiply(orientation, self.quaternion)

    def velocities(self, state: State) -> tuple[Float[Array, "n 3"], Float[Array, "n 3"]]:
        """Return the linear velocity of each site's origin [m/s] and its angular velocity [rad/s],
        in world axes."""
        spin = state.angular_velocity[self._body]
        return state.velocity[self._body] + cross(spin, self._arm(state)), spin

    def motion(self, state: State) -> FrameMotion:
        """Return poses and velocities of the sites in the world."""
        return FrameMotion(*self.poses(state), *self.velocities(state))

    def accelerations(
        self, state: State, body: Float[Array, "nb 6"]
    ) -> tuple[Float[Array, "n 3"], Float[Array, "n 3"]]:
        """Return linear [m/s²] and angular [rad/s²] accelerations of the sites in world axes.

        Args:
            state: poses and twists of the bodies.
            body: linear accelerations of the bodies' centres of mass, then angular accelerations.
        """
        arm, spin = self._arm(state), state.angular_velocity[self._body]
        body_rate = body[self._body]
        relative = cross(body_rate[:, 3:], arm) + cross(spin, cross(spin, arm))
        return body_rate[:, :3] + relative, body_rate[:, 3:]

    @property
    def _body(self) -> np.ndarray:
        """Index of each site's body, as an array."""
        return np.array(self.bodies, np.int32)

    def _arm(self, state: State) -> Float[Array, "n 3"]:
        """Return the vector from the body's centre of mass to each site, in world axes [m]."""
        return quaternion.rotate(state.quaternion[self._body], self.position)
