"""Tendons as tables, and where they are: lengths, rates and rows."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.content import ByContent
from jaxccp.math import quaternion, safe
from jaxccp.model.tendons.functions import Functions, imposed


@dataclass(frozen=True, eq=False)
class Routing(ByContent):
    """Where tendons run. Each has slots for the free bodies that it pulls on; what it does to fixed
    ones goes into a slot more, which nothing reads."""

    tendons: tuple[str, ...]
    """Names."""
    bodies: np.ndarray
    """Body of each slot, 0 where a tendon has no more [nt w]."""
    held: np.ndarray
    """Tendons of constant length, and of imposed ones."""
    terms: np.ndarray
    """Tendon and axis of each term of a coupling [m 2]."""
    term_slots: np.ndarray
    """Slots of the bodies of that axis [m 2]."""
    segments: np.ndarray
    """Tendon and two points of each straight part of a cable [k 3]."""
    segment_slots: np.ndarray
    """Slots of the bodies of these points [k 2]."""
    point_body: np.ndarray
    """Body of each point [p]."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Tendons:
    """See :class:`jaxccp.model.tendons.Tendon`; what acts along them is among ``Model.axes``."""

    polynomial: Float[Array, "m d"]
    """Of each term, lowest degree first."""
    point: Float[Array, "p 3"]
    """From the centre of mass, in body axes [m]."""
    length: Float[Array, " nt"]
    """At which those are held that are; 0 for those with a motion."""
    motions: Functions
    """Lengths that are imposed over time."""
    laws: Functions
    """Forces along tendons."""

    @property
    def ruled(self) -> bool:
        """Whether any tendon has a force law."""
        return bool(self.laws.groups)

    def held_at(self, time: Float[Array, ""]) -> Float[Array, " nt"]:
        """Lengths at which those are held that are, at a time."""
        return imposed(self.motions, self.length, time)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class TendonMotion:
    """Of all tendons at a state."""

    length: Float[Array, " nt"]
    rate: Float[Array, " nt"]
    row: Float[Array, "nt w 6"]
    """Rows that give the rates: of the twists (linear, angular; world) of ``Routing.bodies``."""


def tendon_motion(
    routing: Routing,
    tendons: Tendons,
    coordinate: Float[Array, " na"],
    axis: Float[Array, "na 2 6"],
    pose: tuple[Float[Array, "nb 3"], Float[Array, "nb 4"]],
    twist: Float[Array, "nb 6"],
) -> TendonMotion:
    """Lengths are Σ p_k(q_k) of couplings and Σ ‖x_{i+1} − x_i‖ of cables; ``axis`` has the rows
    that give the rates of the joints' coordinates, ``pose`` positions and orientations."""
    count, width = routing.bodies.shape
    length = jnp.zeros(count, coordinate.dtype)
    row = jnp.zeros((count, width + 1, 6), coordinate.dtype)
    if len(routing.terms):
        tendon, axes = routing.terms.T
        value, slope = _polynomial(tendons.polynomial, coordinate[axes])
        length = length.at[tendon].add(value)
        parts = slope[:, None, None] * axis[axes]
        row = row.at[tendon[:, None], routing.term_slots].add(parts)
    if len(routing.segments):
        tendon, ends = routing.segments[:, 0], routing.segments[:, 1:]
        arm = quaternion.rotate(pose[1][routing.point_body], tendons.point)
        place = pose[0][routing.point_body] + arm
        apart = place[ends[:, 1]] - place[ends[:, 0]]
        distance = safe.norm(apart)
        length = length.at[tendon].add(distance)
        pull = safe.divide(apart, distance[:, None])[:, None]
        pull = pull * jnp.asarray([[-1.0], [1.0]], apart.dtype)
        parts = jnp.concatenate([pull, jnp.cross(arm[ends], pull)], axis=-1)
        row = row.at[tendon[:, None], routing.segment_slots].add(parts)
    row = row[:, :width]
    return TendonMotion(length, jnp.einsum("tbi,tbi->t", row, twist[routing.bodies]), row)


def _polynomial(coefficients: Float[Array, "m d"], x: Float[Array, " m"]) -> tuple[Array, Array]:
    """Values and derivatives (Horner)."""
    value = slope = jnp.zeros_like(x)
    for k in reversed(range(coefficients.shape[1])):
        slope = slope * x + value
        value = value * x + coefficients[:, k]
    return value, slope
