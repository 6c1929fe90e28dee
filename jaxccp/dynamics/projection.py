"""Projection of positions to where joints, limits and contacts allow them to be."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from jaxccp.ccp.derivative import PlainGradient
from jaxccp.ccp.solution import Statistics
from jaxccp.ccp.solve import Stop, solve
from jaxccp.ccp.solver import Solver
from jaxccp.collision.detect import Contacts, detect
from jaxccp.dynamics.step import assemble_system
from jaxccp.dynamics.trees import reducible
from jaxccp.model.cut_joints import with_block_diagonal_mass
from jaxccp.model.family import Family, FrameMap, MassRoot
from jaxccp.model.inputs.state_input import checked_state
from jaxccp.model.kinematics.configuration import integrate_configuration, with_joint_coordinates
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.model.tendons.functions import Functions


def project(
    model: Model,
    state: State,
    iterations: int,
    solver: Solver | str | None = None,
    stop: Stop | None = None,
    gradient: PlainGradient = "always",
    h: Float[Array, ""] | float = 1e-3,
    velocity: Float[Array, " nv"] | None = None,
) -> tuple[State, Statistics]:
    """Move the bodies as little as possible, by mass, so that constraints on their positions hold.

    Joints and tendons of given length are closed, limits hold and rigid contacts do not penetrate;
    twists are unchanged unless ``velocity`` is given. One iteration is a step of length 1 s of
    bodies at rest without forces that undoes all errors at once: its velocities are the
    displacements, and its tolerance is in m. The next iteration undoes the errors that remain
    (Gauss–Newton).

    Args:
        model: the model.
        state: the state to project.
        iterations: number of iterations.
        solver: algorithm for the cone problem; None: "auto".
        stop: stopping criterion of the solver.
        gradient: derivative of a solve that has not converged.
        h: elastic bodies are as hard to deform as in a step of this length [s], M + h D + h² K.
        velocity: generalised velocities of the result [m/s, rad/s]; None: bodies keep their twists.

    Returns:
        The state, and the statistics of the solves: the worst, with the sum of iterations.
    """
    bare = _without_forces(model, h)

    def iterate(at: State, _: None) -> tuple[State, Statistics]:
        contacts = _frictionless(detect(model, at))
        system, motion = assemble_system(bare, _rest_state(at), contacts, 1.0)
        if motion is not None:
            at = replace(at, joint_positions=motion.coordinate)
        solution = solve(system.problem, solver or "auto", stop=stop, gradient=gradient)
        displacement = system.after(solution.lam).transport_velocity
        after = integrate_configuration(model, at, displacement, velocity)
        if velocity is None:
            after = replace(after, velocity=state.velocity, angular_velocity=state.angular_velocity)
        return after, solution.statistics

    if iterations == 1:  # a loop of one would be traced, differentiated and compiled as a loop
        return iterate(state, None)
    after, statistics = lax.scan(iterate, state, None, length=iterations)
    worst = jax.tree.map(lambda leaf: jnp.max(leaf, axis=0), statistics)
    total = jnp.sum(statistics.iterations, dtype=jnp.int32)
    return after, replace(worst, iterations=total)


def close_loops(model: Model, state: State, iterations: int = 10) -> State:
    """Return the state nearest to ``state``, by mass, in which loops are closed, tendons have their
    given length, limits hold and rigid contacts do not penetrate.

    Use it after :func:`jaxccp.forward_kinematics`, which ignores the joints that close loops; the
    coordinates of all axes may change. Velocities are unchanged; the next step makes them
    consistent with the loops.

    Args:
        model: the model.
        state: the initial state.
        iterations: number of Gauss–Newton iterations.

    Raises:
        ValueError: the state's arrays have other shapes, or ``iterations`` is less than 1.
    """
    if iterations < 1:
        raise ValueError(f"close_loops: iterations must be at least 1, not {iterations}")
    state = checked_state(model, state)
    if not reducible(model.topology):
        return project(with_block_diagonal_mass(model), state, iterations)[0]
    return project(model, with_joint_coordinates(model, state), iterations)[0]


def _without_forces(model: Model, h: Float[Array, ""] | float) -> Model:
    """Return the model whose step of 1 s only closes joints, tendons of given length, limits and
    rigid contacts.

    Gravity, springs, dampers, dry friction, force laws, rotors, actuators and fluid are zero.
    Penetration is undone entirely, since the recovery speed is infinite.

    Args:
        model: the model.
        h: length of the step whose mass matrix M + h D + h² K families keep [s].
    """
    axes, actuators = model.axes, model.actuators
    zero = jnp.zeros_like(axes.stiffness)
    zero_actuators = jnp.zeros_like(actuators.gain)
    return replace(
        model,
        gravity=jnp.zeros_like(model.gravity),
        axes=replace(
            axes,
            stiffness=zero,
            damping=zero,
            armature=zero,
            friction=zero,
            stribeck_friction=zero,
            damping_polynomial=jnp.zeros_like(axes.damping_polynomial),
            power_damping=zero,
            actuator_limits=jnp.zeros_like(axes.actuator_limits),
        ),
        tendons=replace(model.tendons, laws=Functions()),
        actuators=replace(
            actuators,
            gain=zero_actuators,
            offset=zero_actuators,
            stiffness=zero_actuators,
            damping=zero_actuators,
            # Limits that exclude 0 are a force, whatever the control.
            force_limits=jnp.zeros_like(actuators.force_limits),
        ),
        contact=replace(model.contact, recovery_speed=jnp.full_like(model.contact.margin, jnp.inf)),
        fluid=None,
        families=tuple(
            _UnforcedFamily(family, jnp.asarray(h, zero.dtype)) for family in model.families
        ),
    )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _UnforcedFamily(Family):
    """A family at rest without forces, with the stiffness that it has in a step of length ``h``."""

    family: Family
    h: Float[Array, ""]
    """Length of that step [s]."""

    def map(self, q: Array, frames: np.ndarray, bodies: int) -> FrameMap:
        return self.family.map(q, frames, bodies)

    def root(self, q: Array, h: Array | float) -> MassRoot:
        return self.family.root(q, self.h)

    def momentum(self, q: Array, v: Array, gravity: Array, h: Array | float) -> Array:
        return jnp.zeros_like(v)


def _rest_state(state: State) -> State:
    """Return the state at rest, families included, its time 1 s earlier: the step of 1 s then ends
    at the time of ``state``."""
    velocity, spin, rotors = jax.tree.map(
        jnp.zeros_like, (state.velocity, state.angular_velocity, state.rotors)
    )
    families = tuple(replace(family, v=jnp.zeros_like(family.v)) for family in state.families)
    return replace(
        state,
        velocity=velocity,
        angular_velocity=spin,
        rotors=rotors,
        families=families,
        time=state.time - 1.0,
    )


def _frictionless(contacts: Contacts) -> Contacts:
    """Return contacts without friction and restitution; compliant contacts are left out, since they
    need penetration to carry load."""

    def none(x: Array) -> Array:
        return jnp.zeros_like(x)

    return replace(
        contacts,
        live=contacts.live & (contacts.compliance == 0),
        friction=none(contacts.friction),
        impact_friction=none(contacts.impact_friction),
        rolling=none(contacts.rolling),
        restitution=none(contacts.restitution),
    )
