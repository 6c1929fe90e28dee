"""Coordinates and rates of axes that are coupled to recorded ones, but were not recorded."""

from collections.abc import Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.identify.recordings.recording import Recording
from jaxccp.identify.subject import Subject
from jaxccp.model.tendons.routing import polynomial


@dataclass(frozen=True)
class Followers:
    """Axes without a recorded position that couplings of constant length tie to recorded ones.

    Such a coupling is Σ p_k(q_k) = l, where p of the follower is linear.
    """

    pairs: tuple[tuple[int, int], ...]
    """Coupling and follower; each depends on recorded axes and on followers before it."""

    @staticmethod
    def of(subject: Subject, recordings: Sequence[Recording]) -> "Followers":
        """Find the followers of the axes whose positions any of the recordings has."""
        linkage = subject.model.topology.linkage
        known = {
            linkage.axis(channel.target)
            for recording in recordings
            for channel in (*recording.of_kind("motion"), *recording.of_kind("position"))
            if channel.target in linkage.axes and np.isfinite(channel.values).any()
        }
        model, single = subject.model, {int(axis) for axis in subject.layout.places.single[2]}
        routing = linkage.routing
        moving = {int(tendon) for tendon in model.tendons.motions.index}
        paths = {int(tendon) for tendon in routing.segments[:, 0]}
        tendons = [int(t) for t in routing.bilateral if int(t) not in moving | paths]
        coefficients, pairs = np.asarray(model.tendons.polynomial), []
        for _ in tendons:
            for tendon in tendons:
                terms = np.flatnonzero(routing.terms[:, 0] == tendon)
                unknown = [row for row in terms if int(routing.terms[row, 1]) not in known]
                if len(unknown) != 1:
                    continue
                own, axis = coefficients[unknown[0]], int(routing.terms[unknown[0], 1])
                if axis in single and own[1] != 0 and not own[2:].any():
                    pairs.append((tendon, axis))
                    known.add(axis)
        return Followers(tuple(pairs))

    def follow(
        self,
        subject: Subject,
        qpos: Float[Array | np.ndarray, "*n nq"],
        qvel: Float[Array | np.ndarray, "*n nv"],
    ) -> tuple[Float[Array, "*n nq"], Float[Array, "*n nv"]]:
        """Return coordinates and rates with those of the followers in place.

        Args:
            subject: the model.
            qpos: coordinates [m, rad, quaternions].
            qvel: rates [m/s, rad/s].
        """
        model, (at, speed, single) = subject.model, subject.layout.places.single
        terms, reference = model.topology.linkage.routing.terms, subject.layout.reference
        qpos, qvel = jnp.asarray(qpos), jnp.asarray(qvel)
        place = {int(axis): number for number, axis in enumerate(single)}
        for tendon, follower in self.pairs:
            rows = np.flatnonzero(terms[:, 0] == tendon)
            columns = np.array([place[int(axis)] for axis in terms[rows, 1]])
            leads = terms[rows, 1] != follower
            x = jnp.where(leads, qpos[..., at[columns]] - reference[columns], 0.0)
            value, slope = polynomial(model.tendons.polynomial[rows], x)
            (factor,) = model.tendons.polynomial[rows, 1][~leads]
            (column,) = columns[~leads]
            rest = model.tendons.length[tendon] - jnp.sum(value, axis=-1)
            rate = -jnp.sum(jnp.where(leads, slope * qvel[..., speed[columns]], 0.0), axis=-1)
            qpos = qpos.at[..., at[column]].set(rest / factor + reference[column])
            qvel = qvel.at[..., speed[column]].set(rate / factor)
        return qpos, qvel
