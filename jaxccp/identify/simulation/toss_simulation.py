"""Simulations of tossed bodies, started between impacts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float
from scipy.spatial.transform import Rotation

from jaxccp.identify.recordings.filters import filled_poses
from jaxccp.identify.recordings.recording import Recording
from jaxccp.identify.simulation.plan import SimulationPlan
from jaxccp.identify.simulation.simulate import Simulate
from jaxccp.identify.subject import Subject

FIRST = 1
"""Index of the first sample at which a simulation may start; its velocity is a central
difference."""
JUMP = 0.3
"""Change of velocity between samples, from that of free flight and from that of rest, that
indicates an impact [m/s]."""
SPIN_JUMP = 3.0
"""Change of angular velocity between samples that indicates an impact [rad/s]."""


@dataclass(frozen=True)
class TossSimulation(Simulate):
    """Compare poses of tossed bodies with simulations that start between impacts.

    Measured initial velocities are central differences, which must not contain an impact. So
    simulations start at the second sample of a recording, and then at samples ``every`` seconds or
    more apart, around which the motion is smooth and after which at least ``least`` seconds were
    recorded. ``start="measured"`` simulates from exactly the measured states.
    """

    least: float | None = None
    """Time that must be recorded after each start but the first [s]; None: ``segment``."""

    def plan(self, subject: Subject, recordings: Sequence[Recording]) -> "TossPlan":
        """Return the plan that computes the residuals of these recordings."""
        return TossPlan(self, subject, recordings)


class TossPlan(SimulationPlan):
    """The segments of recorded tosses, and their residuals."""

    common_deviation = True

    def segment_starts(
        self, recording: Recording, length: float, every: float
    ) -> Float[np.ndarray, " n"]:
        """Return the times at which segments of a recording start [s].

        Args:
            recording: the recording.
            length: length of a segment [s].
            every: least time from start to start [s].
        """
        time = recording.time
        smooth = smooth_samples(recording, np.asarray(self.subject.model.gravity))
        least = getattr(self.settings, "least", None)
        shortest = length if least is None else least
        smooth &= time + shortest < time[-1] + 1e-9
        starts = [FIRST]
        while len(later := np.flatnonzero(smooth & (time >= time[starts[-1]] + every - 1e-9))):
            starts.append(int(later[0]))
        return time[starts]


def smooth_samples(
    recording: Recording, gravity: Float[np.ndarray, " 3"]
) -> Bool[np.ndarray, " s"]:
    """Return the mask of samples without an impact in the intervals before and after them.

    Args:
        recording: a recording of poses.
        gravity: acceleration of gravity [m/s²].
    """
    smooth = np.zeros(len(recording.time), bool)
    smooth[1:-1] = True
    interval = np.diff(recording.time)[:, None]
    for pose in recording.of_kind("pose"):
        samples = filled_poses(recording.time, np.asarray(pose.values, float))
        velocity = np.diff(samples[:, :3], axis=0) / interval
        orientation = Rotation.from_quat(samples[:, 3:], scalar_first=True)
        spin = (orientation[1:] * orientation[:-1].inv()).as_rotvec() / interval
        change = np.diff(velocity, axis=0)
        from_flight = np.linalg.norm(change - gravity * interval[1:], axis=1)
        from_rest = np.linalg.norm(change, axis=1)
        smooth[1:-1] &= np.minimum(from_flight, from_rest) < JUMP
        smooth[1:-1] &= np.linalg.norm(np.diff(spin, axis=0), axis=1) < SPIN_JUMP
    return smooth
