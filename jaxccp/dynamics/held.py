"""Statics of what is held: loops of joints, tendons of given length, joints on families' frames.

    f(z) + Aᵀ λ = 0,  φ(z) = 0,  A = ∂φ/∂z

for the pose z in tangent coordinates and the multipliers λ, forces along the rows A.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.linalg import block_diag, solve_triangular
from jaxtyping import Array, Float

from jaxccp.dynamics import at_rest
from jaxccp.dynamics.inertia import family_energy, spring_energy, weight_energy
from jaxccp.dynamics.reduced.shake import errors_of
from jaxccp.math import safe
from jaxccp.math.saddle import Saddle
from jaxccp.model.kinematics import tree_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State

VANISHING = 0.1
"""Of the length of the longest row."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Balance:
    """What acts on a pose with given multipliers."""

    potential: Float[Array, ""]
    """U [J]."""
    push: Float[Array, " nv"]
    """f + Aᵀ λ."""
    missed: Float[Array, " m"]
    """φ [m, rad]."""


def acts(model: Model) -> bool:
    """Whether anything is held, or has springs on frames of families."""
    linkage = model.topology.linkage
    return bool(len(linkage.closing)) or bool(linkage.rows_on(model.topology.carried).any())


def balance(model: Model, state: State, hold: Float[Array, " m"]) -> Balance:
    """What acts at rest with the multipliers ``hold``."""
    return _balance(model, state, *_slope(model, state, hold, _no_change(model, state)))


def curved(
    model: Model, state: State, hold: Float[Array, " m"]
) -> tuple[Float[Array, "nv nv"], Float[Array, "m nv"], Balance]:
    """Second derivatives of the potential of rigid bodies and of springs along axes and tendons,
    less λ φ; A; and what :func:`balance` gives."""

    def acting(z: Array) -> tuple[tuple[Array, Array], tuple[Array, tuple[Array, Array]]]:
        slope, (missed, potential) = _slope(model, state, hold, z)
        return (slope, missed), (slope, (missed, potential))

    (coupled, rows), found = jax.jacfwd(acting, has_aux=True)(_no_change(model, state))
    return coupled, rows, _balance(model, state, *found)


def _balance(
    model: Model, state: State, slope: Float[Array, " nv"], at: tuple[Array, Array]
) -> Balance:
    missed, potential = at
    push = _families_push(model, state) - slope
    return Balance(potential + family_energy(model, state), push, missed)


def _families_push(model: Model, state: State) -> Float[Array, " nv"]:
    """The families' own forces, none being on the trees."""
    tree = jnp.zeros(model.topology.dofs.count, state.position.dtype)
    own = [at_rest.force(model, *pair) for pair in at_rest.families(model, state)]
    return jnp.concatenate([tree, *own])


def saddle_of(rows: Float[Array, "m nv"], whitened: Float[Array, "m nv"]) -> Saddle:
    """The rows A, once whitened, factorised."""
    length = safe.norm(rows)
    return Saddle.of(whitened, safe.divide(safe.norm(whitened) * least(length), length))


def least(length: Float[Array, " m"]) -> Float[Array, " m"]:
    """Lengths by which rows are measured: one that hardly anything moves here is not to count for
    more than it does elsewhere."""
    return jnp.maximum(length, VANISHING * jnp.max(length, initial=0.0))


def linearised(
    model: Model, state: State, root: Float[Array, "nv nv"]
) -> tuple[Float[Array, "nv nv"], Saddle]:
    """K at rest, with the curvature of the rows under the forces by which they hold, and the rows
    of velocities that Cholesky's factor ``root`` of the masses has whitened."""

    rows, slope = jax.jacrev(lambda z: _away(model, state, z))(_no_change(model, state))
    saddle = saddle_of(rows, solve_triangular(root, rows.T, lower=True).T)
    push = solve_triangular(root, _families_push(model, state) - slope, lower=True)
    _, hold = saddle.solve(push[:, None], jnp.zeros((len(rows), 1), root.dtype))
    coupled, _, _ = curved(model, state, hold[:, 0])
    own = [at_rest.stiffness(model, *pair) for pair in at_rest.families(model, state)]
    tree = jnp.zeros((model.topology.dofs.count,) * 2, root.dtype)
    return coupled + block_diag(tree, *own), saddle


def rotors(model: Model, state: State) -> Float[Array, "nv nv"]:
    """Masses of rotors along tendons and along axes that close loops; none other is in those of
    the trees."""
    linkage, nothing = model.topology.linkage, _no_change(model, state)
    others = np.setdiff1d(linkage.compliant, model.topology.dofs.axes)
    if not len(others):
        return jnp.zeros((len(nothing),) * 2, nothing.dtype)

    def coordinates(z: Array) -> Array:
        motion = tree_motion(model, at_rest.moved(model, state, z))
        return jnp.concatenate([motion.coordinate, motion.tendon.length])[others]

    rates = jax.jacfwd(coordinates)(nothing)
    return rates.T @ (model.axes.armature[others, None] * rates)


def _slope(
    model: Model, state: State, hold: Float[Array, " m"], z: Float[Array, " nv"]
) -> tuple[Float[Array, " nv"], tuple[Float[Array, " m"], Float[Array, ""]]]:
    """The slope of U − λ φ, ``z`` away; φ and U there."""

    def coupled(z: Array) -> tuple[Array, tuple[Array, Array]]:
        missed, potential = _away(model, state, z)
        return potential - hold @ missed, (missed, potential)

    return jax.grad(coupled, has_aux=True)(z)


def _away(
    model: Model, state: State, z: Float[Array, " nv"]
) -> tuple[Float[Array, " m"], Float[Array, ""]]:
    """φ, and the potential U of rigid bodies and of springs along axes and tendons, ``z`` away."""
    there = at_rest.moved(model, state, z)
    motion = tree_motion(model, there)
    potential = weight_energy(model, there) + spring_energy(model, motion)
    return errors_of(model, motion, there.time), potential


def _no_change(model: Model, state: State) -> Float[Array, " nv"]:
    count = model.topology.dofs.count + sum(len(here.v) for here in state.families)
    return jnp.zeros(count, state.position.dtype)
