"""Identification by ``mujoco.sysid``: Gauss–Newton on finite differences of simulations."""

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

sysid: Any = importlib.import_module("mujoco.sysid")


@dataclass(frozen=True)
class Number:
    """A number to identify."""

    name: str
    initial: float
    lower: float
    upper: float
    write: Callable[[Any, float], None]
    """Writes a value into a specification."""


@dataclass(frozen=True)
class Motion:
    """A recording of coordinates."""

    name: str
    time: Float[np.ndarray, " s"]
    start: Float[np.ndarray, " nq"]
    """Coordinates that the simulation starts from."""
    control: Float[np.ndarray, "s nu"]
    """Commands, each held until the next sample."""
    samples: Float[np.ndarray, "s k"]
    velocity: Float[np.ndarray, " nv"] | None = None
    """Velocity that the simulation starts with; rest when None."""


class MujocoSysid:
    """A task as ``mujoco.sysid`` states it."""

    def __init__(
        self,
        spec: Any,
        numbers: Sequence[Number],
        motions: Sequence[Motion],
        measured: Sequence[str],
        threads: int = 1,
    ) -> None:
        """State the task.

        Args:
            spec: specification of the model, whose time step is that of simulations.
            numbers: to identify.
            motions: that were recorded.
            measured: joints with one axis, and bodies that are free, whose coordinates the samples
                are.
            threads: of simulations.
        """
        self.parameters = sysid.ParameterDict()
        for one in numbers:

            def modify(spec: Any, known: Any, one: Number = one) -> None:
                one.write(spec, float(known.value[0]))

            self.parameters.add(
                sysid.Parameter(one.name, one.initial, one.lower, one.upper, modifier=modify)
            )
        model, h = spec.compile(), spec.option.timestep
        commands = sysid.TimeSeries.compute_all_control_mapping(model)
        names = [(f"{name}_qpos", sysid.SignalType.MjStateQPos) for name in measured]
        rest = np.zeros(model.nv)
        sequences = sysid.ModelSequences(
            "model",
            spec,
            [one.name for one in motions],
            [
                sysid.create_initial_state(
                    model, one.start, rest if one.velocity is None else one.velocity
                )
                for one in motions
            ],
            [_held(one, h, commands) for one in motions],
            [sysid.TimeSeries.from_names(one.time, one.samples, model, names) for one in motions],
            allow_missing_sensors=True,
        )
        self.residual = sysid.build_residual_fn(models_sequences=[sequences], n_threads=threads)
        self.evaluations = 0
        """Simulations of all motions that fits took."""

    def iteration(self) -> None:
        """Compute what an iteration needs: the Jacobian, and the residuals of one step."""
        x = self.parameters.as_vector()
        self.residual(np.tile(x[:, None], (1, len(x))), self.parameters)
        self.residual(x, self.parameters)

    def fit(self, **settings: Any) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, " p"]]:
        """Return the identified values and half the widths of their 95 % intervals.

        Args:
            **settings: of ``mujoco.sysid.optimize``.
        """
        found, result = sysid.optimize(self.parameters, self._counted, verbose=False, **settings)
        residuals, _, _ = self.residual(found.as_vector(), found)
        _, intervals = sysid.calculate_intervals(residuals, result.jac)
        return found.as_vector(), intervals

    def _counted(self, x: Float[np.ndarray, "..."], known: Any) -> tuple:
        self.evaluations += 1 if x.ndim == 1 else x.shape[1]
        return self.residual(x, known)


def _held(motion: Motion, h: float, mapping: dict) -> Any:
    """Return commands that are held from sample to sample, at every step: by itself mujoco.sysid
    puts straight lines between samples.

    Args:
        motion: with the commands.
        h: step of simulations [s].
        mapping: of the commands' columns.
    """
    steps = round((motion.time[1] - motion.time[0]) / h)
    count = steps * (len(motion.time) - 1) + 1
    held = np.repeat(motion.control, steps, 0)[:count]
    return sysid.TimeSeries(h * np.arange(count), held, mapping)
