"""Activations of actuators along recorded controls."""

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from jaxccp.identify.recordings.recording import Recording
from jaxccp.identify.subject import Subject


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
    time: Float[Array, " s"],
    control: Float[Array, "s nm"],
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
    command = jnp.clip((jnp.asarray(control)[:, actuated] - offset) / scale, low, high)
    longest = jnp.append(jnp.diff(jnp.asarray(time)), jnp.inf)[:, None]
    spans = jnp.clip((until - delay) - jnp.asarray(time)[:, None], 0.0, longest)

    def advance(before: Array, interval: tuple[Array, Array]) -> tuple[Array, Array]:
        value, span = interval
        # Samples may be farther apart than the time constant: Euler's step would be wrong.
        after = activations.after(before, value, span * subject.time_scale, exact=True)
        return after, before

    end, along = lax.scan(advance, jnp.asarray(initial, command.dtype), (command, spans))
    return jnp.concatenate([along, end[None]])
