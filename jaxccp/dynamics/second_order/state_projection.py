"""Projection of states and velocities to where joints, limits and contacts allow them to be."""

from dataclasses import replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.ccp.derivative import Gradient, plain
from jaxccp.ccp.solution import Statistics
from jaxccp.ccp.solve import Stop
from jaxccp.ccp.solver import Solver
from jaxccp.dynamics.projection import project
from jaxccp.dynamics.second_order.mobility import Configuration
from jaxccp.execution.jitted import jitted
from jaxccp.model.kinematics.configuration import generalised_velocities, integrate_configuration
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
    if not len(row_order(model.topology.linkage).loop_rows):
        return after, velocity, statistics
    at = Configuration.of(model, after, tree_motion(model, after))
    zero = jnp.zeros_like(velocity)
    change, _ = at.mobility().accelerations(zero, _loop_rate_errors(at, after.twist))
    velocity = velocity + change
    return integrate_configuration(model, after, zero, velocity), velocity, statistics


@jitted
def with_fitting_velocities(model: Model, state: State) -> State:
    """Return the state with the velocities nearest to its own, by mass, that its joints and tendons
    of given length allow.

    These are the velocities after the impulses of joints that act at once: M v = Jᵀ P + Aᵀ λ with
    the momenta P of bodies and rotors, as steps by momentum take them. Velocities that fit the
    joints stay as they are, to rounding. Rotors then turn at the rates of their axes and tendons.

    Args:
        model: nv degrees of freedom in reduced coordinates.
        state: joints are where its ``joint_positions`` have them.
    """
    topology = model.topology
    if not topology.linkage.linked:
        return state
    motion = tree_motion(model, state)
    at = Configuration.of(model, state, motion)
    rates = generalised_velocities(model, state, motion)
    # Momenta beyond those at these rates, so that fitting velocities do not pass through M⁻¹.
    twist = at.space.twists(rates)
    rotors = model.axes.armature * (at.step(1.0).rotor_rate - at.coordinate_jacobian @ rates)
    surplus = at.space.pull(at.mass.apply(state.twist - twist)) + rotors @ at.coordinate_jacobian
    change, _ = at.mobility().accelerations(surplus, _loop_rate_errors(at, twist))
    velocity = rates + change
    moving, twist = jnp.asarray(topology.movable)[:, None], at.space.twists(velocity)
    pairs = zip(state.families, at.space.families(velocity), strict=True)
    return replace(
        state,
        velocity=jnp.where(moving, twist[:, :3], state.velocity),
        angular_velocity=jnp.where(moving, twist[:, 3:], state.angular_velocity),
        families=tuple(replace(family, v=v) for family, v in pairs),
        rotors=jax.tree.map(jnp.zeros_like, state.rotors),
    )


def _loop_rate_errors(at: Configuration, twist: Float[Array, "nb 6"]) -> Float[Array, " m"]:
    """Return the rates along the rows that close loops and set tendon lengths, minus imposed ones
    [m/s, rad/s], at these twists of the bodies."""
    model, linkage = at.model, at.model.topology.linkage
    motions = jnp.zeros(len(linkage.bilateral[0]), twist.dtype)
    imposed = model.tendons.bilateral_rate(at.state.time)
    return at.loop_rows().velocity(twist) - row_order(linkage).loop_row_values(motions, imposed)
