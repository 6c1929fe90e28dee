"""Tables of tendons, and their lengths, rates and Jacobians at a state."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.content import ByContent
from jaxccp.math import quaternion, safe
from jaxccp.math.linear3 import cross
from jaxccp.model.tendons.functions import Functions, imposed


@dataclass(frozen=True, eq=False)
class Routing(ByContent):
    """The static data of nt tendons: the axes, points and bodies that they connect.

    Each tendon has w slots for the movable bodies that it acts on. The slot number w stands for any
    fixed body; forces in it are dropped.
    """

    tendons: tuple[str, ...]
    """Name of each tendon."""
    bodies: np.ndarray
    """Body in each slot, 0 in a slot without one [nt w]."""
    bilateral: np.ndarray
    """Tendons with an imposed length, a constant or a function of time."""
    terms: np.ndarray
    """Tendon and axis of each term of a coupling [m 2]."""
    term_slots: np.ndarray
    """Slots of the two bodies of that axis [m 2]."""
    segments: np.ndarray
    """Tendon, first and last point of each straight part of a path [k 3]."""
    segment_slots: np.ndarray
    """Slots of the bodies of these two points [k 2]."""
    point_body: np.ndarray
    """Body that each point is fixed to [p]."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Tendons:
    """Data of the tendons; see :class:`jaxccp.model.tendons.Tendon`.

    Stiffness and the other forces along tendons are in ``Model.axes``.
    """

    polynomial: Float[Array, "m d"]
    """Coefficients of each term of a coupling, lowest degree first."""
    point: Float[Array, "p 3"]
    """Each point of a path, from its body's centre of mass, in body axes [m]."""
    length: Float[Array, " nt"]
    """Imposed constant length [m, rad]; 0 for all other tendons."""
    motions: Functions
    """Imposed lengths that are functions of time."""
    laws: Functions
    """Force laws: forces as functions of length, rate and time."""

    @property
    def has_force_laws(self) -> bool:
        """True if any tendon has a force law."""
        return bool(self.laws.groups)

    def bilateral_length(self, time: Float[Array, ""]) -> Float[Array, " nt"]:
        """Return the imposed length of each tendon at a time [m, rad]; 0 if it has none."""
        return imposed(self.motions, self.length, time)

    def bilateral_rate(self, time: Float[Array, ""]) -> Float[Array, " nt"]:
        """Return the time derivative of each imposed length [m/s, rad/s]."""
        return jax.jvp(self.bilateral_length, (time,), (jnp.ones_like(time),))[1]

    def bilateral_acceleration(self, time: Float[Array, ""]) -> Float[Array, " nt"]:
        """Return the second time derivative of each imposed length [m/s², rad/s²]."""
        return jax.jvp(self.bilateral_rate, (time,), (jnp.ones_like(time),))[1]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TendonMotion:
    """The motion of all tendons at a state."""

    length: Float[Array, " nt"]
    """Length of each tendon [m, rad]."""
    rate: Float[Array, " nt"]
    """Time derivative of the length [m/s, rad/s]."""
    row: Float[Array, "nt w 6"]
    """Jacobian of the length: ``rate`` is its product with the twists (linear, angular; world
    axes) of the bodies in ``Routing.bodies``."""


def tendon_motion(
    routing: Routing,
    tendons: Tendons,
    coordinate: Float[Array, " na"],
    axis: Float[Array, "na 2 6"],
    pose: tuple[Float[Array, "nb 3"], Float[Array, "nb 4"]],
    twist: Float[Array, "nb 6"],
) -> TendonMotion:
    """Return lengths, rates and rows of tendons.

    The length of a coupling is Σ p_k(q_k), that of a path Σ ‖x_{i+1} − x_i‖.

    Args:
        routing: the axes, points and bodies of the tendons.
        tendons: their numbers.
        coordinate: coordinate of each axis [m, rad].
        axis: Jacobian of each axis's coordinate, by the twists of its joint's two bodies.
        pose: positions of the bodies' centres of mass [m] and orientations.
        twist: twist of each body (linear, angular; world axes).
    """
    count, width = routing.bodies.shape
    length = jnp.zeros(count, coordinate.dtype)
    row = jnp.zeros((count, width + 1, 6), coordinate.dtype)
    if len(routing.terms):
        tendon, axes = routing.terms.T
        value, slope = polynomial(tendons.polynomial, coordinate[axes])
        length = length.at[tendon].add(value)
        parts = slope[:, None, None] * axis[axes]
        row = row.at[tendon[:, None], routing.term_slots].add(parts)
    if len(routing.segments):
        tendon, ends = routing.segments[:, 0], routing.segments[:, 1:]
        arm = quaternion.rotate(pose[1][routing.point_body], tendons.point)
        position = pose[0][routing.point_body] + arm
        difference = position[ends[:, 1]] - position[ends[:, 0]]
        distance = safe.norm(difference)
        length = length.at[tendon].add(distance)
        pull = safe.divide(difference, distance[:, None])[:, None]
        pull = pull * jnp.asarray([[-1.0], [1.0]], difference.dtype)
        parts = jnp.concatenate([pull, cross(arm[ends], pull)], axis=-1)
        row = row.at[tendon[:, None], routing.segment_slots].add(parts)
    row = row[:, :width]
    return TendonMotion(length, jnp.einsum("tbi,tbi->t", row, twist[routing.bodies]), row)


def polynomial(coefficients: Float[Array, "m d"], x: Float[Array, " m"]) -> tuple[Array, Array]:
    """Return the values and first derivatives of m polynomials, each at its own x, by Horner's
    scheme.

    Args:
        coefficients: coefficients of each polynomial, lowest degree first.
        x: argument of each polynomial.
    """
    value = slope = jnp.zeros_like(x)
    for k in reversed(range(coefficients.shape[1])):
        slope = slope * x + value
        value = value * x + coefficients[:, k]
    return value, slope
