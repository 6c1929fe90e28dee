"""The motion of trees and families in a step without impulses."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.dynamics.body_mass import BodyMass
from jaxccp.dynamics.forces import total_force
from jaxccp.dynamics.rows import coordinate_rows, scalar_rows
from jaxccp.dynamics.rows.row import Rows, Step
from jaxccp.dynamics.smooth import Resistance
from jaxccp.dynamics.trees.bias import momentum_rate
from jaxccp.dynamics.trees.loop_constraints import LoopConstraints, solve_loops
from jaxccp.dynamics.trees.mass import lower_mass_matrix
from jaxccp.dynamics.trees.screws import Screws, screws
from jaxccp.dynamics.trees.velocity_rows import (
    add_loop_rows,
    coordinate_jacobian,
    lone_velocities,
    row_parts,
)
from jaxccp.dynamics.trees.velocity_space import VelocitySpace
from jaxccp.math.small import plus_diagonal
from jaxccp.model.family import FrameMap
from jaxccp.model.kinematics.joint_motion import JointMotion
from jaxccp.model.model import Model
from jaxccp.model.row_order import row_order
from jaxccp.model.state import State
from jaxccp.model.topology import Topology


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class FreeMotion:
    """Motion of a step without impulses of the rows that remain in the problem."""

    screws: Screws
    """Screws of the degrees of freedom."""
    space: VelocitySpace
    """Generalised velocities, with J and L."""
    whitened: Float[Array, " nv"]
    """L⁻¹ v of the velocities v at the end of the step."""
    before: Float[Array, "nb 6"]
    """Twists of the bodies at the start of the step; 0 for free bodies that are no part of
    ``space``."""
    mass: BodyMass
    """Mass operator of the bodies."""
    impulse: Float[Array, "nb 6"]
    """Impulses of all forces that are neither rows nor joint reactions: gravity, fluid, motors and
    applied forces [N s, N m s]."""
    momentum: Float[Array, "nb 6"]
    """Momenta at the start, plus ``impulse`` [N s, N m s]."""
    half_step_bias: Float[Array, "nb 6"]
    """½ h g, velocity-product momentum of jointed bodies over half a step [N s, N m s]."""
    compliant: Rows
    """Rows that are in M̂."""
    rows: Rows
    """Rows that remain in the problem."""
    loop_and_tendon_rows: Rows | None
    """All scalar rows of joints that close loops and of tendons, over the twists of bodies; None
    without any."""


def solve_free_motion(
    model: Model,
    state: State,
    h: Float[Array, ""] | float,
    force: Float[Array, "nb 6"] | None,
    motion: JointMotion,
    control: Float[Array, " nm"],
    resistance: Resistance | None,
    eliminate: bool,
) -> tuple[FreeMotion, LoopConstraints | None]:
    """Solve the motion of a step without impulses.

    Args:
        model: the model.
        state: the state at the start of the step.
        h: length of the step [s].
        force: applied force [N] and torque [N m] on each body, world axes, or None.
        motion: motion of joints and tendons.
        control: control of each actuator.
        resistance: resistance of the smooth contacts whose forces are in ``force``, or None.
        eliminate: whether to eliminate the rows of loops and tendons of given length.

    Returns:
        The motion, and the rows of loops and tendons of given length, which its velocities satisfy;
        None without any, or if they are not eliminated.
    """
    topology = model.topology
    dofs = topology.dofs
    screws_ = screws(model, state)
    tree_map, coupled = FrameMap(screws_.body_jacobian(state.position)), resistance is not None
    space = VelocitySpace.of(model, state, tree_map, free_bodies=coupled)
    step = Step(
        model,
        state,
        motion,
        h,
        control,
        coordinate_jacobian=coordinate_jacobian(model, motion, space),
    )
    mass = BodyMass.of(model, state)
    impulse = h * total_force(model, state, step, force)
    momentum = mass.apply(state.twist) + impulse

    all_rows = coordinate_rows(step)
    order = row_order(topology.linkage)
    compliant, rows = (all_rows.select(part - order.n_bilateral) for part in row_parts(topology))
    loop_and_tendon_rows = loop_rows = None
    if len(order.loop_and_tendon_rows):
        loop_and_tendon_rows = scalar_rows(replace(step, coordinate_jacobian=None)).select(
            order.loop_and_tendon_rows
        )
        if len(order.loop_rows):
            loop_rows = loop_and_tendon_rows.select(np.arange(len(order.loop_rows)))
    if loop_rows is not None and not eliminate:
        rows = add_loop_rows(space, loop_rows, rows)
    matrix = effective_mass(topology, screws_, tree_map.jacobian, state, mass, compliant)
    momentum_ = space.pull(momentum) - compliant.offset @ compliant.jacobian[:, 0]
    coupling = None
    if resistance is not None:
        rows_ = space.project_rows(resistance.rows, resistance.bodies)
        momentum_ = momentum_ + jnp.einsum("cw,cwv->v", resistance.pull, rows_)
        coupling = jnp.einsum("cwv,cw,cwu->vu", rows_, resistance.velocity_slope, rows_)
    space = space.with_mass_root(model, state, matrix, h, coupling)
    momentum_ = momentum_ + space.family_momenta(model, state, h)
    # At the rates of before, which are those that contacts allow; what that leaves cancels.
    rate = jnp.concatenate([state.twist[dofs.roots].reshape(-1), step.rotor_rate[dofs.axes]])
    parts = [rate, *(family_state.v for family_state in state.families)]
    if space.free_bodies is not None:
        parts.append(space.free_bodies.pull(state.twist))
    before = space.twists(jnp.concatenate(parts))
    half_step_bias = 0.5 * h * momentum_rate(screws_, before, state.position, mass, rate, h)
    free = space.whiten(momentum_ - space.pull(half_step_bias))
    loop_constraints = None
    if loop_rows is not None and eliminate:
        loop_constraints, free = solve_loops(model, state, loop_rows, space, free)
    return FreeMotion(
        screws=screws_,
        space=space,
        whitened=free,
        before=before,
        mass=mass,
        impulse=impulse,
        momentum=momentum,
        half_step_bias=half_step_bias,
        compliant=compliant,
        rows=rows,
        loop_and_tendon_rows=loop_and_tendon_rows,
    ), loop_constraints


def effective_mass(
    topology: Topology,
    screws_: Screws,
    jacobian: Float[Array, "nb 6 n"],
    state: State,
    mass: BodyMass,
    compliant: Rows,
) -> Float[Array, "n n"]:
    """Return the lower triangle of M̂ of the trees. What is above it has no meaning.

    Args:
        topology: structure of the model.
        screws_: the degrees of freedom.
        jacobian: J, their columns over the bodies.
        state: poses of the bodies.
        mass: mass operator of the bodies.
        compliant: rows without bounds that resist motion.
    """
    rows = compliant.jacobian[:, 0, : screws_.dofs.count]
    matrix = lower_mass_matrix(screws_, jacobian, state.position, mass)
    velocity = lone_velocities(topology, row_parts(topology)[0])
    alone, others = np.flatnonzero(velocity >= 0), np.flatnonzero(velocity < 0)
    if len(alone):
        resistance = compliant.stiffness[alone] * rows[alone, velocity[alone]] ** 2
        units = np.eye(screws_.dofs.count)[velocity[alone]]
        matrix = plus_diagonal(matrix, resistance @ jnp.asarray(units, resistance.dtype))
    if len(others):
        weighted = compliant.stiffness[others, None] * rows[others]
        matrix = matrix + weighted.T @ rows[others]
    return matrix
