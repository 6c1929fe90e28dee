"""Coordinates and poses at the end of a step in reduced coordinates."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.dynamics.inertia import rotate_freely
from jaxccp.math import quaternion
from jaxccp.model.kinematics import joint_motion
from jaxccp.model.model import Model
from jaxccp.model.place import place
from jaxccp.model.state import State


def settle(model: Model, state: State) -> State:
    """The state with the coordinates of its joints as the poses of the bodies have them."""
    return replace(state, turns=joint_motion(model, state).coordinate)


def advance(
    model: Model, state: State, velocity: Float[Array, " nv"], h: Float[Array, ""] | float
) -> State:
    """The state with the poses to which constant velocities lead in ``h`` [s].

    Roots move freely; the coordinates of joints grow by their rates, a ball's orientation by its
    angular velocity, and all other bodies are where these put them.
    """
    dofs = model.topology.dofs
    moving = velocity[: dofs.first_axis].reshape(-1, 6)
    turned = rotate_freely(
        model.bodies.inertia[dofs.roots], state.quaternion[dofs.roots], moving[:, 3:], h
    )
    rooted = replace(
        state,
        position=state.position.at[dofs.roots].add(h * moving[:, :3]),
        quaternion=state.quaternion.at[dofs.roots].set(turned),
    )
    coordinate = _advanced(model, state.turns, h * velocity[dofs.first_axis :])
    placed = place(model, rooted, coordinate)
    return replace(placed, velocity=state.velocity, angular_velocity=state.angular_velocity)


def _advanced(model: Model, q: Float[Array, " na"], change: Float[Array, " na"]) -> Array:
    """q + change, but of balls the rotation vectors of exp(q) exp(change)."""
    moved = q + change
    balls = np.flatnonzero(np.array(model.topology.linkage.motions) == "ball").reshape(-1, 3)
    if not len(balls):
        return moved
    direction = model.axes.direction[balls]

    def turn(x: Array) -> Array:
        return quaternion.exp(jnp.einsum("bki,bk->bi", direction, x[balls]))

    vector = quaternion.log(quaternion.multiply(turn(q), turn(change)))
    return moved.at[balls].set(jnp.einsum("bki,bi->bk", direction, vector))
