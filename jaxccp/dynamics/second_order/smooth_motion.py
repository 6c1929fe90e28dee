"""Equations of smooth motion: generalised accelerations under all forces but those of hard
contacts, limits and dry friction."""

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.collision.contact_memory import ContactMemory
from jaxccp.dynamics.second_order.applied_forces import AppliedForces, applied_forces
from jaxccp.dynamics.second_order.mobility import compliant_family_coordinates, rotors_on_families
from jaxccp.dynamics.smooth import smooth_contacts, smooth_forces
from jaxccp.execution import trees
from jaxccp.model.model import Model
from jaxccp.model.smooth import NORMAL
from jaxccp.model.state import State
from jaxccp.model.topology import MAX_DENSE


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class SmoothMotion(AppliedForces):
    """Accelerations of a model at a state, and the forces that cause them; ``at`` has the root of
    M, too."""

    acceleration: Float[Array, " nv"]
    """v̇ [m/s², rad/s²]."""
    body_acceleration: Float[Array, "nb 6"]
    """Accelerations of the centres of mass, then angular ones; world [m/s², rad/s²]."""
    coordinate_acceleration: Float[Array, " k"]
    """Accelerations of all axes, then of all tendons [m/s², rad/s²]."""
    loop_forces: Float[Array, " m"]
    """Forces along the rows that close loops and set tendon lengths [N, N m]."""


def smooth_motion(
    model: Model,
    state: State,
    control: Float[Array, " nm"] | None,
    force: Float[Array, "nb 6"] | None,
    memory: ContactMemory | None = None,
    elapsed: Array | float = 0.0,
) -> SmoothMotion:
    """Solve the equations of smooth motion at a state.

    M(q) v̇ = Σ J_bᵀ (f_b − M_b J̇_b v − ω × I ω) + f_families − a Jᵀ_r J̇_r v + Aᵀ λ, with A v̇ + Ȧ
    v = l̈ for loops and for tendons of imposed length l. M includes the inertia of bodies, families
    and rotors (a); J̇ v is the derivative of J v along the motion. Gravity, the fluid, springs,
    dampers, force laws, actuators (servos within their force limits), smooth contacts and applied
    forces act.

    Args:
        model: nv degrees of freedom in reduced coordinates.
        state: joints are where its ``joint_positions`` have them.
        control: control of each actuator, 0 when None.
        force: applied forces [N] and torques [N m], world axes.
        memory: memory of smooth contacts of an earlier instant.
        elapsed: time since then [s].
    """
    return solve_motion(applied_forces(model, state, control, force, memory, elapsed))


def solve_motion(forces: AppliedForces) -> SmoothMotion:
    """Return the accelerations of a model under given forces."""
    mobility = forces.at.mobility()
    acceleration, loop_forces = mobility.accelerations(
        forces.generalised_force, forces.constraint_bias
    )
    fields: dict[str, Any] = vars(forces) | {"at": replace(forces.at, space=mobility.space)}
    return SmoothMotion(
        **fields,
        acceleration=acceleration,
        body_acceleration=forces.at.space.twists(acceleration) + forces.twist_bias,
        coordinate_acceleration=forces.at.coordinate_jacobian @ acceleration
        + forces.coordinate_bias,
        loop_forces=loop_forces,
    )


def advance_memory(
    model: Model, state: State, memory: ContactMemory | None, elapsed: Array | float
) -> ContactMemory | None:
    """Return the memory of smooth contacts after a time with the slip velocities of ``state``.

    A step that uses its initial slip for one half and its final slip for the other makes tangential
    springs second order.

    Args:
        model: the model.
        state: state whose slip velocities stretch the springs.
        memory: the memory at ``state``, or None.
        elapsed: time [s].
    """
    if memory is None:
        return None
    return smooth_forces(model, state, smooth_contacts(model, state), memory, elapsed).memory


def has_unknown_rotors(model: Model) -> Bool[Array, ""] | None:
    """Tell whether there are rotors along coordinates that frames of families move, of which the
    model's topology does not know: their armature was 0 when it was built. None if there cannot be
    any.

    The equations of smooth motion leave their inertia out.
    """
    unknown = np.setdiff1d(compliant_family_coordinates(model), rotors_on_families(model))
    return jnp.any(model.axes.armature[unknown] > 0) if len(unknown) else None


def check_rotors_are_known(model: Model, caller: str) -> None:
    """Check that the model was built with the rotors along coordinates that frames of families
    move.

    Args:
        model: the model.
        caller: name of the stepper or function, for the message.

    Raises:
        ValueError: there is armature along such a coordinate, but there was none when the model was
            built. This is not known within ``jit``.
    """
    refused = has_unknown_rotors(model)
    if refused is not None and not trees.is_traced(refused) and refused:
        raise ValueError(
            f"{caller}: there is armature along a coordinate that a flexible body moves, but the "
            "model was built without it: build it with armature, or pass it through "
            'jaxccp.with_structure(model, {"axes.armature": None})'
        )


def check_forces_at_instants(model: Model, caller: str) -> None:
    """Check that the smooth contacts of a model have forces at an instant, without a step.

    Args:
        model: the model.
        caller: name of the stepper or function, for the message.

    Raises:
        ValueError: they have springs of one step.
    """
    smooth = model.topology.smooth
    if smooth is None or NORMAL[smooth.normal].by_speed:
        return
    if smooth.tangential == "one-step":
        raise ValueError(
            f"{caller} takes forces at instants within a step, but smooth contacts of the model "
            'have tangential="one-step", springs that stretch over a whole step: build it with '
            'SmoothLaws(tangential="multi-step")'
        )


def check_states_tell_forces(model: Model, caller: str) -> None:
    """Check that a state tells the forces of smooth contacts, without the steps before it.

    Args:
        model: the model.
        caller: name of the function, for the message.

    Raises:
        ValueError: they depend on the speed at which surfaces met.
    """
    smooth = model.topology.smooth
    if smooth is not None and NORMAL[smooth.normal].by_approach:
        raise ValueError(
            f"{caller} takes forces at a state, but those of SmoothLaws({smooth.normal!r}) depend "
            'on the speed at which surfaces met: build the model with SmoothLaws("hertz"), or take '
            "forces from the reports of steps"
        )


def second_order_model(model: Model, caller: str) -> Model:
    """Return the model as steps of second order use it: bodies without joints have a mass matrix
    of their own.

    Beside a flexible body whose equations are a band, up to 300 of their degrees of freedom share
    the mass matrix of the trees, which the factors of the band take as its border.

    Args:
        model: the model.
        caller: name of the stepper or function, for the message.

    Raises:
        ValueError: the mass matrix of the model is block diagonal; its smooth contacts have
            springs of one step; or there is armature along coordinates that families move, but
            there was none when the model was built. The latter is not known within ``jit``.
    """
    if model.topology.block_diagonal_mass:
        raise ValueError(
            f"{caller} takes joints as degrees of freedom, but the model has a block-diagonal mass "
            "matrix and its joints are rows: give it the model as it was built"
        )
    check_rotors_are_known(model, caller)
    check_forces_at_instants(model, caller)
    if any(family.reach is not None for family in model.families):
        return model.with_dense(MAX_DENSE)
    return model.with_dense(0)
