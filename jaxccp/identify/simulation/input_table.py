"""Tables of recorded inputs, and the values that act in each step of a simulation."""

from collections.abc import Mapping
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from jaxccp.identify.recordings.channel_values import interpolated
from jaxccp.identify.recordings.recording import Channel, Recording
from jaxccp.identify.simulation.inputs import Roles
from jaxccp.identify.subject import Subject
from jaxccp.model.actuators.dynamics import DYNAMICS
from jaxccp.model.model import Model

ROWS = 2
"""Number of rows of a table for each step; with leapfrog steps, forces act from half a step before
the poses to half a step after."""


@dataclass(frozen=True)
class InputTable:
    """The layout of a table with the inputs of a segment, and ``margin`` steps before and after it.

    A row of a channel that is held between samples is the mean from the row's time to that of the
    next row. A step then gets the mean over the time in which it acts, whatever the delay. A row of
    an interpolated channel is the value at the row's time.
    """

    roles: Roles
    """Roles of the recordings' channels."""
    steps: int
    """Number of steps of a segment."""
    margin: int
    """Number of steps before and after a segment in the table."""
    h: float
    """Length of a step [s]."""
    leaps: bool
    """Whether forces of a step act from half a step before its poses to half a step after; else
    they act from the time of the poses on. Motions and exact activations do not depend on it."""
    at_poses: bool = False
    """Whether the values are those at the time of the poses, as sensors read them with a pose, and
    of held ones those from then on; else they act in the steps."""

    def rows(self, recording: Recording, begin: float) -> Float[np.ndarray, "k m"]:
        """Return the table of inputs of a segment.

        Args:
            recording: the recording.
            begin: time of its start [s].

        Raises:
            ValueError: a torque, motion or wrench has no samples; controls without are 0.
        """
        spacing = self.h / ROWS
        count = ROWS * (self.steps + 1 + 2 * self.margin)
        times = begin + spacing * (np.arange(count) - ROWS * self.margin)
        columns = [np.zeros((count, 0))]
        columns += [
            _sampled(recording.time, recording[name], times, spacing) for name in self.roles.inputs
        ]
        return np.concatenate(columns, axis=1)

    def values(
        self, subject: Subject, table: Float[Array, "k m"]
    ) -> dict[str, Float[Array, "n w"]]:
        """Return the value of each input channel in each step, and in one further step, by its
        name.

        Args:
            subject: subject with the calibration of the channels and the time scale.
            table: table of a segment.
        """
        channels, out, start = subject.channels, {}, 0
        steps, rows_per_step = jnp.arange(self.steps + 1), ROWS / subject.time_scale
        most = int(np.ceil(ROWS / subject.time_scale_bounds[0])) + 1
        for name in self.roles.inputs:
            width = 6 if name in self.roles.wrenches else 1
            rows, row = table[:, start : start + width], channels.names.index(name)
            when = rows_per_step * steps + ROWS * (self.margin - channels.delay[row] / self.h)
            begin, end = self._interval(subject.model, name)
            if name in self.roles.stepwise:
                value = averaged(
                    rows, when + rows_per_step * begin, when + rows_per_step * end, most
                )
            else:
                middle = 0.0 if self.at_poses else 0.5 * (begin + end)
                value = interpolated(rows, when + rows_per_step * middle)
            out[name] = (value - channels.offset[row]) / channels.scale[row]
            start += width
        return out

    def _interval(self, model: Model, name: str) -> tuple[Float[Array, " n"] | float, float]:
        """Return when an input acts in each step, from the time of the step's first pose on, in
        steps."""
        if name in self.roles.motions and not self.at_poses:
            return 0.5, 1.5  # The stiff servo of a motion brings its axis to where a step ends.
        if self.at_poses or not self.leaps or name in _exactly_integrated(model):
            return 0.0, 1.0
        # The first leapfrog step acts from the start of the segment.
        return jnp.where(jnp.arange(self.steps + 1) > 0, -0.5, 0.0), 0.5

    def acting(
        self, subject: Subject, table: Float[Array, "k m"], targets: Mapping[str, str]
    ) -> tuple[Float[Array, "n nb 6"], Float[Array, "n nm"]]:
        """Return the wrenches on bodies and the controls of actuators in each step, and in one
        further step.

        Args:
            subject: as in :meth:`values`; its last actuators are the drives of recorded torques and
                motions.
            table: table of a segment.
            targets: what each input channel acts on, by the channel's name.
        """
        model, roles = subject.model, self.roles
        columns = self.values(subject, table)
        controls = jnp.zeros((self.steps + 1, len(model.actuators.gain)))
        for name in roles.controls:
            place = model.topology.linkage.actuator(targets[name])
            controls = controls.at[:, place].set(columns[name][:, 0])
        first = len(model.actuators.gain) - len(roles.torques) - len(roles.motions)
        for place, name in enumerate((*roles.torques, *roles.motions)):
            controls = controls.at[:, first + place].set(columns[name][:, 0])
        forces = jnp.zeros((self.steps + 1, len(model.topology.bodies), 6))
        for name in roles.wrenches:
            forces = forces.at[:, model.topology.body(targets[name])].add(columns[name])
        return forces, controls


