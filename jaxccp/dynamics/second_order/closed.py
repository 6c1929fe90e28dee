"""States and velocities brought back to where joints, limits and contacts allow them to be."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.derivative import Gradient, plain
from jaxccp.ccp.solution import Statistics
from jaxccp.ccp.solve import Stop
from jaxccp.ccp.solver import Solver
from jaxccp.dynamics.projection import project
from jaxccp.dynamics.second_order.mobility import Configuration
from jaxccp.dynamics.second_order.placed import placed
from jaxccp.model.kinematics import tree_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State


def closed(
    model: Model,
    state: State,
    velocity: Float[Array, " nv"],
    h: Float[Array, ""] | float,
    solver: Solver | str,
    stop: Stop,
    gradient: Gradient,
) -> tuple[State, Float[Array, " nv"], Statistics]:
    """The state with its poses moved the least, by mass, so that loops and held tendons are closed,
    limits kept and rigid contacts not in penetration; and velocities nearest to ``velocity`` that
    the loops allow, after a step of ``h`` [s]. (Eich, SIAM J. Numer. Anal. 30, 1993.)"""
    after, statistics = project(model, state, 1, solver, stop, plain(gradient), True, h)
    after = placed(model, after, jnp.zeros_like(velocity), velocity)
    linkage = model.topology.linkage
    if not len(linkage.closing):
        return after, velocity, statistics
    motion = tree_motion(model, after)
    mobility = Configuration.of(model, after, motion).mobility()
    assert mobility.saddle is not None
    pairs, held = linkage.bodies[linkage.bilateral[0]], linkage.routing.bilateral
    shut = jnp.einsum("rbi,rbi->r", motion.bilateral, after.twist[pairs])
    rate = motion.tendon.rate[held] - model.tendons.bilateral_rate(after.time)[held]
    missed = jnp.concatenate([shut, rate])[linkage.closing]
    still = jnp.zeros_like(velocity)[:, None]
    more, _ = mobility.saddle.solve(still, missed[:, None])
    velocity = velocity + mobility.velocities.unwhiten(more[:, 0])
    return placed(model, after, jnp.zeros_like(velocity), velocity), velocity, statistics
