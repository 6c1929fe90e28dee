"""Initial states of simulations, measured from recordings, and changes of them."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int
from scipy.spatial.transform import Rotation

from jaxccp.identify.recordings.filters import filled_poses, shortest_gap, smoothed
from jaxccp.identify.recordings.followers import Followers
from jaxccp.identify.recordings.recording import Recording
from jaxccp.identify.recordings.segments import noise_of
from jaxccp.identify.subject import Subject
from jaxccp.math import quaternion
from jaxccp.sensors.coordinates.addresses import Places, address_range
from jaxccp.sensors.coordinates.coordinates import Coordinates

OPEN = 1.0, 10.0
"""Standard deviations of coordinates [m, rad] and rates [m/s, rad/s] that were not recorded."""


def displaced(
    layout: Coordinates,
    qpos: Float[Array, " nq"],
    qvel: Float[Array, " nv"],
    change: Float[Array, " 2*nv"],
) -> tuple[Float[Array, " nq"], Float[Array, " nv"]]:
    """Return coordinates and rates after a change.

    Orientations change by rotation vectors in the axes of the body, as their rates are given.

    Args:
        layout: layout of the coordinates.
        qpos: coordinates [m, rad, quaternions].
        qvel: rates [m/s, rad/s].
        change: change of the coordinates [m, rad], then of the rates [m/s, rad/s].
    """
    places = layout.places
    shift, faster = jnp.split(change, 2)
    plain, turns = _positions(places)
    qpos = qpos.at[plain[0]].add(shift[plain[1]])
    if len(turns[0]):
        start = quaternion.normalize(qpos[turns[0]])
        rotated = quaternion.multiply(start, quaternion.exp(shift[turns[1]]))
        qpos = qpos.at[turns[0]].set(rotated)
    return qpos, qvel + faster


def displacement(
    layout: Coordinates,
    origin: tuple[Float[Array, " nq"], Float[Array, " nv"]],
    end: tuple[Float[Array, " nq"], Float[Array, " nv"]],
) -> Float[Array, " 2*nv"]:
    """Return the change from ``origin`` to ``end``, the inverse of :func:`displaced`.

    Args:
        layout: layout of the coordinates.
        origin: coordinates and rates to start from.
        end: coordinates and rates to arrive at.
    """
    plain, turns = _positions(layout.places)
    shift = jnp.zeros_like(origin[1]).at[plain[1]].set(end[0][plain[0]] - origin[0][plain[0]])
    if len(turns[0]):
        back = quaternion.conjugate(quaternion.normalize(origin[0][turns[0]]))
        rotation = quaternion.log(quaternion.multiply(back, end[0][turns[0]]))
        shift = shift.at[turns[1]].set(rotation)
    return jnp.concatenate([shift, end[1] - origin[1]])


def _positions(
    places: Places,
) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
    """Return the places in ``qpos`` and ``qvel`` of numbers that add, and of quaternions."""
    free = places.free
    linear = np.concatenate([places.single[0], address_range(free[0], 3).reshape(-1)])
    rates = np.concatenate([places.single[1], address_range(free[1], 3).reshape(-1)])
    turns = np.concatenate([address_range(places.ball[0], 4), address_range(free[0] + 3, 4)])
    spins = np.concatenate([address_range(places.ball[1], 3), address_range(free[1] + 3, 3)])
    return (linear.astype(int), rates.astype(int)), (turns.astype(int), spins.astype(int))


class MeasuredMotion:
    """Measured coordinates and rates at any time of a recording; positions are filtered,
    orientations are not."""

    def __init__(
        self,
        subject: Subject,
        recording: Recording,
        cutoff: float,
        rest: tuple[Float[np.ndarray, " nq"], Float[np.ndarray, " nv"]],
    ) -> None:
        """Filter the positions, poses and rates of the recording; rates that were not recorded are
        slopes, and axes that were not recorded follow those that they are coupled to.

        Args:
            subject: the model.
            recording: a recording with positions of axes or poses of free bodies.
            cutoff: frequency of the filter of positions [Hz].
            rest: coordinates and rates of what was not recorded.
        """
        places, topology = subject.layout.places, subject.model.topology
        time, count = recording.time, len(recording.time)
        qpos, qvel = rest
        self.time = time
        self.qpos, self.qvel = np.tile(qpos, (count, 1)), np.tile(qvel, (count, 1))
        self.known = np.zeros(places.nv, bool)
        # Index of the channel of each coordinate, and of its rate if that was recorded; -1: none.
        self.channels: Int[np.ndarray, "2 nv"] = np.full((2, places.nv), -1)
        index = subject.channels.names.index
        self._samples = {
            index(channel.name): _samples(time[np.isfinite(channel.values).all(axis=1)])
            for kind in ("motion", "position", "pose", "rate")
            for channel in recording.of_kind(kind)
        }
        self._quaternions = _positions(places)[1][0]
        axes = {topology.linkage.axes[axis]: place for place, axis in enumerate(places.single[2])}
        channels = [*recording.of_kind("motion"), *recording.of_kind("position")]
        channels = [c for c in channels if c.target in axes and np.isfinite(c.values).any()]
        if channels:
            samples = np.concatenate([channel.values for channel in channels], axis=1)
            levels, slopes = smoothed(time, samples, cutoff)
            for column, channel in enumerate(channels):
                at, speed = places.single[:2, axes[channel.target]]
                self.qpos[:, at], self.qvel[:, speed] = levels[:, column], slopes[:, column]
                self.known[speed], self.channels[0, speed] = True, index(channel.name)
        bodies = {topology.bodies[body]: place for place, body in enumerate(places.free[2])}
        for channel in recording.of_kind("pose"):
            if channel.target not in bodies or not np.isfinite(channel.values).all(axis=1).any():
                continue
            at, speed, _ = places.free[:, bodies[channel.target]]
            poses = filled_poses(time, channel.values)
            level, rate = smoothed(time, poses[:, :3], cutoff)
            orientation = poses[:, 3:]
            self.qpos[:, at : at + 3], self.qvel[:, speed : speed + 3] = level, rate
            self.qpos[:, at + 3 : at + 7] = orientation
            self.qvel[:, speed + 3 : speed + 6] = body_rates(time, orientation)
            self.known[speed : speed + 6] = True
            self.channels[0, speed : speed + 6] = index(channel.name)
        for channel in recording.of_kind("rate"):
            if channel.target in axes and np.isfinite(channel.values).any():
                speed = places.single[1, axes[channel.target]]
                self.qvel[:, speed] = smoothed(time, channel.values, cutoff)[0][:, 0]
                self.channels[1, speed] = index(channel.name)
        followers = Followers.of(subject, [recording])
        if followers.pairs:
            self.qpos, self.qvel = map(np.array, followers.follow(subject, self.qpos, self.qvel))
        for _, axis in followers.pairs:
            speed = places.single[1][places.single[2] == axis]
            self.known[speed], self.channels[:, speed] = True, -1
        self.qacc = np.gradient(self.qvel, time, axis=0)

    def at(self, when: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return coordinates [nq], rates and accelerations [nv] at a time [s]."""
        place = np.clip(np.searchsorted(self.time, when, side="right") - 1, 0, len(self.time) - 2)
        span = self.time[place + 1] - self.time[place]
        share = np.clip((when - self.time[place]) / span, 0.0, 1.0)
        qpos, qvel, qacc = (
            (1 - share) * series[place] + share * series[place + 1]
            for series in (self.qpos, self.qvel, self.qacc)
        )
        qpos[self._quaternions] /= np.linalg.norm(qpos[self._quaternions], axis=1, keepdims=True)
        return qpos, qvel, qacc

    def missing(self, when: float) -> Bool[np.ndarray, " x"]:
        """Return the mask of measured coordinates, then rates, that are in a gap of the recording
        at a time: they are interpolated between samples far from it.

        Args:
            when: the time [s].
        """
        gaps = []
        for channel, (time, furthest) in self._samples.items():
            near = time[max(np.searchsorted(time, when) - 1, 0) :][:2]
            if np.min(np.abs(near - when), initial=np.inf) > furthest:
                gaps.append(channel)
        position, rate = self.channels
        return np.isin([position, np.where(rate < 0, position, rate)], gaps).ravel()