def _exactly_integrated(model: Model) -> list[str]:
    """Return the channels of controls whose activations Euler steppers take along the exact path.

    Euler's step of a filter lags half a step less, which the mean from half a step before makes up
    for.
    """
    if model.activations is None:
        return []
    names, activations = model.topology.linkage.actuators, model.activations
    return [
        f'control["{names[actuator]}"]'
        for actuator, kind in zip(activations.actuators, activations.dynamics, strict=True)
        if DYNAMICS[kind].euler is DYNAMICS[kind].exact
    ]


def averaged(
    cells: Float[Array, "k *f"], begin: Float[Array, " n"], end: Float[Array, " n"], most: int
) -> Float[Array, "n *f"]:
    """Return means over intervals of a function that is constant between 0, 1, 2 …, and beyond its
    ends has the value of the cell at that end.

    Args:
        cells: the values between these places.
        begin: beginnings of the intervals.
        end: ends of the intervals.
        most: maximum number of integers in an interval.
    """

    def cell(place: Array) -> Array:
        # On the border of two cells take the earlier one, since delays are mostly at their lower
        # bound 0.
        return lax.stop_gradient(jnp.ceil(place - 1e-6)).astype(int) - 1

    def value(which: Array) -> Array:
        return cells[jnp.clip(which, 0, len(cells) - 1)]

    def spread(share: Array) -> Array:
        return share.reshape(*share.shape, *[1] * (cells.ndim - 1))

    first, last = cell(begin), cell(end)
    which = first[:, None] + jnp.arange(most)
    total = jnp.sum(jnp.where(spread(which < last[:, None]), value(which), 0.0), axis=1)
    rest = spread(end - last) * value(last) - spread(begin - first) * value(first)
    return (total + rest) / spread(end - begin)


def _sampled(
    time: Float[np.ndarray, " s"],
    channel: Channel,
    times: Float[np.ndarray, " k"],
    spacing: float,
) -> Float[np.ndarray, "k w"]:
    """Return the values of a channel at other times; for a channel that is held, its means up to
    the next time."""
    columns = []
    for column in channel.values.T:
        good = np.isfinite(column)
        if not good.any() and channel.kind == "control":
            columns.append(np.zeros(len(times)))
            continue
        if not good.any():
            raise ValueError(
                f"{channel.name} drives the model but has no samples: read the file with "
                "leave_out=, or choose what drives the model by inputs="
            )
        at, values = time[good], column[good]
        if channel.interpolation == "linear":
            columns.append(np.interp(times, at, values))
        else:
            columns.append(_step_means(at, values, times, spacing))
    return np.stack(columns, axis=1)


def _step_means(
    at: Float[np.ndarray, " s"],
    values: Float[np.ndarray, " s"],
    times: Float[np.ndarray, " k"],
    spacing: float,
) -> Float[np.ndarray, " k"]:
    """Return the mean from each time to the next of values that are held between samples."""
    # Sums of products of times that count from 1970 would lose their digits.
    at, times = at - at[0], times - at[0]
    room = 1.0 + np.abs(times).max() + spacing
    edges = np.concatenate([[at[0] - room], at, [at[-1] + room]])
    constants = np.concatenate([values[:1], values])
    integral = np.concatenate([[0.0], np.cumsum(constants * np.diff(edges))])
    return (
        np.interp(times + spacing, edges, integral) - np.interp(times, edges, integral)
    ) / spacing
