"""Decrease of penalty forces with the velocities at the end of a step that is implicit in them."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.contact.contact_jacobian import contact_jacobian, rows_on_bodies
from jaxccp.dynamics.contact.impact import Action
from jaxccp.math import safe
from jaxccp.model.smooth.laws import Tangential
from jaxccp.model.smooth.normal_law import NormalLaw, SmoothContacts

SPIN, ROLL = slice(3, 4), slice(4, 6)
"""Velocity components of a contact: slices of the one about the normal, and of the two about the
tangents."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Resistance:
    """Impulses λ = h f + h R u⁻ − B u⁺ of smooth contacts in an implicit step h, with B = h R + h²
    K.

    f is the force at the start of the step; u⁻ and u⁺ are the relative velocities at its start and
    end, along the normal and the two tangents and, if contacts roll, about them. R = −∂f/∂u and K =
    −∂f/∂x are diagonal and not negative.
    """

    rows: Float[Array, "c 2 w 6"]
    """Rows of u over the twists of the two bodies of each contact."""
    bodies: Int[Array, "c 2"]
    """The two bodies of each contact."""
    velocity_slope: Float[Array, "c w"]
    """B [kg, kg m²]."""
    pull: Float[Array, "c w"]
    """h R u⁻ [N s, N m s]."""
    frame: Float[Array, "c 3 3"]
    """Rows: normal and two tangents, world."""

    def change(self, twist: Float[Array, "nb 6"]) -> Float[Array, "c w"]:
        """Return λ − h f in world axes [N s]; if contacts roll, then the angular part [N m s].

        Args:
            twist: twists of the bodies at the end of the step, zero for fixed bodies.
        """
        velocity = jnp.einsum("cswi,csi->cw", self.rows, twist[self.bodies])
        local = self.pull - self.velocity_slope * velocity
        parts = local.reshape(len(local), -1, 3)
        return jnp.einsum("cij,cki->ckj", self.frame, parts).reshape(local.shape)


def resistance(
    contacts: Contacts,
    action: Action,
    relative: Float[Array, "c w"],
    force: Float[Array, "c w"],
    slopes_: tuple[Float[Array, "c w"], Float[Array, "c w"]],
    h: Float[Array, ""] | float,
) -> Resistance:
    """Return the dependence of contact forces on the velocities after an implicit step.

    Args:
        contacts: the contacts.
        action: frames and levers of the contacts.
        relative: relative velocities of their surfaces, in the contacts' axes.
        force: forces of the contacts, in their axes.
        slopes_: R and K.
        h: length of the step [s].
    """
    live = contacts.live[:, None]
    damping, stiffness = (jnp.where(live, part, 0.0) for part in slopes_)
    rows = rows_on_bodies(contact_jacobian(action, rolls=force.shape[1] > 3))
    pull = h * damping * relative
    return Resistance(rows, contacts.bodies, h * damping + h * h * stiffness, pull, action.frame)


def slopes(
    touch: SmoothContacts,
    law: NormalLaw,
    stretching: Tangential,
    overlap_fraction: Float[Array, " c"],
    slides: Bool[Array, " c"],
    relative: Float[Array, "c w"],
    force: Float[Array, "c w"],
    h: Float[Array, ""] | float,
) -> tuple[Float[Array, "c w"], Float[Array, "c w"]]:
    """Return the damping R [N s/m, N m s] and the stiffness K [N/m, N m] of contacts, along and
    about their axes.

    The normal stiffness is the slope of the law at this overlap. Friction is constant if the
    contact slides on through the step. If it would reverse the slip, friction keeps the ratio of
    force and velocity, so that both vanish together; so does resistance to spinning and rolling.

    Args:
        touch: overlap, mass and materials of the contacts.
        law: normal law.
        stretching: kind of memory of the tangential springs.
        overlap_fraction: part of the step in which surfaces overlap.
        slides: whether friction is at its bound.
        relative: relative velocities of the surfaces, in the contacts' axes.
        force: forces, in the contacts' axes.
        h: length of the step [s].
    """

    def pressing(overlap: Array) -> Array:
        return law.coefficients(replace(touch, overlap=overlap)).normal_stiffness * overlap

    springs = law.coefficients(touch)
    _, normal_stiffness = jax.jvp(pressing, (touch.overlap,), (jnp.ones_like(touch.overlap),))
    none = jnp.zeros_like(normal_stiffness)
    ratio = _ratio(force[:, 1:3], relative[:, 1:3])
    ratio = jnp.where(slides & (h * ratio < touch.mass), 0.0, ratio)
    if law.by_speed:
        tangential_damping, tangential_stiffness = ratio, none
    else:
        spring, spring_damping = springs.tangential_stiffness, none
        if stretching != "multi-step":
            spring, spring_damping = none, h * spring if stretching == "one-step" else none
        tangential_damping = springs.tangential_damping + spring_damping
        slips = slides & (ratio < tangential_damping + h * spring)
        tangential_damping, tangential_stiffness = (
            jnp.where(slips, ratio, tangential_damping),
            jnp.where(slips, 0.0, spring),
        )
    damping = [overlap_fraction * springs.normal_damping, tangential_damping, tangential_damping]
    stiffness = [jnp.maximum(normal_stiffness, 0.0), tangential_stiffness, tangential_stiffness]
    if force.shape[1] > 3:
        spin, roll = (_ratio(force[:, part], relative[:, part]) for part in (SPIN, ROLL))
        damping, stiffness = [*damping, spin, roll, roll], [*stiffness, none, none, none]
    return jnp.stack(damping, axis=1), jnp.stack(stiffness, axis=1)


def _ratio(force: Float[Array, "c k"], velocity: Float[Array, "c k"]) -> Float[Array, " c"]:
    return safe.divide(safe.norm(force), safe.norm(velocity))
