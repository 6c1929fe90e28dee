"""Recorded motion as an npz file.

    layout "trajectory"   bodies (nb,) names, the fixed world first
    time (n+1,) [s]       position (n+1, nb, 3) [m]       quaternion (n+1, nb, 4) wxyz, unit
    velocity, angular_velocity (n+1, nb, 3) [m/s], [rad/s], world      energy (n+1,) [J]
    contacts, iterations, status, overflow (n,), integers     residual_ccp, residual_ncp (n,) [m/s]
    source                the built-in scene whose motion it is, "" for any other

Sample 0 is the initial state; entry i of the arrays of length n is of the steps from sample i to
i + 1 (most contacts, hard and smooth; sum of iterations; worst of the others). Of B copies run at
once, every array but ``time``, ``bodies`` and ``source`` has a leading axis B.
"""

from dataclasses import asdict, dataclass
from pathlib import Path

import jax
import numpy as np

from jaxccp.dynamics import StepReport, Trajectory
from jaxccp.io.arrays import Arrays
from jaxccp.io.output import write_npz
from jaxccp.model import State

LAYOUT = "trajectory"
UNIT = 1e-3
"""Largest accepted deviation of a quaternion's length from 1."""


@dataclass(frozen=True)
class TrajectoryArrays:
    """A simulated motion of nb bodies as arrays, not measured data
    (:class:`jaxccp.identify.Recording`); "*b" is empty or one batch axis."""

    bodies: tuple[str, ...]
    """Names of the bodies; the world comes first."""
    time: np.ndarray
    """Time of each sample [s], (n+1,)."""
    position: np.ndarray
    """Centres of mass in world axes [m], (*b, n+1, nb, 3)."""
    quaternion: np.ndarray
    """Orientations of the bodies, (w, x, y, z) of length 1, (*b, n+1, nb, 4)."""
    velocity: np.ndarray
    """Velocities of the centres of mass in world axes [m/s], (*b, n+1, nb, 3)."""
    angular_velocity: np.ndarray
    """Angular velocities of the bodies in world axes [rad/s], (*b, n+1, nb, 3)."""
    energy: np.ndarray
    """Energy of the model at each sample [J], (*b, n+1)."""
    contacts: np.ndarray
    """Largest number of contacts, hard and smooth, in a step between two samples, (*b, n)."""
    iterations: np.ndarray
    """Total number of the solver's iterations between two samples, (*b, n)."""
    status: np.ndarray
    """Worst :class:`jaxccp.Status` of the solver between two samples, (*b, n)."""
    overflow: np.ndarray
    """Whether the contacts of a step between two samples exceeded the model's capacity, (*b, n)."""
    residual_ccp: np.ndarray
    """Largest residual of the convex problem between two samples [m/s], (*b, n)."""
    residual_ncp: np.ndarray
    """Largest residual of the problem with Coulomb's law between two samples [m/s], (*b, n)."""

    @property
    def finite(self) -> bool:
        """Tell whether all positions, quaternions and velocities are finite."""
        motion = (self.position, self.quaternion, self.velocity, self.angular_velocity)
        return all(np.isfinite(array).all() for array in motion)


def trajectory_arrays(
    bodies: tuple[str, ...], initial: State, trajectory: Trajectory, energy: jax.Array
) -> TrajectoryArrays:
    """Return a rollout as arrays of the motion.

    Args:
        bodies: names of the bodies, ``model.topology.bodies``.
        initial: the initial state.
        trajectory: n samples, with the batch axis of ``initial`` (if any) before the axis of
            samples.
        energy: energy of the initial state and of each sample [J], (*b, n+1).
    """
    axis = np.ndim(initial.time)

    def joined(first: jax.Array, rest: jax.Array) -> np.ndarray:
        return np.concatenate([np.expand_dims(first, axis), np.asarray(rest)], axis)

    state, report = trajectory.state, trajectory.report
    time = joined(initial.time, state.time)
    return TrajectoryArrays(
        bodies=bodies,
        time=time[0] if axis else time,
        position=joined(initial.position, state.position),
        quaternion=joined(initial.quaternion, state.quaternion),
        velocity=joined(initial.velocity, state.velocity),
        angular_velocity=joined(initial.angular_velocity, state.angular_velocity),
        energy=np.asarray(energy),
        **_of_steps(report),
    )


