"""Filtered samples of recordings, at which measured and computed torques are compared."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.identify.checks.limits import limits_of
from jaxccp.identify.recordings.activations import activations_along, controls_between
from jaxccp.identify.recordings.filters import evenly, filled, sampling_rate, slopes
from jaxccp.identify.recordings.recording import Channel, Recording
from jaxccp.identify.subject import Subject
from jaxccp.model.kinematics.joint_motion import tree_motion

if TYPE_CHECKING:
    from jaxccp.identify.inverse_dynamics.inverse_dynamics import InverseDynamics

SLOW = 0.2
"""Rate over which dry friction grows to its full size, relative to ``moving``: the direction of
axes that stand still, but for noise, is about 0."""
AT_LIMIT = 1e-3
"""Distance from a limit of a joint within which its force may act, relative to the joint's range,
or in rad or m without one."""
BATCH = 4096
"""Number of samples whose rates of tendons or torques are computed at a time."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class MotionSamples:
    """Filtered samples of recordings. In a plan there is a leading axis n of segments, and each
    segment is one sample, s = 1."""

    position: Float[Array, "s nv 3"]
    """Recorded position [m, rad], rate [m/s, rad/s] and acceleration [m/s², rad/s²] of each
    joint."""
    direction: Float[Array, "s k"]
    """Sign of the recorded rate of each axis, then of each tendon, after the filter: where a rate
    changes its sign, dry friction jumps, which the filter smooths in the measured torques too."""
    torque: Float[Array, "s o 3"]
    """Measured torque along each compared axis [N, N m], and its first two time derivatives; o = 0
    if none was recorded."""
    control: Float[Array, "s c 3"]
    """Recorded controls, and their first two time derivatives."""
    activation: Float[Array, "s ma"]
    """Activations along the recorded controls, of the model without parameters; ma = 0 if it has
    none, or no controls count."""
    weight: Float[Array, "s o"]
    """Inverse standard deviation of each torque; 0 if it is not compared."""
    time: Float[Array, " s"]
    """Time since the first sample of the recording [s]."""


