"""Velocities at whose end loops are closed and tendons as long as they are held."""

from dataclasses import replace

import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.dynamics.outcome import Outcome
from jaxccp.dynamics.reduced.advance import moved
from jaxccp.dynamics.reduced.reduced_system import ReducedSystem
from jaxccp.model.kinematics import JointMotion, tree_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State


def corrected(
    model: Model, state: State, system: ReducedSystem, outcome: Outcome, corrections: int
) -> Outcome:
    """The outcome with impulses along the present rows of loops and held tendons by which the poses
    it leads to miss nothing, but h ω per correction of what the one before has left (SHAKE,
    Ryckaert, Ciccotti & Berendsen, J. Comput. Phys. 23, 1977)."""
    closing, h = system.closing, system.h
    if closing is None:
        return outcome
    still = jnp.zeros_like(system.whitened_free)
    loose = len(outcome.transport_velocity) - len(still)

    def carried(added: Array) -> Array:
        return outcome.transport_velocity + jnp.pad(added, (0, loose))

    def once(added: tuple[Array, Array], _: None) -> tuple[tuple[Array, Array], None]:
        velocity, impulses = added
        missed = errors(model, moved(model, state, carried(velocity), h), h)
        more, answer = closing.saddle.solve(still[:, None], missed[:, None] / h)
        return (velocity + system.velocities.unwhiten(more[:, 0]), impulses + answer[:, 0]), None

    start = (still, jnp.zeros_like(closing.settled))
    (velocity, impulses), _ = lax.scan(once, start, None, length=corrections)
    _trees, *families = system.velocities.split(velocity)
    return replace(
        outcome,
        families=tuple(old + new for old, new in zip(outcome.families, families, strict=True)),
        twist=outcome.twist + system.velocities.twists(velocity),
        transport_velocity=carried(velocity),
        scalars=outcome.scalars.at[system.topology.linkage.closing].add(impulses),
    )


def errors(model: Model, state: State, h: Array | float = 0.0) -> Float[Array, " m"]:
    """Return the errors of the rows that close loops and hold tendons, at the end of a step of
    ``h`` [s] that the clock of ``state`` is before."""
    return errors_of(model, tree_motion(model, state), state.time + h)


def errors_of(model: Model, motion: JointMotion, time: Float[Array, ""]) -> Float[Array, " m"]:
    """Likewise, of joints and tendons in a known motion at a time [s]."""
    tendons = model.topology.linkage.routing.bilateral
    lengths = model.tendons.bilateral_length(time)
    missed = jnp.concatenate([motion.error, (motion.tendon.length - lengths)[tendons]])
    return missed[model.topology.linkage.closing]
