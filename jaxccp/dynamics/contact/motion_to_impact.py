"""Motion of bodies from the start of a step to the time of impact."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.contact.impact import Action
from jaxccp.dynamics.inertia import invertible, world_inertia
from jaxccp.math import linear3, quaternion
from jaxccp.model.model import Model
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class MotionToImpact:
    """Motion of bodies until their impact, to first order: bodies without joints, and those outside
    the dense mass matrix, rotate freely; the joints of trees change the twists of the others."""

    time: Float[Array, " c"]
    """Time until each contact's impact [s]."""
    spin: Float[Array, "nb 3"]
    """Angular velocity of each body that rotates [rad/s]; zero for the others."""
    inertia: Float[Array, "nb 3 3"]
    """Inertia at the start of the step, world axes [kg m²]; the identity for fixed bodies."""
    bodies: Int[Array, "c 2"]
    """The two bodies of each contact."""
    twist_bias: Float[Array, "nb 6"] | None = None
    """Rates of the twists of jointed bodies at constant joint rates [m/s², rad/s²]; None:
    neglected."""

    @staticmethod
    def of(
        model: Model,
        state: State,
        contacts: Contacts,
        action: Action,
        free_velocity: Float[Array, "nb 6"],
        h: Float[Array, ""] | float,
        twist_bias: Float[Array, "nb 6"] | None = None,
    ) -> "MotionToImpact":
        """Return the motion of a step until its impacts, without contact.

        Args:
            model: the model.
            state: the state at the start of the step.
            contacts: the contacts there.
            action: times of impact of the contacts.
            free_velocity: twists of the bodies without contact.
            h: length of the step [s].
            twist_bias: rates of the twists of jointed bodies, or None to neglect them.
        """
        rotating = model.topology.unjointed | model.topology.standalone
        spin = jnp.where(jnp.asarray(rotating)[:, None], free_velocity[:, 3:], 0.0)
        inertia = invertible(model, world_inertia(model, quaternion.to_matrix(state.quaternion)))
        return MotionToImpact(h * action.delay, spin, inertia, contacts.bodies, twist_bias)

    def twists_at_impact(self, twist: Float[Array, "nb 6"]) -> Float[Array, "c 2 6"]:
        """Return the twists at the impact for the momenta that ``twist`` has at the start of the
        step.

        d(I⁻¹L)/dt = ω × I⁻¹L − I⁻¹(ω × L).
        """
        momentum = jnp.einsum("bij,bj->bi", self.inertia, twist[:, 3:])
        lost = linear3.inverse(self.inertia) @ linear3.cross(self.spin, momentum)[:, :, None]
        rate = linear3.cross(self.spin, twist[:, 3:]) - lost[:, :, 0]
        change = jnp.pad(rate, ((0, 0), (3, 0)))
        if self.twist_bias is not None:
            change = change + self.twist_bias
        return twist[self.bodies] + self.time[:, None, None] * change[self.bodies]

    def rows_at_start(self, rows: Float[Array, "c 2 w 3"]) -> Float[Array, "c 2 w 3"]:
        """Return angular parts of rows, rotated back with the bodies from the impact to the start
        of the step."""
        rotation = self.time[:, None, None] * self.spin[self.bodies]
        return rows - linear3.cross(rotation[:, :, None], rows)
