"""Coordinates and poses at the end of a step in reduced coordinates."""

from collections.abc import Callable
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.dynamics.inertia import rotate_freely, spin_of, world_inertia
from jaxccp.dynamics.outcome import Outcome
from jaxccp.dynamics.reduced.bias import trust
from jaxccp.dynamics.reduced.reduced_system import ReducedSystem
from jaxccp.math import linear3, quaternion, safe
from jaxccp.math.linear3 import cross
from jaxccp.model.family_frames import with_frames
from jaxccp.model.forward_kinematics import forward_kinematics
from jaxccp.model.kinematics import joint_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State


def settle(model: Model, state: State) -> State:
    """The state with the coordinates of its joints as the poses of the bodies have them."""
    return replace(state, joint_positions=joint_motion(model, state).coordinate)


def advance(model: Model, state: State, system: ReducedSystem, outcome: Outcome) -> State:
    """The state with the velocities after the step and the poses to which it leads.

    Where all bodies fly straight on, momentum about any point is conserved; bodies on joints do
    not, to third order. A tree that floats is therefore shifted as a whole, so that its centre of
    mass moves with its momentum, and turns as a whole a little faster or slower, by the angular
    momentum that the ways of its bodies would cost; less so where a step is no small angle.
    """
    h = system.h
    after = moved(model, state, outcome.transport_velocity, h)
    momentum = system.mass.apply(outcome.twist) + system.bend
    if system.action.late:
        momentum = momentum.at[:, 3:].add(_overtaken(model, system, outcome))
    mass = system.mass.mass[:, None]
    bent = safe.divide(system.bend[:, :3], mass)
    velocity = outcome.twist[:, :3] + bent
    if outcome.turned is not None:
        momentum = momentum + outcome.turned
        velocity = velocity + safe.divide(outcome.turned[:, :3], mass)
    spin = spin_of(model, after.quaternion, momentum[:, 3:])
    here = zip(after.families, outcome.families, strict=True)
    after = replace(after, families=tuple(replace(old, v=v) for old, v in here))
    if not model.topology.dofs.floating.any():
        return with_frames(model, replace(after, velocity=velocity, angular_velocity=spin))
    straight = system.twists(outcome.transport_velocity)[:, :3] + bent
    missed = state.position + h * straight - after.position
    shift, turn = _conserving(model, after, missed, velocity)
    dofs = model.topology.dofs
    trees = dofs.trees[dofs.floating].astype(missed.dtype)
    turn = (trust(dofs, outcome.twist[:, 3:], h)[dofs.floating] @ trees)[:, None] * turn
    turned = replace(
        after,
        position=after.position + shift,
        velocity=velocity + turn[:, :3],
        angular_velocity=spin + turn[:, 3:],
    )
    return with_frames(model, turned)


def _overtaken(model: Model, system: ReducedSystem, outcome: Outcome) -> Float[Array, "nb 3"]:
    """Angular momentum [N m s] that levers leave out where a body without joints is hit more than
    once in a step: see :meth:`jaxccp.dynamics.maximal.MaximalSystem.after`."""
    free = system.free()
    moved = (outcome.twist - system.twists(free))[:, :3]
    shifted = system.twists(outcome.transport_velocity - free)[:, :3]
    assert outcome.lever_velocity is not None
    flown = system.twists(free)[:, :3]
    late = system.twists(outcome.lever_velocity - outcome.transport_velocity)[:, :3]
    lost = cross(moved, shifted) - cross(flown, late)
    lost = system.h * system.mass.mass[:, None] * lost
    return jnp.where(jnp.asarray(model.topology.dofs.jointed)[:, None], 0.0, lost)


