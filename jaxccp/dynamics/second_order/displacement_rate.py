"""The rate of a displacement along generalised velocities."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.math.linear3 import cross
from jaxccp.model.model import Model


def displacement_rate(
    model: Model, displacement: Float[Array, " nv"], velocity: Float[Array, " nv"]
) -> Float[Array, " nv"]:
    """Return the rate of a displacement (:mod:`jaxccp.model.kinematics.configuration`) at these
    velocities.

    For rotation vectors it is the inverse of the differential of the exponential, to the third
    order in them (Munthe-Kaas, BIT 38, 1998); all else is ``velocity`` itself.

    Args:
        model: the model.
        displacement: displacement from the start of the step [m, rad].
        velocity: velocities [m/s, rad/s].
    """
    topology, dofs = model.topology, model.topology.dofs
    first, free_bodies = dofs.first_axis, 6 * np.count_nonzero(topology.standalone)
    rate = velocity
    for twists in (np.arange(first), np.arange(free_bodies) + len(velocity) - free_bodies):
        if not len(twists):
            continue
        rotation, spin = (part[twists].reshape(-1, 6)[:, 3:] for part in (displacement, velocity))
        body_rates = velocity[twists].reshape(-1, 6)
        body_rates = body_rates.at[:, 3:].set(_rotation_vector_rate(rotation, spin, 1.0))
        rate = rate.at[twists].set(body_rates.reshape(-1))
    ball = np.array(topology.linkage.motions, str)[dofs.axes] == "ball"
    balls = np.flatnonzero(ball).reshape(-1, 3)
    if not len(balls):
        return rate
    # Rotation vectors of balls are in body axes, those of roots in world axes.
    direction = model.axes.direction[dofs.axes[balls]]
    rotation, spin = (
        jnp.einsum("bki,bk->bi", direction, part[first + balls])
        for part in (displacement, velocity)
    )
    rates_ = jnp.einsum("bki,bi->bk", direction, _rotation_vector_rate(rotation, spin, -1.0))
    return rate.at[first + balls].set(rates_)


def _rotation_vector_rate(
    rotation: Float[Array, "n 3"], spin: Float[Array, "n 3"], side: float
) -> Array:
    """Return ω ∓ ½ θ × ω + θ × (θ × ω)/12."""
    cross_product = cross(rotation, spin)
    return spin - 0.5 * side * cross_product + cross(rotation, cross_product) / 12.0
