"""Predicted values of channels for a simulated motion, and their errors."""

from collections.abc import Sequence
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from jaxccp.identify.recordings.segments import Observation
from jaxccp.identify.subject import Subject
from jaxccp.math import quaternion
from jaxccp.model.state import State
from jaxccp.sensors.sensors import Sensors


def features(
    subject: Subject, state: State, observations: Sequence[Observation]
) -> Float[Array, " f"]:
    """Return the values of a pose from which observations are interpolated.

    Args:
        subject: the model.
        state: a state of the model.
        observations: the compared channels.
    """
    parts = [state.joint_positions]
    frames = [o.place for o in observations if o.kind == "pose"]
    if frames:
        motion = subject.model.sites.motion(state)
        at, orientation = motion.position[np.array(frames)], motion.quaternion[np.array(frames)]
        parts.append(jnp.concatenate([at, orientation], axis=1).reshape(-1))
    return jnp.concatenate(parts)


def readings(
    subject: Subject,
    own_sites: int,
    sensors: Sensors,
    names: Sequence[str],
    state: State,
    control: Float[Array, " nm"],
) -> Float[Array, " k"]:
    """Return the readings of some sensors of a model.

    Sensors keep their places on the bodies when parameters move the centres of mass.

    Args:
        subject: the model; sites for recorded frames may have been added to it.
        own_sites: number of sites that the model had before.
        sensors: sensors of the model without parameters.
        names: names of the sensors to read.
        state: a state of the model.
        control: control of each actuator.
    """
    # Frames of sensors are numbered from the model's own sites on.
    model = replace(subject.model, sites=subject.model.sites.take(range(own_sites)))
    shift = subject.centre_shift[np.array(sensors.frames.bodies)]
    frames = replace(sensors.frames, position=sensors.frames.position - shift)
    values = replace(sensors, frames=frames).values(model, state, control)
    return jnp.concatenate([values[name] for name in names])


def channel_values(
    subject: Subject,
    table: Float[Array, "k f"],
    time: Float[Array, " s"],
    observations: Sequence[Observation],
    h: float,
) -> Float[Array, "s o"]:
    """Return what the channels would have recorded at given times of a simulated motion.

    Args:
        subject: the model, with its calibration of channels.
        table: result of :func:`features` of each pose, then that of :func:`readings` where sensors
            are compared.
        time: times of the samples since the first step [s].
        observations: the compared channels.
        h: step of the simulation [s].
    """
    channels = subject.channels
    axes = len(subject.model.topology.linkage.axes)
    single = subject.layout.places.single
    reference = jnp.zeros(axes, table.dtype).at[single[2]].set(subject.layout.reference)
    poses = sum(observation.kind == "pose" for observation in observations)
    columns, place, sensed = [], axes, axes + 7 * poses
    for observation in observations:
        row = channels.names.index(observation.channel)
        when = (time - channels.delay[row]) * subject.time_scale / h
        if observation.kind == "position":
            value = (
                interpolated(table[:, observation.place], when)[:, None]
                + reference[observation.place]
            )
        elif observation.kind == "rate":
            # Differences of positions are rates at half steps: that of the start is extrapolated.
            rates = jnp.diff(table[:, observation.place]) / h
            half = jnp.maximum(when, 0.0) - 0.5
            value = interpolated(rates, half) + jnp.minimum(half, 0.0) * (rates[1] - rates[0])
            value = value[:, None] * subject.time_scale
        elif observation.kind == "pose":
            value = interpolated(table[:, place : place + 7], when)
            value = value.at[:, 3:].set(quaternion.normalize(value[:, 3:]))
            place += 7
        else:
            value = interpolated(table[:, sensed : sensed + observation.size], when)
            sensed += observation.size
        if observation.kind != "pose":
            value = channels.scale[row] * value + channels.offset[row]
        columns.append(value)
    return jnp.concatenate(columns, axis=1)


def errors(
    shown: Float[Array, "s k"], observed: Float[Array, "s k"], observations: Sequence[Observation]
) -> Float[Array, "s o"]:
    """Return predicted minus observed values; of an orientation, the rotation vector from observed
    to predicted in the axes of the body [rad].

    Args:
        shown: predicted values (:func:`channel_values`).
        observed: samples of the recording, a pose in seven numbers.
        observations: the compared channels.
    """
    columns, place = [], 0
    for observation in observations:
        size = 3 if observation.kind == "pose" else observation.size
        value, target = (part[:, place : place + size] for part in (shown, observed))
        if observation.kind == "sensor" and size == 4:
            # A sensor of four numbers reads a quaternion, of which both signs are one orientation.
            opposite = jnp.sum(value * target, axis=1, keepdims=True) < 0
            value = jnp.where(opposite, -value, value)
        columns.append(value - target)
        place += size
        if observation.kind == "pose":
            back = quaternion.conjugate(observed[:, place : place + 4])
            rotation = quaternion.multiply(back, shown[:, place : place + 4])
            columns.append(quaternion.log(rotation))
            place += 4
    return jnp.concatenate(columns, axis=1)


def interpolated(table: Float[Array, "k *f"], when: Float[Array, " s"]) -> Float[Array, "s *f"]:
    """Return a table interpolated linearly between its rows; beyond its ends, the row at that end.

    Args:
        table: rows at 0, 1, 2 …
        when: places between them.
    """
    when = jnp.clip(when, 0.0, table.shape[0] - 1.0)
    below = jnp.clip(lax.stop_gradient(jnp.floor(when + 1e-9)).astype(int), 0, table.shape[0] - 2)
    share = (when - below).reshape(-1, *[1] * (table.ndim - 1))
    return table[below] + share * (table[below + 1] - table[below])
