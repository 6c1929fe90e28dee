"""Rates after planar impacts, predicted by an impact law with a model's mass matrix and contact."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.collision.detect import detect
from jaxccp.dynamics.inverse.inverse_dynamics import mass_matrix
from jaxccp.identify.impacts.laws import ImpactContact, impact_law
from jaxccp.identify.recordings.recording import Recording
from jaxccp.identify.recordings.segments import Batch, Observation
from jaxccp.identify.subject import Subject
from jaxccp.math.linear3 import cross

if TYPE_CHECKING:
    from jaxccp.identify.impacts.impacts import Impacts

OUT_OF_PLANE = 1e-3
"""Velocity of the contact out of the plane of motion, relative to that in it, that counts as
rounding."""
STOPPED = 0.01
"""Norm of the rates after an impact, relative to that before, up to which it stops the bodies."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class ImpactPairs:
    """The states before and after an impact; in a batch every array has a leading axis n."""

    position: Float[Array, " k"]
    """Recorded coordinate of each axis before the impact [m, rad]."""
    before: Float[Array, " k"]
    """Recorded rate of each axis before [m/s, rad/s]."""
    after: Float[Array, " k"]
    """Recorded rate of each axis after [m/s, rad/s]."""
    norm: Float[Array, "k k"]
    """Matrix from errors of rates to the components of their kinetic-energy norm, divided by the
    norm of the rates after, or of those before where the impact stops the bodies."""


