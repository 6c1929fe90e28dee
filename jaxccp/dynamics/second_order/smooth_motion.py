"""The equations of smooth motion: generalised accelerations under all forces but those of contacts,
limits and dry friction."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Array, Float

from jaxccp.collision.contact_memory import ContactMemory
from jaxccp.dynamics.second_order.acting import Acting, acting, compliant_on_families
from jaxccp.dynamics.smooth import smooth_contacts, smooth_forces
from jaxccp.math import trees
from jaxccp.model.model import Model
from jaxccp.model.state import State


@dataclass(frozen=True)
class SmoothMotion(Acting):
    """How a model moves at a state, and what acts on it; ``at`` has the root of M, too."""

    acceleration: Float[Array, " nv"]
    """v̇ [m/s², rad/s²]"""
    body: Float[Array, "nb 6"]
    """Accelerations of the centres of mass, and angular; world [m/s², rad/s²]."""
    coordinate: Float[Array, " k"]
    """Accelerations of all axes, then of all tendons [m/s², rad/s²]."""
    closing: Float[Array, " m"]
    """Forces along the rows that close loops and hold tendons [N, N m]."""


def smooth_motion(
    model: Model,
    state: State,
    control: Float[Array, " nm"] | None,
    force: Float[Array, "nb 6"] | None,
    memory: ContactMemory | None = None,
    elapsed: Array | float = 0.0,
) -> SmoothMotion:
    """M(q) v̇ = Σ J_bᵀ (f_b − M_b J̇_b v − ω × I ω) + f_families − a Jᵀ_r J̇_r v + Aᵀ λ, with
    A v̇ + Ȧ v = l̈ of what closes loops and of tendons of imposed length l.

    M has the bodies', the families' and the rotors' inertia a; J̇ v is the derivative of J v along
    the motion. Gravity, the fluid, springs, dampers, force laws, actuators (servos up to their
    limits of force) and applied forces act.

    Args:
        model: nv degrees of freedom in reduced coordinates.
        state: joints are where its ``joint_positions`` have them.
        control: of each actuator, 0 when None.
        force: applied forces [N] and torques [N m], world.
        memory: what smooth contacts remember of an earlier instant.
        elapsed: time since then [s].
    """
    return moved(acting(model, state, control, force, memory, elapsed))


def moved(here: Acting) -> SmoothMotion:
    """How a model moves where these forces act."""
    mobility = here.at.mobility()
    acceleration, closing = mobility.accelerations(here.push, here.drift)
    acts: dict[str, Any] = vars(here) | {"at": replace(here.at, jacobians=mobility.velocities)}
    return SmoothMotion(
        **acts,
        acceleration=acceleration,
        body=here.at.jacobians.twists(acceleration) + here.turning,
        coordinate=here.at.coordinates @ acceleration + here.bending,
        closing=closing,
    )


def stretched(
    model: Model, state: State, memory: ContactMemory | None, elapsed: Array | float
) -> ContactMemory | None:
    """What smooth contacts remember ``elapsed`` [s] after ``state``, their slip being that of
    ``state``. Half a step with this slip and half with that of its end make springs across
    contacts of second order."""
    if memory is None:
        return None
    return smooth_forces(model, state, smooth_contacts(model, state), memory, elapsed).memory


def check_smooth(model: Model, stepper: str) -> None:
    """Raise ``ValueError`` for what cannot be stepped on generalised velocities."""
    topology = model.topology
    if topology.loose.any():
        raise ValueError(
            f"{stepper} steps all bodies in one set of generalised velocities, of which this model "
            'has too many (more than 100 with bodies that nothing is joined to): take "euler" or '
            '"projected"'
        )
    armature, on_families = model.axes.armature, compliant_on_families(model)
    if trees.is_traced(armature) or not len(on_families):
        return
    if (np.asarray(armature)[on_families] > 0).any():
        raise ValueError(
            f"{stepper} has no rotors along coordinates that frames of families move: set their "
            'armature to 0, or take "euler"'
        )
