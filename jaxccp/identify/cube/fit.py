"""The tossed cube: parameters by short names, and the fit of its tosses."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxccp.ccp.problem import Law
from jaxccp.ccp.solve import Stop
from jaxccp.ccp.solver import Solver
from jaxccp.ccp.solvers import resolved
from jaxccp.ccp.solvers.apgd import APGD
from jaxccp.dynamics.steppers import STEPPERS
from jaxccp.identify.estimation.levenberg_marquardt import Descent, Method
from jaxccp.identify.fit import Fit
from jaxccp.identify.parameters.parameter import Parameter
from jaxccp.identify.problem import Problem
from jaxccp.identify.read import read
from jaxccp.identify.recordings.recording import Recording
from jaxccp.identify.simulation.toss_simulation import FIRST, TossSimulation
from jaxccp.identify.subject import Subject
from jaxccp.io.errors import InputError
from jaxccp.math import quaternion
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.names import unknown
from jaxccp.scenes.cube_toss import WIDTH
from jaxccp.scenes.library import SCENES
from jaxccp.sensors.coordinates.coordinates import Coordinates
from jaxccp.sensors.coordinates.mujoco_coordinates import mujoco_coordinates

NOISE = 1e-4
"""Standard deviation of recorded positions, and of orientations times half a width [m]; errors of
the model that exceed it increase it in a fit."""


@dataclass(frozen=True)
class Cube:
    """The mechanism of the cube and the ground."""

    model: Model
    """Model of cube and ground."""
    state: State
    """Initial state of the model."""
    layout: Coordinates
    """Layout of the cube's coordinates in ``qpos`` and ``qvel``."""

    @staticmethod
    def nominal() -> "Cube":
        """Return the cube of the scene ``cube-toss``."""
        model, state = SCENES["cube-toss"](jax.random.key(0))
        return Cube(model, state, mujoco_coordinates(model))


def _surface(leaf: str, initial: float, lower: float, upper: float, scale: float) -> Parameter:
    """Return a parameter that cube and ground share, so that it is a property of the contact."""
    return Parameter(f"shapes[*].{leaf}", initial, lower, upper, shared=True, scale=scale)


def _of_cube(leaf: str, initial: float, lower: float, upper: float, scale: float) -> Parameter:
    return Parameter(f'shapes["cube"].{leaf}', initial, lower, upper, scale=scale)


def _tilt(axis: int) -> Parameter:
    """Return the parameter for the rotation of the ground about a horizontal axis [rad]."""

    def apply(subject: Subject, angle: Array) -> Subject:
        shapes = subject.model.shapes
        rotation = quaternion.exp(angle * jnp.eye(3, dtype=angle.dtype)[axis])
        orientation = quaternion.multiply(rotation, shapes.quaternion[0])
        shapes = replace(shapes, quaternion=shapes.quaternion.at[0].set(orientation))
        return replace(subject, model=replace(subject.model, shapes=shapes))

    name = f"ground_tilt_{'xy'[axis]}"
    return Parameter(name, 0.0, -0.1, 0.1, scale=3e-3, apply=apply)


PARAMETERS: dict[str, Parameter] = {
    "friction": _surface("friction", 0.3, 0.01, 1.5, 0.05),
    "restitution": _surface("restitution", 0.2, 0.001, 0.95, 0.05),
    "impact_friction": _surface("impact_friction", 1.0, 0.1, 3.0, 0.1),
    "inertia": Parameter('bodies["cube"].inertia', 1.0, 0.5, 2.0, factor=True, scale=0.05),
    "half_width": Parameter(
        tuple(f'shapes["cube"].size[{axis}]' for axis in range(3)), 0.0524, 0.045, 0.06, scale=5e-4
    ),
    "rounding": _of_cube("radius", 0.002, 1e-5, 0.02, 1e-3),
    "ground_height": Parameter('shapes["ground"].position[2]', 0.0, -0.02, 0.02, scale=5e-4),
    "ground_tilt_x": _tilt(0),
    "ground_tilt_y": _tilt(1),
    "compliance": _of_cube("compliance", 2e-5, 1e-7, 1e-3, 1e-5),
    "damping": _of_cube("damping", 2e-3, 1e-5, 0.05, 1e-3),
    "gravity": Parameter("gravity", 1.0, 0.8, 1.2, factor=True, scale=0.01),
}
"""Parameters of the cube by name. The mass is not one of them: recorded poses only depend on ratios
of other numbers to it."""
UNITS = dict.fromkeys(("half_width", "rounding", "ground_height"), "m") | {
    "ground_tilt_x": "rad",
    "ground_tilt_y": "rad",
    "compliance": "m/N",
    "damping": "s",
}
DEFAULT = (
    "friction",
    "impact_friction",
    "restitution",
    "inertia",
    "half_width",
    "rounding",
    "ground_height",
    "gravity",
)


