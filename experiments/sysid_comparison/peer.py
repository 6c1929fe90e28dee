"""The task in ``mujoco.sysid``: Gauss–Newton on finite differences of MuJoCo's simulations."""

import importlib
from typing import Any

import numpy as np
from jaxtyping import Float

from experiments.sysid_comparison.task import AXES, MODEL, QUANTITIES, Data, bounds

mujoco: Any = importlib.import_module("mujoco")  # its names come from a binary
sysid: Any = importlib.import_module("mujoco.sysid")


def held(
    time: Float[np.ndarray, " s"], control: Float[np.ndarray, "s k"], h: float, mapping: dict
) -> Any:
    """Return commands that are held from sample to sample, at every step: by itself mujoco.sysid
    puts straight lines between samples.

    Args:
        time: of the samples [s].
        control: commands.
        h: step of simulations [s].
        mapping: of the columns.
    """
    steps = round((time[1] - time[0]) / h)
    count = steps * (len(time) - 1) + 1
    return sysid.TimeSeries(h * np.arange(count), np.repeat(control, steps, 0)[:count], mapping)


class Peer:
    """The task as ``mujoco.sysid`` states it."""

    def __init__(
        self,
        data: Data,
        initial: Float[np.ndarray, " p"],
        h: float,
        integrator: str = "RK4",
        threads: int = 1,
    ) -> None:
        """State the task.

        Args:
            data: recordings.
            initial: values to start from.
            h: step of simulations [s].
            integrator: MuJoCo's name of it.
            threads: of simulations.
        """
        spec = mujoco.MjSpec.from_file(str(MODEL))
        spec.option.timestep = h
        spec.option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator}")
        model = spec.compile()
        self.parameters = sysid.ParameterDict()
        for one, value, low, high in zip(QUANTITIES, initial, *bounds(initial), strict=True):

            def write(spec: Any, known: Any, one=one) -> None:
                one.set(spec, float(known.value[0]))

            self.parameters.add(sysid.Parameter(one.name, value, low, high, modifier=write))
        commands = sysid.TimeSeries.compute_all_control_mapping(model)
        names = [(f"{axis}_qpos", sysid.SignalType.MjStateQPos) for axis in AXES]
        sequences = sysid.ModelSequences(
            "arm",
            spec,
            [f"motion {i}" for i in range(len(data.position))],
            [sysid.create_initial_state(model, q[0], np.zeros(7)) for q in data.position],
            [held(data.time, u, h, commands) for u in data.control],
            [sysid.TimeSeries.from_names(data.time, q, model, names) for q in data.position],
            allow_missing_sensors=True,
        )
        self.residual = sysid.build_residual_fn(models_sequences=[sequences], n_threads=threads)
        self.evaluations = 0

    def counted(self, x: Float[np.ndarray, "..."], known: Any) -> tuple:
        """Return the residuals, and count for how many values of the parameters."""
        self.evaluations += 1 if x.ndim == 1 else x.shape[1]
        return self.residual(x, known)

    def iteration(self) -> None:
        """Compute what an iteration needs: the Jacobian, and the residuals of one step."""
        x = self.parameters.as_vector()
        self.residual(np.tile(x[:, None], (1, len(x))), self.parameters)
        self.residual(x, self.parameters)

    def fit(self) -> tuple[Float[np.ndarray, " p"], Float[np.ndarray, " p"]]:
        """Return the identified values and half the widths of their 95 % intervals."""
        found, result = sysid.optimize(self.parameters, self.counted, verbose=False)
        residuals, _, _ = self.residual(found.as_vector(), found)
        _, intervals = sysid.calculate_intervals(residuals, result.jac)
        return found.as_vector(), intervals
