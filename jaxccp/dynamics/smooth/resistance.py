"""How penalty forces fall with the velocities at the end of a step that is implicit in them."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int

from jaxccp.collision.detect import Contacts
from jaxccp.dynamics.contact_rows import contact_jacobian, rows_on_bodies
from jaxccp.dynamics.impact import Action
from jaxccp.math import safe
from jaxccp.model.smooth.laws import Tangential
from jaxccp.model.smooth.touch import NormalLaw, Touch

SPIN, ROLL = slice(3, 4), slice(4, 6)
"""Where in a contact's velocities those about the normal and about the tangents are."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Resistance:
    """The impulses λ = h f + h R u⁻ − B u⁺, B = h R + h² K, of contacts over a step h: f is their
    force at its start, u the relative velocity then and at its end; along the normal, the two
    tangents and, where contacts roll, about these. R = −∂f/∂u and K = −∂f/∂x are diagonal and not
    negative."""

    rows: Float[Array, "c 2 w 6"]
    """u by the twists of the two bodies."""
    bodies: Int[Array, "c 2"]
    slope: Float[Array, "c w"]
    """B [kg, kg m²]."""
    pull: Float[Array, "c w"]
    """h R u⁻ [N s, N m s]."""
    frame: Float[Array, "c 3 3"]
    """Rows: normal and two tangents, world."""

    def change(self, twist: Float[Array, "nb 6"]) -> Float[Array, "c w"]:
        """λ − h f at the twists at the end of the step, those of fixed bodies 0; world axes,
        linear, then angular."""
        velocity = jnp.einsum("cswi,csi->cw", self.rows, twist[self.bodies])
        local = self.pull - self.slope * velocity
        parts = local.reshape(len(local), -1, 3)
        return jnp.einsum("cij,cki->ckj", self.frame, parts).reshape(local.shape)


def resistance(
    contacts: Contacts,
    action: Action,
    relative: Float[Array, "c w"],
    force: Float[Array, "c w"],
    falling: tuple[Float[Array, "c w"], Float[Array, "c w"]],
    h: Float[Array, ""] | float,
) -> Resistance:
    """Return it for contacts with ``force`` at ``relative`` velocities of their surfaces, both in
    the contacts' axes; ``falling`` are R and K."""
    live = contacts.live[:, None]
    fading, stiff = (jnp.where(live, part, 0.0) for part in falling)
    rows = rows_on_bodies(contact_jacobian(action, rolls=force.shape[1] > 3))
    pull = h * fading * relative
    return Resistance(rows, contacts.bodies, h * fading + h * h * stiff, pull, action.frame)


def slopes(
    touch: Touch,
    law: NormalLaw,
    stretching: Tangential,
    present: Float[Array, " c"],
    slides: Bool[Array, " c"],
    relative: Float[Array, "c w"],
    force: Float[Array, "c w"],
    h: Float[Array, ""] | float,
) -> tuple[Float[Array, "c w"], Float[Array, "c w"]]:
    """R and K of contacts: those of springs and dashpots, the normal one being Hertz's and the
    like at this overlap.

    Friction that slides on through the step is constant. That which would turn the slip round, and
    resistance to spinning and rolling, keep the ratio of force and velocity, so that they fall to
    nothing where that does.
    """

    def pressing(overlap: Array) -> Array:
        return law.coefficients(replace(touch, overlap=overlap)).normal_stiffness * overlap

    springs = law.coefficients(touch)
    _, steep = jax.jvp(pressing, (touch.overlap,), (jnp.ones_like(touch.overlap),))
    none = jnp.zeros_like(steep)
    ratio = _ratio(force[:, 1:3], relative[:, 1:3])
    ratio = jnp.where(slides & (h * ratio < touch.mass), 0.0, ratio)
    if law.by_speed:
        across, shear = ratio, none
    else:
        lasting, passing = springs.tangential_stiffness, none
        if stretching != "multi-step":
            lasting, passing = none, h * lasting if stretching == "one-step" else none
        across = springs.tangential_damping + passing
        slips = slides & (ratio < across + h * lasting)
        across, shear = jnp.where(slips, ratio, across), jnp.where(slips, 0.0, lasting)
    fading = [present * springs.normal_damping, across, across]
    stiff = [jnp.maximum(steep, 0.0), shear, shear]
    if force.shape[1] > 3:
        spin, roll = (_ratio(force[:, part], relative[:, part]) for part in (SPIN, ROLL))
        fading, stiff = [*fading, spin, roll, roll], [*stiff, none, none, none]
    return jnp.stack(fading, axis=1), jnp.stack(stiff, axis=1)


def _ratio(force: Float[Array, "c k"], velocity: Float[Array, "c k"]) -> Float[Array, " c"]:
    return safe.divide(safe.norm(force), safe.norm(velocity))
