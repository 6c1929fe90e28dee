"""Activations of actuators along recorded controls."""

from collections.abc import Sequence
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from jaxccp.identify.recordings.recording import Recording
from jaxccp.identify.subject import Subject
from jaxccp.math import safe
from jaxccp.model.actuators.dynamics import DYNAMICS

MEMORY = 10.0
"""Time after which the past does not matter to a filter, relative to its time constant."""
History = tuple[Float[Array, "*n ma"], Float[Array, "*n w"], Float[Array, "*n w nm"]]
"""Activations some time before the start of a segment, and times [s] and controls from then on."""


def controls_between(subject: Subject, recording: Recording) -> Float[np.ndarray, "s nm"]:
    """Return the recorded control of each actuator from each sample to the next; 0 where none was
    recorded.

    A missing sample has the value of the last one before it, or else of the first one. Channels
    that are interpolated have the mean of two samples.

    Args:
        subject: the model.
        recording: a recording of its controls.
    """
    linkage = subject.model.topology.linkage
    out = np.zeros((len(recording.time), len(linkage.actuators)))
    for channel in recording.of_kind("control"):
        values = channel.values[:, 0]
        present = np.flatnonzero(np.isfinite(values))
        if not len(present) or channel.target not in linkage.actuators:
            continue
        last = np.searchsorted(present, np.arange(len(values)), side="right") - 1
        values = values[present[np.maximum(last, 0)]]
        if channel.interpolation == "linear":
            values = 0.5 * (values + np.append(values[1:], values[-1]))
        out[:, linkage.actuator(channel.target)] = values
    return out


def activations_along(
    subject: Subject,
    time: Float[Array | np.ndarray, " s"],
    control: Float[Array | np.ndarray, "s nm"],
    until: Float[Array, ""] | float,
) -> Float[Array, "s+1 ma"]:
    """Return the activations at each sample of recorded controls, and in the last row those at the
    time ``until``.

    They start at those of the subject's state. Controls act as late as their channels say.

    Args:
        subject: model with activations, and the calibration of the channels.
        time: times of the samples, the first is best 0 [s].
        control: recorded controls from each sample to the next (:func:`controls_between`).
        until: time at which controls end [s]; rows of later samples have the activations of then.
    """
    model, channels = subject.model, subject.channels
    activations, initial = model.activations, subject.state.activation
    assert activations is not None and initial is not None
    names = [f'control["{model.topology.linkage.actuators[i]}"]' for i in activations.actuators]
    recorded = np.array([name in channels.names for name in names])
    rows = np.array([channels.names.index(n) if n in channels.names else 0 for n in names], int)
    offset = jnp.where(recorded, channels.offset[rows], 0.0)
    scale = jnp.where(recorded, channels.scale[rows], 1.0)
    delay = jnp.where(recorded, channels.delay[rows], 0.0)
    actuated = np.array(activations.actuators)
    low, high = model.actuators.control_limits[actuated].T
    command = safe.clip((jnp.asarray(control)[:, actuated] - offset) / scale, low, high)
    longest = jnp.append(jnp.diff(jnp.asarray(time)), jnp.inf)[:, None]
    spans = jnp.clip((until - delay) - jnp.asarray(time)[:, None], 0.0, longest)

    def advance(before: Array, interval: tuple[Array, Array]) -> tuple[Array, Array]:
        value, span = interval
        # Samples may be farther apart than the time constant: Euler's step would be wrong.
        after = activations.after(before, value, span * subject.time_scale, exact=True)
        return after, before

    end, along = lax.scan(advance, jnp.asarray(initial, command.dtype), (command, spans))
    return jnp.concatenate([along, end[None]]).astype(subject.state.position.dtype)


def controls_before(
    subject: Subject, recordings: Sequence[Recording], starts: Sequence[tuple[int, float]]
) -> History | None:
    """Return the recorded controls before each segment, from which its initial activations are
    computed, and the activations where they begin; None if the model has no activations.

    They begin :data:`MEMORY` time constants of the slowest filter before the segment: then it has
    forgotten what was before, even if its time constant changes in a fit. The activations there are
    computed with the subject's own numbers, driven from the beginning of the recording.

    Args:
        subject: the model.
        recordings: recordings of its controls.
        starts: recording of each segment, and the time at which it starts [s].
    """
    activations, channels = subject.model.activations, subject.channels
    if activations is None:
        return None
    filters = [DYNAMICS[kind].has_time_constant for kind in activations.dynamics]
    memory = MEMORY * np.max(np.asarray(activations.time_constant), where=filters, initial=0.0)
    bounds = [
        ends
        for name, ends in zip(channels.names, channels.delay_bounds, strict=True)
        if name.startswith("control")
    ]
    early, late = np.min(bounds, initial=0.0), np.max(bounds, initial=0.0)
    along, windows = [], []
    for recording in recordings:
        time, control = recording.time - recording.time[0], controls_between(subject, recording)
        along.append(np.asarray(activations_along(subject, time, control, time[-1])))
        windows.append((time, control))
    parts = []
    for number, start in starts:
        time, control = windows[number]
        when = start - recordings[number].time[0]
        first = max(0, np.searchsorted(time, when - late - memory, side="right") - 1)
        inside = slice(first, np.searchsorted(time, when - early, side="right") + 1)
        parts.append((along[number][first], time[inside] - when, control[inside]))
    size = max(len(time) for _, time, _ in parts)
    times = [np.pad(time, (0, size - len(time)), "edge") for _, time, _ in parts]
    controls = [np.pad(u, ((0, size - len(u)), (0, 0)), "edge") for _, _, u in parts]
    stacked = ([initial for initial, _, _ in parts], times, controls)
    initial, time, control = (jnp.asarray(np.stack(part)) for part in stacked)
    return initial, time, control


def activations_at_start(subject: Subject, history: History) -> Float[Array, " ma"]:
    """Return the activations at the start of a segment.

    Args:
        subject: model with activations, and the calibration of the channels.
        history: one of :func:`controls_before`, without a leading axis.
    """
    initial, time, control = history
    state = replace(subject.state, activation=initial)
    return activations_along(replace(subject, state=state), time, control, 0.0)[-1]