class ImpactPlan:
    """The impacts of one mechanism, each at one contact."""

    unknowns = 0
    """Number of unknowns of an impact besides the parameters."""
    common_deviation = True
    """Whether the compared values are components of one error with a common standard deviation."""

    def __init__(
        self, settings: "Impacts", subject: Subject, recordings: Sequence[Recording]
    ) -> None:
        """Collect the impacts and check that each has a contact in the plane of motion."""
        self.settings, self.subject = settings, subject
        self.recordings = tuple(recordings)
        self.law = impact_law(settings.impact_law)
        linkage = subject.model.topology.linkage
        targets = [channel.target for channel in recordings[0].of_kind("rate")]
        if not targets:
            raise ValueError(f"recording {recordings[0].name!r} has no rates to compare")
        places = subject.layout.places.single
        single = {linkage.axes[axis]: place for place, axis in enumerate(places[2])}
        rows = [single[name] for name in targets if name in single]
        if len(rows) < len(targets):
            raise ValueError("impacts compare rates of hinges and slides, not of balls")
        self._coordinates, self._rates = places[0][rows], places[1][rows]
        self._positions = [f'position["{name}"]' for name in targets]
        self.columns = tuple(f'rate["{name}"]' for name in targets)
        self.observations = tuple(
            Observation(f'rate["{name}"]', "rate", linkage.axis(name), 1) for name in targets
        )
        samples = [self._samples(recording) for recording in recordings]
        position, before, after = (
            jnp.asarray(np.stack(part)) for part in zip(*samples, strict=True)
        )
        pairs = ImpactPairs(position, before, after, jnp.zeros((len(samples), 0, 0)))
        weight, gap, leaving = jax.jit(jax.vmap(self._measure))(pairs)
        if not np.isfinite(gap).all():
            name = recordings[int(np.argmin(np.isfinite(gap)))].name
            raise ValueError(
                f"recording {name!r}: no shapes are closer than the margin of "
                f"{float(subject.model.contact.margin):g} m before the impact"
            )
        if (np.asarray(leaving) > OUT_OF_PLANE).any():
            raise ValueError(
                f"the contact of recording {recordings[int(np.argmax(leaving))].name!r} does not "
                f"move in the plane with the normal {settings.plane}: set plane="
            )
        pairs = ImpactPairs(position, before, after, weight)
        self.batch = Batch.without_starts(pairs, np.arange(len(samples)))

    def predict(self, subject: Subject, pair: ImpactPairs) -> Float[Array, " k"]:
        """Return the rates that would be recorded after an impact [m/s, rad/s].

        Args:
            subject: the model with the parameters' values.
            pair: one impact.
        """
        rate, mass, rows, numbers = self._contact(subject, pair)
        velocity = rows[:2] @ rate
        response = jnp.linalg.solve(mass, rows[:2].T)
        further = {**self.law.numbers, **subject.law_numbers}
        further = {name: jnp.asarray(value, rate.dtype) for name, value in further.items()}
        contact = ImpactContact(rows[:2] @ response, velocity, numbers[0], numbers[1], further)
        impulse = self.law.impulse(contact)
        channels, slots = subject.channels, self._slots(subject, self.columns)
        after = (rate + response @ impulse)[self._rates]
        return channels.scale[slots] * after + channels.offset[slots]

    @property
    def start_times(self) -> Float[np.ndarray, " n"]:
        """Return the time of the last sample of each recording, that after the impact [s]."""
        return np.array([recording.time[-1] for recording in self.recordings])

    def curves(
        self, subject: Subject, segment: ImpactPairs, change: Float[Array, " 0"]
    ) -> tuple[Float[Array, " 1"], Float[Array, "1 k"], Float[Array, "1 k"], Bool[Array, "1 k"]]:
        """Return the time 0, measured and predicted rates after an impact [m/s, rad/s], and a mask
        of ones, each with one sample.

        Args:
            subject: the model with the parameters' values.
            segment: one impact.
            change: unused; the segment has no unknowns.
        """
        predicted = self.predict(subject, segment)[None]
        return jnp.zeros(1), segment.after[None], predicted, jnp.ones(predicted.shape, bool)

    def residual(
        self, subject: Subject, segment: ImpactPairs, change: Float[Array, " 0"]
    ) -> tuple[Float[Array, "1 k"], Float[Array, " 0"]]:
        """Return the error of the rates after an impact in the kinetic-energy norm, relative to the
        rates and divided by its standard deviation.

        Args:
            subject: the model with the parameters' values.
            segment: one impact.
            change: unused; the segment has no unknowns.
        """
        error = self.predict(subject, segment) - segment.after
        return (segment.norm @ error)[None] / self.settings.noise, change

    def _slots(self, subject: Subject, names: Sequence[str]) -> np.ndarray:
        """Return the places of channels in the calibration."""
        return np.array([subject.channels.names.index(name) for name in names])

    def _contact(self, subject: Subject, pair: ImpactPairs):
        """Return the rates before, the mass matrix in their coordinates, the rows of the contact
        on them (normal, tangent, out of plane), and (restitution, friction, gap)."""
        model, layout, channels = subject.model, subject.layout, subject.channels
        slots, rates = (self._slots(subject, names) for names in (self._positions, self.columns))
        rest, _ = layout.coordinates(model, subject.state)
        true = (pair.position - channels.offset[slots]) / channels.scale[slots]
        qpos = rest.at[self._coordinates].set(true)
        rate = (pair.before - channels.offset[rates]) / channels.scale[rates]
        qvel = jnp.zeros(layout.places.nv, rate.dtype).at[self._rates].set(rate)
        state = layout.state(model, subject.state, qpos, qvel)
        contacts = detect(model, state)
        gaps = jnp.where(contacts.live, contacts.gap, jnp.inf)
        nearest = jnp.argmin(gaps)
        first, second = contacts.bodies[nearest, 0], contacts.bodies[nearest, 1]
        normal, middle = contacts.frame[nearest, 0], contacts.position[nearest]
        plane = jnp.asarray(self.settings.plane, normal.dtype)
        plane = plane / jnp.linalg.norm(plane)
        tangent = cross(plane, normal)
        frame = jnp.stack([normal, tangent / jnp.linalg.norm(tangent), plane])
        half = 0.5 * contacts.gap[nearest] * normal

        def relative(qvel: Array) -> Float[Array, " 3"]:
            moving = layout.state(model, subject.state, qpos, qvel)

            def surface(body: Array, point: Array) -> Array:
                arm = point - moving.position[body]
                return (
                    moving.velocity[body] + cross(moving.angular_velocity[body][None], arm[None])[0]
                )

            return frame @ (surface(second, middle + half) - surface(first, middle - half))

        rows = jax.jacfwd(relative)(qvel)
        basis = jax.jacfwd(lambda v: layout.velocities(model, state, v))(qvel)
        mass = basis.T @ mass_matrix(model, state) @ basis
        numbers = contacts.restitution[nearest], contacts.impact_friction[nearest], gaps[nearest]
        return qvel, mass, rows, numbers

    def _measure(self, pair: ImpactPairs) -> tuple[Array, Array, Array]:
        """Return the matrix :attr:`ImpactPairs.norm` of an impact, the gap before it [m], and the
        largest velocity of the contact out of the plane, relative to that in the plane."""
        _, mass, rows, (_, _, gap) = self._contact(self.subject, pair)
        recorded = mass[self._rates][:, self._rates]
        root = jnp.linalg.cholesky(recorded).T
        size, before = (jnp.linalg.norm(root @ rates) for rates in (pair.after, pair.before))
        size = jnp.where(size > STOPPED * before, size, before)
        leaving = jnp.max(jnp.abs(rows[2])) / jnp.max(jnp.abs(rows[:2]))
        return root / size, gap, leaving

    def _samples(self, recording: Recording) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the coordinates and rates before, and the rates after."""
        label = f"recording {recording.name!r}"
        if len(recording.time) != 2:
            raise ValueError(
                f"{label} has {len(recording.time)} samples: an impact has two, before and after it"
            )
        missing = [
            name for name in (*self._positions, *self.columns) if name not in recording.index
        ]
        if missing:
            raise ValueError(f"{label} has no {missing[0]}: impacts need positions and rates")
        position = np.array([recording[name].values[0, 0] for name in self._positions])
        rates = np.array([recording[name].values[:, 0] for name in self.columns])
        if not (np.isfinite(position).all() and np.isfinite(rates).all()):
            raise ValueError(f"{label}: a sample is missing (NaN)")
        return position, rates[:, 0], rates[:, 1]
