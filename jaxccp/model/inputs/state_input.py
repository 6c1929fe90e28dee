"""States that users pass, checked with and against their model while tracing."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp

from jaxccp.math.array_input import Dimension, as_floats
from jaxccp.model.family import FamilyState
from jaxccp.model.inputs.model_input import check_arrays, check_is_model
from jaxccp.model.kinematics.family_frames import with_frames
from jaxccp.model.model import Model
from jaxccp.model.state import Rotors, State


def checked_state(model: Model, state: State, what: str = "state") -> State:
    """Return a state as :func:`checked_arrays` does, with the poses and twists of family frames
    computed from ``state.families``, which a user may have replaced alone.

    Args:
        model: the model that the state belongs to.
        state: the state, whose entries may be NumPy arrays or lists.
        what: name of the argument, with which the message of an error begins.

    Raises:
        TypeError: see :func:`checked_arrays`.
        ValueError: see :func:`checked_arrays`.
    """
    state = checked_arrays(model, state, what=what)
    return with_frames(model, state) if model.families else state


def checked_arrays(model: Model, state: State, batched: bool = False, what: str = "state") -> State:
    """Return a state whose entries are JAX arrays of floats, with the shapes that the model
    requires; the arrays of the model are checked, too.

    Args:
        model: the model that the state belongs to.
        state: the state, whose entries may be NumPy arrays or lists.
        batched: whether arrays may have leading axes; else model and state are of one copy.
        what: name of the argument, with which the message of an error begins.

    Raises:
        TypeError: the model is no :class:`jaxccp.Model`, or the state is something else, such as a
            carry or a result that has the state.
        ValueError: an array of either has another shape, such as that of another model's state, or
            the state has another number of families.
    """
    check_is_model(model)
    if not isinstance(state, State):
        kind = "an array" if isinstance(state, jax.Array) else type(state).__name__
        held = isinstance(getattr(state, "state", None), State)
        remedy = "pass its attribute state" if held else "ModelBuilder makes one"
        raise TypeError(f"{what} must be a jaxccp.State, not {kind}: {remedy}")
    check_arrays(model, batched)
    topology = model.topology
    linkage = topology.linkage
    axes, tendons = linkage.axes, linkage.routing.tendons
    bodies = Dimension.named("bodies", topology.bodies)
    rates = Dimension.named("axes and tendons", (*axes, *tendons))
    dtype = getattr(state.position, "dtype", model.gravity.dtype)
    if not jnp.issubdtype(dtype, jnp.floating):
        dtype = model.gravity.dtype

    def checked(name: str, value: Any, *expected: Dimension | int) -> jax.Array:
        leading = (...,) if batched else ()
        return as_floats(f"{what}.{name}", value, (*leading, *expected), dtype)

    if len(state.families) != len(model.families):
        raise ValueError(
            f"{what}.families must have one entry for each of the model's {len(model.families)} "
            f"families, not {len(state.families)}"
        )
    families = []
    for i, (family, part) in enumerate(zip(model.families, state.families, strict=True)):
        start, name = jax.eval_shape(family.start), f"families[{i}]"
        q = checked(f"{name}.q", part.q, Dimension("coordinates", start.q.shape[-1]))
        v = checked(f"{name}.v", part.v, Dimension("velocities", start.v.shape[-1]))
        families.append(FamilyState(q, v))
    activation = state.activation
    if model.activations is not None and activation is not None:
        names = [linkage.actuators[i] for i in model.activations.actuators]
        activation = checked("activation", activation, Dimension.named("activations", names))
    return replace(
        state,
        position=checked("position", state.position, bodies, 3),
        quaternion=checked("quaternion", state.quaternion, bodies, 4),
        velocity=checked("velocity", state.velocity, bodies, 3),
        angular_velocity=checked("angular_velocity", state.angular_velocity, bodies, 3),
        time=checked("time", state.time),
        joint_positions=checked(
            "joint_positions", state.joint_positions, Dimension.named("axes", axes)
        ),
        rotors=Rotors(
            checked("rotors.rate", state.rotors.rate, rates),
            checked("rotors.twist", state.rotors.twist, bodies, 6),
        ),
        families=tuple(families),
        activation=activation,
    )
