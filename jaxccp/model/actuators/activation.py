"""Activations: states of actuators between their controls and their forces."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.math import safe
from jaxccp.model.actuators.dynamics import DYNAMICS
from jaxccp.model.linkage import Actuators
from jaxccp.model.ranges import check_range
from jaxccp.model.state import State

Range = tuple[float, float]


@dataclass(frozen=True)
class Activation:
    """The activation a of an actuator, which replaces its control u as in MuJoCo's ``dyntype``.

    An ``"integrator"`` follows ȧ = u, a filter ȧ = (u − a)/T. An Euler stepper adds h ȧ in each
    step, or the exact change of a ``"filterexact"``; second-order steppers use the exact path of
    all of them. The force of a step is computed from the activation at its start.
    """

    dynamics: str
    """Name of the differential equation of the activation, in
    :data:`jaxccp.model.actuators.dynamics.DYNAMICS`."""
    time_constant: float = 1.0
    """T of a filter [s]; an integrator has none."""
    limits: Range = (-np.inf, np.inf)
    """Lowest and highest activation."""

    def __post_init__(self) -> None:
        if self.dynamics not in DYNAMICS:
            raise ValueError(
                f"Activation: dynamics must be one of {', '.join(DYNAMICS)}, not {self.dynamics!r}"
            )
        if not 0 < self.time_constant < np.inf:
            raise ValueError(
                f"Activation: time_constant must be finite and > 0, not {self.time_constant!r}; "
                "without one leave the activation out"
            )
        check_range("Activation: limits", self.limits)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Activations:
    """Data of the ma activations of a model."""

    time_constant: Float[Array, " ma"]
    """Time constants T of the filters [s]."""
    limits: Float[Array, "ma 2"]
    """Lowest and highest activation."""
    actuators: tuple[int, ...] = field(metadata={"static": True})
    """Index of the actuator of each activation, in ascending order."""
    dynamics: tuple[str, ...] = field(metadata={"static": True})
    """Name of the differential equation of each activation."""

    @staticmethod
    def of(activations: Sequence[Activation | None]) -> "Activations | None":
        """Gather the activations of all actuators, in JAX's default precision.

        Args:
            activations: the activation of each actuator, None if it has none.

        Returns:
            The table, or None where no actuator has an activation.
        """
        present = [
            (i, activation) for i, activation in enumerate(activations) if activation is not None
        ]
        if not present:
            return None
        return Activations(
            jnp.asarray([activation.time_constant for _, activation in present], float),
            jnp.asarray([activation.limits for _, activation in present], float),
            tuple(i for i, _ in present),
            tuple(activation.dynamics for _, activation in present),
        )

    def after(
        self,
        activation: Float[Array, " ma"],
        control: Float[Array, " ma"],
        elapsed: Float[Array, ""] | float,
        exact: bool,
    ) -> Float[Array, " ma"]:
        """Return the activations after a time, with constant controls.

        Args:
            activation: the activations at the start.
            control: the controls of their actuators, within their range.
            elapsed: the time [s].
            exact: whether all follow their exact paths instead of Euler's step.
        """
        kinds, changed = np.array(self.dynamics), activation
        for kind in dict.fromkeys(self.dynamics):
            equation = DYNAMICS[kind]
            solution = equation.exact if exact else equation.euler
            after = solution(activation, control, elapsed, self.time_constant)
            changed = jnp.where(kinds == kind, after, changed)
        return safe.clip(changed, self.limits[:, 0], self.limits[:, 1])


def commands(
    actuators: Actuators,
    activations: Activations | None,
    state: State,
    control: Float[Array, " nm"],
) -> Float[Array, " nm"]:
    """Return the input of each actuator's gain: its activation, or else its control within its
    limits.

    Args:
        actuators: the numbers of the actuators.
        activations: the activations of the model, None if it has none.
        state: the state with the values of the activations.
        control: the control of each actuator.

    Raises:
        ValueError: the state has no activations, but the model has.
    """
    limits = actuators.control_limits
    limited = safe.clip(control, limits[:, 0], limits[:, 1])
    if activations is None:
        return limited
    return limited.at[np.array(activations.actuators)].set(activation_of(activations, state))


def advance_activations(
    actuators: Actuators,
    activations: Activations | None,
    state: State,
    control: Float[Array, " nm"] | None,
    elapsed: Float[Array, ""] | float,
    exact: bool = False,
) -> State:
    """Return the state with its time and activations advanced by ``elapsed``, and all else
    unchanged.

    Args:
        actuators: the numbers of the actuators.
        activations: the activations of the model, None if it has none.
        state: the state at the start.
        control: the control of each actuator, 0 when None.
        elapsed: the time [s].
        exact: whether every activation follows its exact path. If not, only "filterexact" does, and
            all others take Euler's step.

    Raises:
        ValueError: the state has no activations, but the model has.
    """
    state = replace(state, time=state.time + elapsed)
    if activations is None:
        return state
    current, actuated = activation_of(activations, state), np.array(activations.actuators)
    low, high = actuators.control_limits[actuated].T
    command = jnp.zeros_like(current) if control is None else control[actuated]
    after = activations.after(current, safe.clip(command, low, high), elapsed, exact)
    return replace(state, activation=after)


def activation_of(activations: Activations, state: State) -> Float[Array, " ma"]:
    """Return the values of the activations.

    Args:
        activations: the activations of the model.
        state: the state with their values.

    Raises:
        ValueError: the state has none.
    """
    if state.activation is None:
        raise ValueError(
            f"the model has {len(activations.actuators)} activations, but the state has none: "
            "start from the state that was built with the model"
        )
    return state.activation