@dataclass(frozen=True)
class Sampling:
    """The filter of recordings, with what is compared."""

    settings: "InverseDynamics"
    """Settings of the filter."""
    subject: Subject
    """The model."""
    axes: np.ndarray
    """Axes with a recorded position, in the order of the rates ``qvel`` [nv]."""
    torques: tuple[str, ...]
    """Channels of compared torques."""
    controls: tuple[str, ...]
    """Channels of controls: all, or beside torques those of actuators that act on followers."""
    compared: np.ndarray
    """Place of each compared axis among ``axes`` [o]."""
    eliminated: np.ndarray
    """Mask of those whose torque counts in that of another axis, which they are coupled to [o]."""

    def stride(self, recording: Recording) -> int:
        """Return the number of recorded samples from one compared sample to the next."""
        return max(1, round(self.settings.spacing * sampling_rate(recording.time)))

    def direction(self, position: Float[Array, "nv 3"]) -> Float[Array, " k"]:
        """Return the smooth sign of the rate of each axis, then of each tendon.

        Args:
            position: recorded position [m, rad], rate [m/s, rad/s] and acceleration [m/s², rad/s²]
                of each joint.
        """
        model, layout = self.subject.model, self.subject.layout
        linkage = model.topology.linkage
        rate = jnp.zeros(len(model.axes.friction), position.dtype)
        rate = rate.at[self.axes].set(position[:, 1])
        if self._with_tendons:
            state = layout.state(model, self.subject.state, position[:, 0], position[:, 1])
            rate = rate.at[len(linkage.axes) :].set(tree_motion(model, state).tendon.rate)
        slow = SLOW * self.settings.moving
        return jnp.tanh(rate / slow) if slow else jnp.sign(rate)

    def samples(self, recording: Recording) -> MotionSamples:
        """Return the filtered samples of a recording, with an axis s = 1 after the first; their
        weight is 1 where they are compared.

        Raises:
            ValueError: the recording is too short.
        """
        # Slopes of slopes would show the rounding of a clock that counts from 1970.
        settings, time = self.settings, recording.time - recording.time[0]
        begin = np.searchsorted(time, settings.trim)
        end = np.searchsorted(time, time[-1] - settings.trim)
        selected = np.arange(begin, end, self.stride(recording))
        if len(selected) < 2 or len(time) < 30:
            raise ValueError(
                f"recording {recording.name!r} of {time[-1]:.3g} s and {len(time)} "
                f"samples is too short for a filter of {settings.cutoff:g} Hz and "
                f"{settings.trim:g} s left out at both ends"
            )
        at, near = time[selected], 0.5 / settings.cutoff

        def resampled(even: np.ndarray, values: np.ndarray) -> Float[np.ndarray, "n ..."]:
            columns = values.reshape(len(even), -1).T
            out = np.stack([np.interp(at, even, column) for column in columns], axis=1)
            return out.reshape(len(at), *values.shape[1:])

        def filtered(values: np.ndarray) -> tuple[np.ndarray, Float[np.ndarray, "s k 3"]]:
            even, level = evenly(time, filled(time, values), settings.cutoff)
            return even, np.stack([level, *slopes(even, level, settings.cutoff)], axis=2)

        motion = np.concatenate([self._position(recording, a).values for a in self.axes], axis=1)
        even, motion_parts = filtered(motion)
        _, direction = evenly(even, self._directions(motion_parts), settings.cutoff)
        torque = control = np.zeros((len(at), 0, 3))
        good = np.ones((len(at), len(self.compared)), bool)
        if self.torques:
            values = np.concatenate([recording[name].values for name in self.torques], axis=1)
            torque = resampled(*filtered(values))
            good = np.stack([distance(at, time[np.isfinite(x)]) <= near for x in values.T], axis=1)
        for column in motion.T:
            lost = in_gaps(at, time[np.isfinite(column)], 2.0 * near, settings.trim)
            good &= ~lost[:, None]
        if self.controls:
            values = np.concatenate([recording[name].values for name in self.controls], axis=1)
            control = resampled(*filtered(values))
            for column in values.T:
                good &= (distance(at, time[np.isfinite(column)]) <= near)[:, None]
        activation = np.zeros((len(at), 0))
        if self.controls and self.subject.model.activations is not None:
            activation = resampled(*filtered(self._activations(recording)))[:, :, 0]
        position = resampled(even, motion_parts)
        good &= np.abs(position[:, self.compared, 1]) > settings.moving
        good &= ~self.eliminated
        for column, stopped in enumerate(self._at_limits(motion_parts[:, :, 0]).T):
            good[:, column] &= distance(at, even[stopped]) > near
        smooth = resampled(even, direction)
        parts = (position, smooth, torque, control, activation, good.astype(float), at)
        return MotionSamples(*(jnp.asarray(part[:, None]) for part in parts))

    @property
    def _with_tendons(self) -> bool:
        """Tell whether any tendon has dry friction."""
        linkage = self.subject.model.topology.linkage
        return bool((linkage.dry_friction >= len(linkage.axes)).any())

    def _directions(self, position: Float[np.ndarray, "s nv 3"]) -> Float[np.ndarray, "s k"]:
        """Return the directions at all samples of a recording, before the filter."""
        if self._with_tendons:
            directions = jax.lax.map(self.direction, jnp.asarray(position), batch_size=BATCH)
        else:
            directions = jax.vmap(self.direction)(jnp.asarray(position))
        return np.asarray(directions, float)

    def _activations(self, recording: Recording) -> Float[np.ndarray, "s ma"]:
        """Return the activations at all samples of a recording of controls."""
        time = recording.time - recording.time[0]
        control = controls_between(self.subject, recording)
        return np.asarray(activations_along(self.subject, time, control, time[-1])[:-1], float)

    def _at_limits(self, level: Float[np.ndarray, "s nv"]) -> Bool[np.ndarray, "s o"]:
        """Return the mask of the samples at which compared axes are at a limit."""
        limits, linkage = limits_of(self.subject), self.subject.model.topology.linkage
        names = [linkage.axes[axis] for axis in self.axes[self.compared]]
        low, high = np.array([limits[name][:2] for name in names]).T
        margin = AT_LIMIT * np.where(np.isfinite(high - low), high - low, 1.0)
        level = level[:, self.compared]
        return (level < low + margin) | (level > high - margin)

    def _position(self, recording: Recording, axis: int) -> Channel:
        """Return the channel of an axis's position in a recording."""
        joint = self.subject.model.topology.linkage.axes[axis]
        name = f'position["{joint}"]'
        return recording[name if name in recording.index else f'motion["{joint}"]']


def in_gaps(
    time: Float[np.ndarray, " n"], known: Float[np.ndarray, " k"], longest: float, margin: float
) -> Bool[np.ndarray, " n"]:
    """Return the mask of the times that are in a gap between known ones, before the first or after
    the last, or near such a gap, where the filter spreads the kink at its edge.

    Args:
        time: times [s].
        known: ascending times [s].
        longest: longest time from one of them to the next that is no gap [s].
        margin: time near a gap [s].
    """
    ends = np.concatenate([[-np.inf], known, [np.inf]])
    gap = np.flatnonzero(np.diff(ends) > longest)
    begin, end = ends[gap] - margin, ends[gap + 1] + margin
    return time < end[np.searchsorted(begin, time, side="left") - 1]


def distance(
    time: Float[np.ndarray, " n"], known: Float[np.ndarray, " k"]
) -> Float[np.ndarray, " n"]:
    """Return how far each time is from the nearest of the known ones, infinite if there is none
    [s].

    Args:
        time: times [s].
        known: ascending times [s].
    """
    if not len(known):
        return np.full(len(time), np.inf)
    after = np.clip(np.searchsorted(known, time), 1, max(len(known) - 1, 1))
    ends = known[np.stack([after - 1, np.minimum(after, len(known) - 1)])]
    return np.min(np.abs(ends - time), axis=0)