def _of_steps(report: StepReport) -> dict[str, np.ndarray]:
    solver = report.solver
    smooth = 0 if report.smooth_contacts is None else report.smooth_contacts
    return {
        "contacts": np.asarray(report.contacts + smooth),
        "iterations": np.asarray(solver.iterations),
        "status": np.asarray(solver.status),
        "overflow": np.asarray(report.overflow),
        "residual_ccp": np.asarray(solver.residual_ccp),
        "residual_ncp": np.asarray(solver.residual_ncp),
    }


def save_trajectory(path: str | Path, recording: TrajectoryArrays, source: str = "") -> None:
    """Write a motion to an npz file, which appears only when it is complete.

    Args:
        path: the file.
        recording: the motion. One that is not finite is written all the same, and
            :func:`load_trajectory` refuses it.
        source: name of the built-in scene whose motion it is, empty for any other model.

    Raises:
        InputError: the folder cannot be made or written to.
    """
    arrays = asdict(recording) | {
        "layout": np.array(LAYOUT),
        "source": np.array(source),
        "bodies": np.array(recording.bodies),
        "overflow": np.asarray(recording.overflow, np.int8),
    }
    write_npz(Path(path), **arrays)


def load_trajectory(path: str | Path) -> TrajectoryArrays:
    """Read a motion from an npz file; floats become float64.

    Raises:
        InputError: the file is missing, damaged, incomplete, describes no motion, or has numbers
            that are not finite.
    """
    with Arrays(path) as arrays:
        layout = arrays.text("layout")
        if layout != LAYOUT:
            raise arrays.fault("layout", f"is {layout!r}", f"a recorded motion has {LAYOUT!r}")
        bodies = arrays.texts("bodies")
        time = rising_times(arrays)
        samples, steps, nb = len(time), len(time) - 1, len(bodies)
        lead = arrays.shape("energy")[:-1]
        if len(lead) > 1:
            raise arrays.fault("energy", f"has batch axes {lead}", "at most one is allowed")

        def vectors(field: str, width: int) -> np.ndarray:
            return arrays.floats(field, *lead, samples, nb, width)

        quaternion = vectors("quaternion", 4)
        deviation = np.abs(np.linalg.norm(quaternion, axis=-1) - 1.0).max(initial=0.0)
        if deviation > UNIT:
            raise arrays.fault(
                "quaternion", f"lengths differ from 1 by {deviation:.2g}", "store unit quaternions"
            )
        return TrajectoryArrays(
            bodies=bodies,
            time=time,
            position=vectors("position", 3),
            quaternion=quaternion,
            velocity=vectors("velocity", 3),
            angular_velocity=vectors("angular_velocity", 3),
            energy=arrays.floats("energy", *lead, samples),
            contacts=arrays.integers("contacts", *lead, steps),
            iterations=arrays.integers("iterations", *lead, steps),
            status=arrays.integers("status", *lead, steps),
            overflow=arrays.integers("overflow", *lead, steps).astype(bool),
            residual_ccp=arrays.not_negative("residual_ccp", *lead, steps),
            residual_ncp=arrays.not_negative("residual_ncp", *lead, steps),
        )


def rising_times(arrays: Arrays) -> np.ndarray:
    """Read the times of a motion's samples [s], (n,).

    Raises:
        InputError: there are none, or they do not rise from sample to sample.
    """
    time = arrays.floats("time", None)
    if len(time) < 1 or (np.diff(time) <= 0).any():
        raise arrays.fault("time", "does not rise from sample to sample", "correct it")
    return time
