"""Calibration of measured initial states."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxccp.identify.recordings.starts import displaced
from jaxccp.identify.subject import Subject

MEASURING = ("position", "motion", "rate", "pose")
"""Kinds of channels from which measured initial states come."""


def true_state(
    subject: Subject,
    channels: Int[Array, "2 nv"],
    qpos: Float[Array, " nq"],
    qvel: Float[Array, " nv"],
    qacc: Float[Array, " nv"],
) -> tuple[Float[Array, " nq"], Float[Array, " nv"]]:
    """Return the true coordinates and rates for recorded ones.

    The coordinates and rates of a free body have the delay of its pose, which has no other
    calibration.

    Args:
        subject: the model, with the calibration of its channels and of time.
        channels: indices of the channels from which they come
            (:attr:`jaxccp.identify.recordings.starts.MeasuredMotion.channels`).
        qpos: recorded coordinates [m, rad, quaternions].
        qvel: recorded rates, on the clock of the recording [m/s, rad/s].
        qacc: their slopes [m/s², rad/s²], which delays take into account.
    """
    calibration, (at, speed, _) = subject.channels, subject.layout.places.single
    # What no channel recorded has the index -1, the last.
    numbers = (calibration.offset, 0.0), (calibration.scale, 1.0), (calibration.delay, 0.0)
    offset, scale, delay = (jnp.pad(x, (0, 1), constant_values=ideal) for x, ideal in numbers)
    position, rate = channels
    # A rate that was not recorded is the slope of the position, which has no offset.
    slope = jnp.where(rate < 0, position, rate)
    row = position[speed]
    qpos = qpos.at[at].set((qpos[at] - offset[row]) / scale[row])
    qvel = qvel.at[speed].add(-offset[rate[speed]])
    ratio = scale[slope[speed]]
    qvel, qacc = (x.at[speed].set(x[speed] / ratio) for x in (qvel, qacc))
    qvel, qacc = qvel / subject.time_scale, qacc / subject.time_scale**2
    bounds = zip(calibration.names, calibration.delay_bounds, strict=True)
    if {ends for name, ends in bounds if name.startswith(MEASURING)} <= {(0.0, 0.0)}:
        return qpos, qvel
    late, late_rate = (subject.time_scale * delay[rows] for rows in (position, slope))
    faster = late_rate * qacc
    shift = late * (qvel + faster) - 0.5 * late**2 * qacc
    return displaced(subject.layout, qpos, qvel, jnp.concatenate([shift, faster]))
