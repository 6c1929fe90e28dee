"""Poses and velocities after a step."""

from dataclasses import replace

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.dynamics.inertia import rotate_freely, spin_of, world_inertia
from jaxccp.dynamics.outcome import Outcome
from jaxccp.dynamics.trees.bias import small_angle_weight
from jaxccp.math import linear3, quaternion
from jaxccp.math.linear3 import cross
from jaxccp.math.rows import take_rows
from jaxccp.model.kinematics.configuration import (
    integrate_configuration,
    root_and_free_bodies,
    split_velocities,
)
from jaxccp.model.kinematics.family_frames import with_frames
from jaxccp.model.model import Model
from jaxccp.model.state import State


def advance(
    model: Model,
    state: State,
    outcome: Outcome,
    h: Float[Array, ""] | float,
    spin_momentum: Float[Array, "nb 3"],
    velocity: Float[Array, "nb 3"],
    free_flight: Float[Array, "nb 3"],
) -> State:
    """Return the state after the step: its velocities, and the poses to which they lead.

    Joints bend the paths of bodies, which changes momentum about a point by an error of third
    order. Two corrections undo it for a floating tree: all of its bodies are shifted alike, so that
    its centre of mass moves with its momentum, and a common angular velocity restores its angular
    momentum. The second is reduced if bodies rotate by large angles (:func:`small_angle_weight`).

    Args:
        model: the model.
        state: the state before the step.
        outcome: velocities and impulses of the step.
        h: length of the step [s].
        spin_momentum: angular momentum of each body about its centre of mass after the step [N m
            s].
        velocity: velocity of each centre of mass after the step [m/s].
        free_flight: velocities with which the centres of mass would move straight on [m/s].
    """
    after = integrate_poses(model, state, outcome.transport_velocity, h)
    spin = spin_of(model, after.quaternion, spin_momentum)
    pairs = zip(after.families, outcome.families, strict=True)
    after = replace(after, families=tuple(replace(old, v=v) for old, v in pairs))
    if not model.topology.dofs.floating.any():
        return with_frames(model, replace(after, velocity=velocity, angular_velocity=spin))
    position_error = state.position + h * free_flight - after.position
    shift, rotation = _conserving_shift(model, after, position_error, velocity)
    dofs = model.topology.dofs
    trees = dofs.trees[dofs.floating].astype(position_error.dtype)
    rotation = (small_angle_weight(dofs, outcome.twist[:, 3:], h)[dofs.floating] @ trees)[
        :, None
    ] * rotation
    shifted = replace(
        after,
        position=after.position + shift,
        velocity=velocity + rotation[:, :3],
        angular_velocity=spin + rotation[:, 3:],
    )
    return with_frames(model, shifted)


def _conserving_shift(
    model: Model, state: State, position_error: Float[Array, "nb 3"], velocity: Float[Array, "nb 3"]
) -> tuple[Float[Array, "nb 3"], Float[Array, "nb 6"]]:
    """Return the shift of the bodies of floating trees [m], and the twists to add to them.

    Together they compensate for the change of momentum by ``position_error``, the difference
    between straight flight and the new poses.
    """
    dtype = position_error.dtype
    dofs = model.topology.dofs
    tree = jnp.asarray(dofs.trees[dofs.floating], dtype)
    mass = tree * model.bodies.mass
    share = mass / jnp.maximum(jnp.sum(mass, axis=1, keepdims=True), jnp.finfo(dtype).tiny)
    shift = tree.T @ (share @ position_error)
    position = state.position + shift
    missing = mass @ cross(position_error - shift, velocity)
    arm = position - tree.T @ (share @ position)
    square = jnp.sum(arm * arm, axis=1)[:, None, None] * jnp.eye(3, dtype=dtype)
    steiner = model.bodies.mass[:, None, None] * (square - arm[:, :, None] * arm[:, None, :])
    inertia = steiner + world_inertia(model, quaternion.to_matrix(state.quaternion))
    inverse = linear3.inverse(jnp.einsum("tb,bij->tij", tree, inertia))
    rotation = tree.T @ jnp.einsum("tij,tj->ti", inverse, missing)
    return shift, jnp.concatenate([cross(rotation, arm), rotation], axis=1)


def integrate_poses(
    model: Model, state: State, velocity: Float[Array, " nv"], h: Float[Array, ""] | float
) -> State:
    """Return the state with the poses after a time of constant velocities.

    Bodies outside of trees rotate torque-free; all else as in
    :func:`jaxccp.model.kinematics.configuration.integrate_configuration`.

    Args:
        model: the model.
        state: the initial state; its joint coordinates agree with its poses.
        velocity: velocities of trees and families, then twists of bodies outside the mass matrix.
        h: time [s].
    """
    topology, bodies = model.topology, root_and_free_bodies(model.topology)
    jointed = topology.dofs.jointed[bodies]
    if jointed.all():
        return integrate_configuration(model, state, h * velocity)
    spin = split_velocities(topology, state.families, velocity).bodies[:, 3:]
    before = take_rows(state.quaternion, bodies)
    orientation = rotate_freely(take_rows(model.bodies.inertia, bodies), before, spin, h)
    if jointed.any():
        constant_spin = quaternion.normalize(quaternion.multiply(quaternion.exp(h * spin), before))
        orientation = jnp.where(jnp.asarray(jointed)[:, None], constant_spin, orientation)
    return integrate_configuration(model, state, h * velocity, orientation=orientation)