def _conserving(
    model: Model, state: State, missed: Float[Array, "nb 3"], velocity: Float[Array, "nb 3"]
) -> tuple[Float[Array, "nb 3"], Float[Array, "nb 6"]]:
    """How bodies of floating trees are shifted [m], and the twists that are added to theirs, so
    that the ways ``missed`` to where straight flight leads cost no momentum."""
    dtype = missed.dtype
    dofs = model.topology.dofs
    tree = jnp.asarray(dofs.trees[dofs.floating], dtype)
    mass = tree * model.bodies.mass
    share = mass / jnp.maximum(jnp.sum(mass, axis=1, keepdims=True), jnp.finfo(dtype).tiny)
    shift = tree.T @ (share @ missed)
    position = state.position + shift
    lost = mass @ cross(missed - shift, velocity)
    arm = position - tree.T @ (share @ position)
    square = jnp.sum(arm * arm, axis=1)[:, None, None] * jnp.eye(3, dtype=dtype)
    steiner = model.bodies.mass[:, None, None] * (square - arm[:, :, None] * arm[:, None, :])
    inertia = steiner + world_inertia(model, quaternion.to_matrix(state.quaternion))
    inverse = linear3.inverse(jnp.einsum("tb,bij->tij", tree, inertia))
    turn = tree.T @ jnp.einsum("tij,tj->ti", inverse, lost)
    return shift, jnp.concatenate([cross(turn, arm), turn], axis=1)


def moved(
    model: Model, state: State, velocity: Float[Array, " nv+l"], h: Float[Array, ""] | float
) -> State:
    """The state with the poses to which constant velocities lead in ``h`` [s].

    Roots move on, and rotate freely where nothing hangs on them, else at their angular velocity;
    the coordinates of joints grow by their rates, a ball's orientation by its angular velocity, and
    all other bodies are where these put them.
    """
    topology, dofs = model.topology, model.topology.dofs
    sizes = [dofs.count, *(len(here.v) for here in state.families)]
    trees, *families, loose = jnp.split(velocity, np.cumsum(sizes))
    roots = np.concatenate([dofs.roots, np.flatnonzero(topology.loose)])
    moving = jnp.concatenate([trees[: dofs.first_axis], loose]).reshape(-1, 6)
    facing, spin = state.quaternion[roots], moving[:, 3:]
    freely = rotate_freely(model.bodies.inertia[roots], facing, spin, h)
    evenly = quaternion.normalize(quaternion.multiply(quaternion.exp(h * spin), facing))
    turned = jnp.where(jnp.asarray(dofs.jointed)[roots][:, None], evenly, freely)
    rooted = replace(
        state,
        position=state.position.at[roots].add(h * moving[:, :3]),
        quaternion=state.quaternion.at[roots].set(turned),
    )
    change = h * trees[dofs.first_axis :]
    if len(model.topology.linkage.loops):
        change = jnp.zeros_like(state.joint_positions).at[dofs.axes].set(change)
    coordinate = advanced_coordinates(model, state.joint_positions, change)
    here = zip(model.families, state.families, families, strict=True)
    after = [replace(at, q=family.advance(at.q, v, h)) for family, at, v in here]
    placed = forward_kinematics(model, rooted, coordinate)
    return with_frames(model, replace(placed, families=tuple(after)))


def advanced_coordinates(
    model: Model, q: Float[Array, " na"], change: Float[Array, " na"]
) -> Float[Array, " na"]:
    """q + change, but of balls the rotation vectors of exp(q) exp(change)."""
    return _composed(model, q + change, q, change, quaternion.multiply)


def coordinate_change(
    model: Model, q: Float[Array, " na"], after: Float[Array, " na"]
) -> Float[Array, " na"]:
    """after − q, but of balls the rotation vectors of exp(q)⁻¹ exp(after)."""

    def turned(a: Array, b: Array) -> Array:
        return quaternion.multiply(quaternion.conjugate(a), b)

    return _composed(model, after - q, q, after, turned)


def _composed(
    model: Model,
    single: Float[Array, " na"],
    first: Float[Array, " na"],
    second: Float[Array, " na"],
    compose: Callable[[Array, Array], Array],
) -> Float[Array, " na"]:
    """``single``, but of balls the rotation vectors of the orientations composed."""
    balls = np.flatnonzero(np.array(model.topology.linkage.motions) == "ball").reshape(-1, 3)
    if not len(balls):
        return single
    direction = model.axes.direction[balls]

    def turn(x: Array) -> Array:
        return quaternion.exp(jnp.einsum("bki,bk->bi", direction, x[balls]))

    vector = quaternion.log(compose(turn(first), turn(second)))
    return single.at[balls].set(jnp.einsum("bki,bi->bk", direction, vector))