@dataclass(frozen=True)
class CubeSettings:
    """Settings of the simulation of the cube's tosses, and the parameters to identify."""

    names: tuple[str, ...] = DEFAULT
    """Names of the parameters to identify, keys of :data:`PARAMETERS`."""
    law: Law = "ncp"
    """Contact law of the simulations."""
    stepper: str = "euler"
    """Name of the time stepper (:data:`jaxccp.dynamics.steppers.STEPPERS`)."""
    substeps: int = 8
    """Number of steps between two samples."""
    solver: Solver | str = field(default_factory=APGD)
    """Algorithm of :mod:`jaxccp.ccp.solvers`, or its name there."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "solver", resolved(self.solver))
        wrong = [name for name in self.names if name not in PARAMETERS]
        if wrong:
            raise ValueError(f"cannot identify {unknown(wrong[0], PARAMETERS)}")
        if not self.names or len(set(self.names)) < len(self.names):
            raise ValueError("name each parameter of the cube once, and one at least")
        if self.law not in ("ccp", "ncp") or not self.substeps >= 1:
            raise ValueError(f"law {self.law!r} with {self.substeps!r} substeps is not possible")
        if self.stepper not in STEPPERS:
            raise ValueError(unknown(self.stepper, STEPPERS))

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Return the parameters of the model, in the order of their names."""
        return tuple(PARAMETERS[name] for name in self.names)

    def residual(
        self,
        dt: float,
        samples: int | Sequence[int],
        every: float | None = np.inf,
        least: float | None = None,
    ) -> TossSimulation:
        """Return the residual that compares tosses with simulations.

        Args:
            dt: time between samples [s].
            samples: number of samples to predict from each start; several increasing numbers are
                fitted one after the other, each starting from the result of the last.
            every: time between starts [s]; infinite: one start for each toss; None: the duration of
                the samples.
            least: time that must be recorded after each start but the first of a toss [s].
        """
        h = dt / self.substeps
        # A batch waits for its slowest solve, and an impact on several corners can take thousands
        # of iterations. Derivatives are exact for the converged solves only.
        double = jnp.zeros(()).dtype == jnp.float64
        stop = Stop(atol=1e-6 if double else 1e-5, max_iterations=500)
        stepper = STEPPERS[self.stepper](h, self.law, self.solver, stop)
        lengths = tuple(float(number * dt) for number in np.atleast_1d(samples))
        return TossSimulation(
            lengths,
            h,
            "measured",
            None,
            np.inf,
            every=every,
            stepper=stepper,
            recovery_speed=None,
            least=least,
        )


def read_tosses(path: Path | str) -> list[Recording]:
    """Read the recorded poses of the cube from a file of tosses.

    Raises:
        InputError: the file is damaged, or has another layout.
    """
    tosses = read(path, Cube.nominal(), noise={"pose": NOISE}, lever=WIDTH / 2)
    short = min(tosses, key=lambda toss: len(toss.time))
    if len(short.time) < FIRST + 2:
        what = f"toss {short.name!r} has {len(short.time)} samples"
        raise InputError(path, what, f"each toss needs at least {FIRST + 2}: leave it out")
    return tosses


def interval(tosses: Sequence[Recording]) -> float:
    """Return the time between samples [s]."""
    return float(tosses[0].time[1] - tosses[0].time[0])


@dataclass(frozen=True)
class CubeFit:
    """The fit of the cube over the last horizon, with the fits over the shorter ones."""

    fit: Fit
    """The fit over the last horizon."""
    stages: dict[int, Descent]
    """The result of the iteration over each horizon."""


def fit_cube(
    tosses: Sequence[Recording],
    settings: CubeSettings,
    horizons: Sequence[int] = (40, 100),
    method: Method | None = None,
    progress: Callable[[int, float], None] = lambda step, loss: None,
) -> CubeFit:
    """Fit the cube's parameters over increasing horizons, each starting from the result of the
    last.

    The loss over a short horizon is smooth and leads towards the minimum. The loss over a long one
    is rough, but depends most on what is to be predicted.

    Args:
        tosses: the recordings.
        settings: the parameters, and how tosses are simulated.
        horizons: samples that are compared after each start, a growing number of them.
        method: settings of the iteration.
        progress: called with the number and the loss of every step.
    """
    longest = max(len(toss.time) for toss in tosses) - FIRST - 1
    stages = {min(number, longest): number for number in reversed(horizons)}
    residual = settings.residual(interval(tosses), sorted(stages))
    problem = Problem(Cube.nominal(), tosses, settings.parameters, residual, method)
    fit = problem.fit(lambda step, loss, _: progress(step, loss))
    descents = (*fit.earlier_stages, fit.descent)
    return CubeFit(
        fit, {stages[key]: descent for key, descent in zip(sorted(stages), descents, strict=True)}
    )
