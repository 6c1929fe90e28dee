"""Activations: what actuators make of their controls before they act, a state of their own."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.model.linkage import Actuators
from jaxccp.model.ranges import check_range
from jaxccp.model.state import State

Dynamics = Literal["integrator", "filter", "filterexact"]
Range = tuple[float, float]


@dataclass(frozen=True)
class Activation:
    """An actuator acts by its activation a in place of its control u, as MuJoCo's ``dyntype``:
    ȧ = u for an ``"integrator"``, ȧ = (u − a)/T for a filter.

    A step of an Euler stepper adds h ȧ, or the exact change of a ``"filterexact"``; steppers of
    second order take the exact path of all of them. The force of a step is that of its start.
    """

    dynamics: Dynamics
    time_constant: float = 1.0
    """T of a filter [s]; an integrator has none."""
    limits: Range = (-np.inf, np.inf)
    """Lowest and highest activation."""

    def __post_init__(self) -> None:
        if self.dynamics not in get_args(Dynamics):
            known = ", ".join(get_args(Dynamics))
            raise ValueError(f"Activation: dynamics must be one of {known}, not {self.dynamics!r}")
        if not 0 < self.time_constant < np.inf:
            raise ValueError(
                f"Activation: time_constant must be finite and > 0, not {self.time_constant!r}; "
                "without one leave the activation out"
            )
        check_range("Activation: limits", self.limits)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Activations:
    """The numbers of the ma activations of a model."""

    time_constant: Float[Array, " ma"]
    """Of the filters [s]."""
    limits: Float[Array, "ma 2"]
    actuators: tuple[int, ...] = field(metadata={"static": True})
    """The actuator that each belongs to, in ascending order."""
    dynamics: tuple[Dynamics, ...] = field(metadata={"static": True})

    @staticmethod
    def of(given: Sequence[Activation | None]) -> "Activations | None":
        """Gather the activations of all actuators, in JAX's default precision; None where no
        actuator has one."""
        own = [(i, one) for i, one in enumerate(given) if one is not None]
        if not own:
            return None
        return Activations(
            jnp.asarray([one.time_constant for _, one in own], float),
            jnp.asarray([one.limits for _, one in own], float),
            tuple(i for i, _ in own),
            tuple(one.dynamics for _, one in own),
        )

    def after(
        self,
        activation: Float[Array, " ma"],
        control: Float[Array, " ma"],
        elapsed: Float[Array, ""] | float,
        exact: bool,
    ) -> Float[Array, " ma"]:
        """The activations ``elapsed`` [s] later, at constant controls, which are in their range;
        ``exact``: those of ``"filter"`` too."""
        kinds = np.array(self.dynamics)
        missing, ratio = control - activation, elapsed / self.time_constant
        whole = (kinds == "filterexact") | exact
        share = jnp.where(whole, -jnp.expm1(-ratio), ratio)
        grown = activation + jnp.where(kinds == "integrator", elapsed * control, share * missing)
        return jnp.clip(grown, self.limits[:, 0], self.limits[:, 1])


def commands(
    actuators: Actuators,
    activations: Activations | None,
    state: State,
    control: Float[Array, " nm"],
) -> Float[Array, " nm"]:
    """What the gain of each actuator multiplies: its activation, or its control within limits.

    Raises:
        ValueError: the state has no activations, but the model has.
    """
    limits = actuators.control_limits
    within = jnp.clip(control, limits[:, 0], limits[:, 1])
    if activations is None:
        return within
    return within.at[np.array(activations.actuators)].set(_known(activations, state))


def later(
    actuators: Actuators,
    activations: Activations | None,
    state: State,
    control: Float[Array, " nm"] | None,
    elapsed: Float[Array, ""] | float,
    exact: bool = False,
) -> State:
    """The state with its clock and activations ``elapsed`` [s] later, all else as it is.

    Args:
        actuators: of the model.
        activations: of the model, None where there are none.
        state: at the start.
        control: of each actuator, 0 when None.
        elapsed: time that goes by [s].
        exact: whether activations follow their exact path, else Euler's step unless they say so.

    Raises:
        ValueError: as :func:`commands`.
    """
    state = replace(state, time=state.time + elapsed)
    if activations is None:
        return state
    now, own = _known(activations, state), np.array(activations.actuators)
    low, high = actuators.control_limits[own].T
    given = jnp.zeros_like(now) if control is None else control[own]
    after = activations.after(now, jnp.clip(given, low, high), elapsed, exact)
    return replace(state, activation=after)


def _known(activations: Activations, state: State) -> Float[Array, " ma"]:
    if state.activation is None:
        raise ValueError(
            f"the model has {len(activations.actuators)} activations, but the state has none: "
            "start from the state that was built with the model"
        )
    return state.activation
