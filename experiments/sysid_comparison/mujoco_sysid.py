"""Identify parameters with ``mujoco.sysid``: Gauss–Newton on finite differences of simulations."""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

sysid: Any = importlib.import_module("mujoco.sysid")


@dataclass(frozen=True)
class Number:
    """A number to identify, with its bounds and the function that writes it into a model."""

    name: str
    initial: float
    lower: float
    upper: float
    write: Callable[[Any, float], None]
    """Function that writes a value into a specification."""


@dataclass(frozen=True)
class Motion:
    """A recording of coordinates and commands, with the state that its simulation starts from."""

    name: str
    time: Float[np.ndarray, " s"]
    start: Float[np.ndarray, " nq"]
    """Coordinates that the simulation starts from."""
    control: Float[np.ndarray, "s nu"]
    """Commands, each held until the next sample."""
    samples: Float[np.ndarray, "s k"]
    velocity: Float[np.ndarray, " nv"] | None = None
    """Velocity that the simulation starts with; zero when None."""


class MujocoSysid:
    """An identification problem as ``mujoco.sysid`` states it."""

    def __init__(
        self,
        spec: Any,
        numbers: Sequence[Number],
        motions: Sequence[Motion],
        measured: Sequence[str],
        threads: int = 1,
    ) -> None:
        """State the identification problem.

        Args:
            spec: specification of the model, whose time step is that of simulations.
            numbers: numbers to identify.
            motions: recorded motions.
            measured: names of the joints with one axis and of the free bodies whose coordinates are
                the samples.
            threads: number of threads of simulations.
        """
        self.parameters = sysid.ParameterDict()
        for number in numbers:

            def modify(spec: Any, parameter: Any, number: Number = number) -> None:
                number.write(spec, float(parameter.value[0]))

            self.parameters.add(
                sysid.Parameter(
                    number.name, number.initial, number.lower, number.upper, modifier=modify
                )
            )
        model, h = spec.compile(), spec.option.timestep
        commands = sysid.TimeSeries.compute_all_control_mapping(model)
        names = [(f"{name}_qpos", sysid.SignalType.MjStateQPos) for name in measured]
        rest = np.zeros(model.nv)
        sequences = sysid.ModelSequences(
            "model",
            spec,
            [motion.name for motion in motions],
            [
                sysid.create_initial_state(
                    model, motion.start, rest if motion.velocity is None else motion.velocity
                )
                for motion in motions
            ],
            [_piecewise_constant(motion, h, commands) for motion in motions],
            [
                sysid.TimeSeries.from_names(motion.time, motion.samples, model, names)
                for motion in motions
            ],
            allow_missing_sensors=True,
        )
        self.residual = sysid.build_residual_fn(models_sequences=[sequences], n_threads=threads)
        self.evaluations = 0
        """Number of simulations of all motions that fits have taken."""

    def iteration(self) -> None:
        """Compute what an iteration needs: the Jacobian, and the residuals of one step."""
        x = self.parameters.as_vector()
        self.residual(np.tile(x[:, None], (1, len(x))), self.parameters)
        self.residual(x, self.parameters)

    def fit(self, **settings: Any) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, " p"]]:
        """Return the identified values and half the widths of their 95 % intervals.

        Args:
            **settings: settings of ``mujoco.sysid.optimize``.
        """
        identified, result = sysid.optimize(
            self.parameters, self._counted, verbose=False, **settings
        )
        residuals, _, _ = self.residual(identified.as_vector(), identified)
        _, intervals = sysid.calculate_intervals(residuals, result.jac)
        return identified.as_vector(), intervals

    def _counted(self, x: Float[np.ndarray, "..."], parameters: Any) -> tuple:
        self.evaluations += 1 if x.ndim == 1 else x.shape[1]
        return self.residual(x, parameters)


def _piecewise_constant(motion: Motion, h: float, mapping: dict) -> Any:
    """Return commands at every step, each constant until the next sample.

    Without this mujoco.sysid interpolates linearly between samples.

    Args:
        motion: motion with the commands.
        h: step length of simulations [s].
        mapping: columns of the commands.
    """
    steps = round((motion.time[1] - motion.time[0]) / h)
    count = steps * (len(motion.time) - 1) + 1
    commands = np.repeat(motion.control, steps, 0)[:count]
    return sysid.TimeSeries(h * np.arange(count), commands, mapping)
