"""Define the tosses of two boxes joined by a hinge: recordings, parameters, simulations, errors."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float
from scipy.spatial.transform import Rotation

import jaxccp
from jaxccp import APGD, EulerImplicitLinearized, Stop
from jaxccp.identify import Parameter, Recording, recording
from jaxccp.identify.case import Case
from jaxccp.identify.cube.fit import interval
from jaxccp.identify.estimation.evaluation import Predictor
from jaxccp.identify.simulation.toss_simulation import FIRST, TossSimulation

FOLDER = Path(__file__).parent
MODEL = FOLDER / "elbow.xml"
LENGTH = 0.1
"""Length of each box [m], the unit of errors."""
NOISE = 1e-4
"""Standard deviation of positions, and of orientations times half a length [m]; what the model
cannot represent makes errors larger than this."""
SUBSTEPS = 4
"""Simulation steps between two samples."""
HORIZONS = (20, 40)
"""Samples that are predicted from each of the starts along a toss."""
EVERY = 20
"""Samples from one start to the next."""


def read(path: Path) -> list[Recording]:
    """Return the tosses of a file, except those in which the tracker jumped.

    Args:
        path: path of ``elbow_tosses.npz``.
    """
    data = np.load(path)
    ends, dt = np.cumsum(data["lengths"]), float(data["dt"])
    out = []
    for name, jump, end, count in zip(
        data["ids"], data["jump"], ends, data["lengths"], strict=True
    ):
        if jump:
            continue
        q = np.asarray(data["q"][end - count : end], float)
        first, second = poses(q[:, :7], angle := np.unwrap(q[:, 7]))
        out.append(
            recording(
                dt * np.arange(count),
                f"toss {name}",
                noise={"pose": NOISE},
                lever=LENGTH / 2,
                pose={"first": first, "second": second},
                position={"elbow": angle},
            )
        )
    return out


def poses(
    first: Float[np.ndarray, "s 7"], angle: Float[np.ndarray, " s"]
) -> tuple[Float[np.ndarray, "s 7"], Float[np.ndarray, "s 7"]]:
    """Return the poses of the centres of both boxes: positions [m] and quaternions.

    Args:
        first: poses of the first box.
        angle: angles of the hinge [rad].
    """
    rotation = Rotation.from_quat(first[:, 3:], scalar_first=True)
    second_rotation = rotation * Rotation.from_rotvec(angle[:, None] * np.array([0.0, 1.0, 0.0]))
    centre = (
        first[:, :3]
        + rotation.apply([-0.035, 0.06, 0.0])
        + second_rotation.apply([0.035, 0.0, 0.0])
    )
    second = np.concatenate([centre, second_rotation.as_quat(scalar_first=True)], axis=1)
    return np.concatenate([first[:, :3], rotation.as_quat(scalar_first=True)], axis=1), second


def _surface(leaf: str, initial: float, lower: float, upper: float, scale: float) -> Parameter:
    """Return a parameter that boxes and ground share, so that it is also that of their contacts."""
    return Parameter(f"shapes[*].{leaf}", initial, lower, upper, shared=True, scale=scale)


def _factor(path: str | tuple[str, ...], scale: float) -> Parameter:
    return Parameter(path, 1.0, 0.5, 2.0, factor=True, scale=scale)


PARAMETERS = (
    _surface("friction", 0.3, 0.01, 1.5, 0.05),
    _surface("restitution", 0.1, 0.001, 0.95, 0.05),
    _surface("impact_friction", 1.0, 0.1, 3.0, 0.1),
    _factor('bodies["second"].mass', 0.05),
    _factor('bodies["first"].inertia', 0.05),
    _factor('bodies["second"].inertia', 0.05),
    Parameter('axes["elbow"].damping', 1e-4, 0.0, 0.1, scale=1e-4),
    Parameter('axes["elbow"].friction', 1e-3, 0.0, 0.1, scale=1e-3),
    Parameter('shapes["ground"].position[2]', 0.0, -0.01, 0.01, scale=5e-4),
    Parameter("gravity", 1.0, 0.9, 1.1, factor=True, scale=0.01),
)
"""The first mass is not among them: poses depend only on the ratios of other values to it."""


def residual(
    dt: float, samples: int, every: float = np.inf, shortest: float | None = None
) -> TossSimulation:
    """Return simulations of tosses from measured starts, compared with poses.

    Args:
        dt: time between samples [s].
        samples: number of samples to be predicted from each start.
        every: time from one start to the next [s]; infinite for one start per toss.
        shortest: least recorded time after any start but the first of a toss [s].
    """
    stop = Stop(atol=1e-6, max_iterations=300)
    stepper = EulerImplicitLinearized(dt / SUBSTEPS, "ncp", APGD(), stop)
    return TossSimulation(
        samples * dt,
        dt / SUBSTEPS,
        "measured",
        None,
        np.inf,
        every=every,
        observe=("pose",),
        stepper=stepper,
        least=shortest,
    )


@dataclass(frozen=True)
class Starts:
    """Segments that are predicted, of some tosses.

    With ``whole`` there is one segment per toss, from its first start to its end; otherwise
    segments begin at regular intervals along the tosses.
    """

    tosses: tuple[Recording, ...]
    whole: bool

    @property
    def samples(self) -> int:
        """Return the number of samples after each start."""
        return len(self.tosses[0].time) - FIRST - 1 if self.whole else HORIZONS[-1]

    def case(self) -> Case:
        """Return the model together with the simulations of these segments."""
        dt = interval(self.tosses)
        every = np.inf if self.whole else EVERY * dt
        simulation = residual(dt, self.samples, every, None if self.whole else EVERY * dt)
        return Case(jaxccp.load(str(MODEL)), self.tosses, simulation)


class Judge:
    """Computes prediction errors for any values of the parameters; it is compiled once."""

    def __init__(self, starts: Starts) -> None:
        """Prepare the simulations.

        Args:
            starts: the segments to predict.
        """
        self._predictor = Predictor(starts.case(), PARAMETERS)
        self.batch = self._predictor.evaluator.plan.batch
        rows = self.batch.take(np.arange(len(self.batch)))
        self.present = np.asarray(rows.weight)[:, 1:, 0] > 0

    def distances(self, values: Float[np.ndarray, " p"]) -> Float[np.ndarray, "b s"]:
        """Return the mean distance of both boxes from their recorded positions, at each sample
        after the starts [box lengths].

        Args:
            values: values of PARAMETERS.
        """
        evaluator, count = self._predictor.evaluator, len(self.batch)
        rows = np.tile(np.asarray(values, float), (count, 1))
        errors = evaluator.residuals(rows, np.zeros((count, 0)))[:, 1:] * NOISE
        away = np.linalg.norm(errors.reshape(*errors.shape[:2], 2, 6)[..., :3], axis=3)
        return away.mean(axis=2) / LENGTH


def means(
    distances: Float[np.ndarray, "b s"], present: Float[np.ndarray, "b s"], samples: int | None
) -> Float[np.ndarray, " b"]:
    """Return the mean distance over the first samples after each start.

    Starts with fewer recorded samples are left out; with ``samples`` None the mean is over all
    samples that were recorded.

    Args:
        distances: distance at each sample [box lengths].
        present: whether each sample was recorded.
        samples: number of samples, or None.
    """
    used = present[:, :samples]
    rows = used.any(axis=1) if samples is None else used.all(axis=1)
    return (distances[:, :samples] * used).sum(axis=1)[rows] / used.sum(axis=1)[rows]
