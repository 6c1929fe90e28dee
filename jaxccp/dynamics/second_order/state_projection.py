"""Projection of states and velocities to where joints, limits and contacts allow them to be."""

import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.derivative import Gradient, plain
from jaxccp.ccp.solution import Statistics
from jaxccp.ccp.solve import Stop
from jaxccp.ccp.solver import Solver
from jaxccp.dynamics.projection import project
from jaxccp.dynamics.second_order.mobility import Configuration
from jaxccp.model.kinematics.configuration import integrate_configuration
from jaxccp.model.kinematics.joint_motion import tree_motion
from jaxccp.model.model import Model
from jaxccp.model.row_order import row_order
from jaxccp.model.state import State


def project_state(
    model: Model,
    state: State,
    velocity: Float[Array, " nv"],
    h: Float[Array, ""] | float,
    solver: Solver | str,
    stop: Stop,
    gradient: Gradient,
) -> tuple[State, Float[Array, " nv"], Statistics]:
    """Project the poses and the velocities of a state on the constraints, after a step.

    Bodies move as little as possible, by mass, so that loops and tendons of given length are
    closed, limits hold and rigid contacts do not penetrate. Velocities become the nearest ones that
    the loops allow (Eich, SIAM J. Numer. Anal. 30, 1993).

    Args:
        model: the model.
        state: the state after a step.
        velocity: generalised velocities of the state.
        h: length of the step [s].
        solver: algorithm for the cone problem of the positions.
        stop: stopping criterion of the solver.
        gradient: derivative of a solve that has not converged.

    Returns:
        The state, its velocities, and the statistics of the solve.
    """
    after, statistics = project(
        model, state, 1, solver, stop, plain(gradient), h, velocity=velocity
    )
    linkage, order = model.topology.linkage, row_order(model.topology.linkage)
    if not len(order.loop_rows):
        return after, velocity, statistics
    motion = tree_motion(model, after)
    mobility = Configuration.of(model, after, motion).mobility()
    assert mobility.saddle is not None
    pairs = linkage.bodies[linkage.bilateral[0]]
    loop_rates = jnp.einsum("rbi,rbi->r", motion.bilateral, after.twist[pairs])
    tendon_rates = motion.tendon.rate - model.tendons.bilateral_rate(after.time)
    rate_error = order.loop_row_values(loop_rates, tendon_rates)
    zero = jnp.zeros_like(velocity)[:, None]
    change, _ = mobility.saddle.solve(zero, rate_error[:, None])
    velocity = velocity + mobility.space.unwhiten(change[:, 0])
    return (
        integrate_configuration(model, after, jnp.zeros_like(velocity), velocity),
        velocity,
        statistics,
    )