def _samples(time: Float[np.ndarray, " s"]) -> tuple[Float[np.ndarray, " s"], float]:
    """Return times of samples [s], and the time to the nearest one from which a time is in a gap
    [s]."""
    if len(time) < 2:
        return time, 0.0
    return time, shortest_gap(time)


def body_rates(
    time: Float[np.ndarray, " s"], orientation: Float[np.ndarray, "s 4"]
) -> Float[np.ndarray, "s 3"]:
    """Return angular velocities in the axes of the body [rad/s], by central differences of the
    orientation."""
    place = np.arange(len(time))
    before, after = np.maximum(place - 1, 0), np.minimum(place + 1, len(time) - 1)
    start = Rotation.from_quat(orientation[before], scalar_first=True)
    end = Rotation.from_quat(orientation[after], scalar_first=True)
    return (start.inv() * end).as_rotvec() / (time[after] - time[before])[:, None]


def start_deviation(
    subject: Subject, recording: Recording, start: MeasuredMotion, share: float
) -> Float[np.ndarray, " x"]:
    """Return the standard deviations of measured initial coordinates and rates.

    Args:
        subject: the model.
        recording: recording whose positions have noise.
        start: measured coordinates of the recording.
        share: standard deviation of rates, relative to their root mean square.

    Returns:
        Deviations of coordinates [m, rad], then of rates [m/s, rad/s]. For coordinates they are ten
        times the noise of recorded positions, at least 1e-6, and 1e-2 for poses and motions; for
        rates, ``share`` times their root mean square, at least 1e-3. Where nothing was recorded
        they are :data:`OPEN`.
    """
    places, linkage = subject.layout.places, subject.model.topology.linkage
    noise = np.full(places.nv, 1e-3)
    for channel in recording.of_kind("position"):
        axis = linkage.axis(channel.target)
        noise[places.single[1][places.single[2] == axis]] = noise_of(recording, channel)
    speed = np.sqrt(np.mean(start.qvel**2, axis=0))
    rate = np.where(start.known, np.maximum(share * speed, 1e-3), OPEN[1])
    return np.concatenate([np.where(start.known, np.maximum(10.0 * noise, 1e-6), OPEN[0]), rate])
