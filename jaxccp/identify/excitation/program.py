"""Compute the information of a motion about parameters and its use of limits, with derivatives."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.identify.case import Mechanism, subject_of
from jaxccp.identify.excitation.design import Design
from jaxccp.identify.excitation.limits import distances
from jaxccp.identify.inverse_dynamics.inverse_dynamics import InverseDynamics
from jaxccp.identify.inverse_dynamics.plan import InversePlan
from jaxccp.identify.inverse_dynamics.sampling import MotionSamples
from jaxccp.identify.parameters.parameter import Parameter, ParameterSet
from jaxccp.identify.parameters.structure import with_required_rows
from jaxccp.identify.recordings.recording import recording

LENGTH = 0.05
"""Distance that a clearance is measured against to compare it with other limits [m]."""


@dataclass(frozen=True)
class LimitBox:
    """The limits of a motion as centres ± half widths; a limit on one side only, of magnitude a,
    becomes ±a."""

    middle: Float[np.ndarray, "4 n"]
    """Centres of the limits of positions, rates, accelerations and torques, for each joint."""
    half: Float[np.ndarray, "4 n"]
    """Half widths of these limits; infinite without a limit."""
    clearance: float
    """Smallest allowed distance of shapes [m]."""

    @staticmethod
    def of(limits: Float[np.ndarray, "4 2 n"], clearance: float) -> "LimitBox":
        """Return the box of limits for lowest and highest values.

        Args:
            limits: result of :func:`jaxccp.identify.excitation.limits.joint_limits`.
            clearance: least distance of shapes [m].
        """
        finite = np.asarray(np.isfinite(limits).all(axis=1))
        low, high = np.moveaxis(np.where(finite[:, None], limits, 0.0), 1, 0)
        smaller_end = np.abs(limits).min(axis=1)
        half = np.where(finite, 0.5 * (high - low), smaller_end)
        return LimitBox(0.5 * (low + high), half, clearance)


class Program:
    """Computes torques, their derivatives and distances of shapes along motions; compiled once for
    a grid of times."""

    def __init__(
        self,
        mechanism: Mechanism,
        parameters: Sequence[Parameter],
        design: Design,
    ) -> None:
        """Find the parameters in the model and prepare the inverse dynamics.

        Raises:
            ValueError: a path names nothing, the mechanism has bodies that no joint places, or
                joints are coupled.
        """
        linkage, places = mechanism.model.topology.linkage, mechanism.layout.places.single
        self.joints = tuple(linkage.axes[axis] for axis in places[2][np.argsort(places[1])])
        time = np.linspace(0.0, design.duration, 60)
        still = dict.fromkeys(self.joints, np.zeros(60))
        log = recording(time, "planned", position=still, torque=still)
        subject = subject_of(mechanism, [log])
        self.parameters = ParameterSet(parameters, subject)
        subject = with_required_rows(subject, self.parameters)
        settings = InverseDynamics(cutoff=design.cutoff, moving=design.moving, trim=0.0)
        self.plan: InversePlan = settings.plan(subject, [log])
        if (follows := self.plan.sampling.eliminated).any():
            names = ", ".join(np.array(self.joints)[follows])
            raise ValueError(
                f"{names}: coupled to other joints (mimic), and cannot be moved alone: motions are "
                "planned for models without couplings"
            )
        self.touching = bool(subject.model.topology.touchable)
        self.scale = np.asarray(self.parameters.column("scale"))
        self.names = self.parameters.names
        changed = np.asarray(self.parameters.column("initial")) + self.scale
        delay = self.parameters.apply(self.plan.subject, jnp.asarray(changed)).channels.delay
        # The derivative by the delay of a torque is the torque's rate, which is not needed without.
        self.late = bool(np.any(delay))
        topology = subject.model.topology
        self.owners = tuple(topology.bodies[body] for body in topology.shape_body)

    def motion(self, basis: Float[Array, "4 s m"], x: Float[Array, "n m"]) -> Float[Array, "s n 4"]:
        """Return positions, rates and accelerations of all joints, and the rates of these."""
        return jnp.einsum("dsm,nm->snd", basis, x)

    def torques(self, theta: Float[Array, " P"], motion: Float[Array, "s n 4"]) -> Array:
        """Return the torques for a motion [N, N m], (s, n)."""

        def torque(sample: Array) -> Array:
            return self._compared(theta, sample[:, :3], jnp.zeros((len(self.joints), 3)))[1]

        return jax.vmap(torque)(motion)

    def regressor(
        self, theta: Float[Array, " P"], motion: Float[Array, "s n 4"]
    ) -> Float[Array, "s n P"]:
        """Return the derivatives of computed minus measured torques with respect to the parameters
        in their scales."""

        def series(position: Array, rate: Array | float) -> Array:
            """Return the torques that are recorded at this motion, and their ``rate``."""
            without = jnp.zeros((len(self.joints), 3)).at[:, 1].set(rate)
            level, need = self._compared(theta, position, without)
            slope = self._compared(theta, position, without.at[:, 0].set(1.0))[0] - level
            return without.at[:, 0].set((need - level) / slope)

        def derivatives(sample: Array) -> Array:
            position = sample[:, :3]
            rate: Array | float = 0.0
            if self.late:
                _, rate = jax.jvp(lambda p: series(p, 0.0)[:, 0], (position,), (sample[:, 1:],))
            torque = series(position, rate)

            def missing(offset: Array) -> Array:
                measured, need = self._compared(theta + self.scale * offset, position, torque)
                return need - measured

            return jax.jacfwd(missing)(jnp.zeros(len(self.scale)))

        return jax.vmap(derivatives)(motion)

    def information(
        self,
        theta: Float[Array, " P"],
        motion: Float[Array, "s n 4"],
        weight: Float[Array, "s n"],
    ) -> Float[Array, "P P"]:
        """Return the information matrix of a motion's samples, for the parameters in their scales.

        Args:
            theta: parameters.
            motion: positions and their first three derivatives at the samples.
            weight: inverse variance of each torque.
        """
        slope = self.regressor(theta, motion)
        return jnp.einsum("sn,snp,snq->pq", weight, slope, slope)

    def gaps(self, motion: Float[Array, "s n 3"]) -> tuple[Float[Array, "s c"], Array]:
        """Return the gap of every contact slot of shapes that can collide [m], and the two shapes
        of each slot [s c 2], in every sample (:func:`distances`)."""
        subject = self.plan.subject

        def sample_distances(position: Array) -> tuple[Array, Array]:
            level = position[:, 0]
            state = subject.layout.state(subject.model, subject.state, level, jnp.zeros_like(level))
            return distances(subject.model, state)

        return jax.vmap(sample_distances)(motion)

    def _compared(self, theta: Array, position: Array, torque: Array) -> tuple[Array, Array]:
        """Return the measured and the computed torques of one sample, in the order of the
        joints.

        Args:
            theta: parameters.
            position: positions, rates and accelerations [n 3].
            torque: recorded torques and their first two derivatives [n 3].
        """
        subject = self.parameters.apply(self.plan.subject, theta)
        empty, none = jnp.zeros((0, 3)), jnp.zeros(0)
        direction = self.plan.sampling.direction(position)
        one = jnp.ones(len(self.joints))
        sample = MotionSamples(
            position=position,
            direction=direction,
            torque=torque,
            control=empty,
            activation=none,
            weight=one,
            time=jnp.zeros(()),
        )
        return self.plan.torque(subject, sample)


def smooth_maximum(values: Float[Array, "s ..."], sharpness: float) -> Float[Array, "..."]:
    """Return a smooth upper bound of the maximum along the first axis.

    It exceeds the maximum by at most the logarithm of the number of values divided by the sharpness
    (Kreisselmeier & Steinhauser, IFAC 1979).
    """
    return jax.nn.logsumexp(sharpness * values, axis=0) / sharpness


@partial(jax.jit, static_argnames=("criterion",))
def criterion_of(matrix: Float[Array, "k k"], criterion: str) -> Float[Array, ""]:
    """Return the value that a design minimises, for an information matrix.

    D: minus the logarithm of the determinant, divided by the size. A: the logarithm of the trace of
    the inverse.
    """
    factor = jnp.linalg.cholesky(0.5 * (matrix + matrix.T))
    if criterion == "D":
        return -2.0 * jnp.mean(jnp.log(jnp.diag(factor)))
    inverse = jax.scipy.linalg.solve_triangular(factor, jnp.eye(len(matrix)), lower=True)
    return jnp.log(jnp.sum(inverse**2))
