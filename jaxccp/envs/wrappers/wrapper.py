"""The base class of wrappers."""

from dataclasses import dataclass, replace
from numbers import Integral
from typing import ClassVar, TypeVar

import jax
from jaxtyping import Array, Float

from jaxccp.envs.env import Env, EnvState
from jaxccp.envs.spec import Spec
from jaxccp.math.draw import Key
from jaxccp.model.model import Model

_Self = TypeVar("_Self", bound="Wrapper")


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Wrapper:
    """An environment around another one; this base class changes nothing.

    A wrapper keeps its data from step to step in ``info``, under its own name.
    """

    outermost: ClassVar = False
    """Whether this has to be the outermost wrapper."""
    stateful: ClassVar = False
    """Whether it keeps data in ``info``, so that one environment can have a single one."""
    env: Env
    """The wrapped environment."""

    def __post_init__(self) -> None:
        if self.stateful and inside(self.env, type(self)):
            raise ValueError(
                f"{type(self).__name__} is around the environment already, and both would keep "
                "their data under one name: give the one larger numbers"
            )
        if getattr(self.env, "outermost", False):
            raise ValueError(
                f"{type(self).__name__} would keep what it has of one episode for the next: put "
                f"{type(self.env).__name__} around it; make(…, auto_reset=False) comes without"
            )

    @property
    def model(self) -> Model:
        return self.env.model

    @property
    def sim_dt(self) -> float:
        return self.env.sim_dt

    @property
    def ctrl_dt(self) -> float:
        return self.env.ctrl_dt

    @property
    def action_spec(self) -> Spec:
        return self.env.action_spec

    def with_model(self: _Self, model: Model) -> _Self:
        return replace(self, env=self.env.with_model(model))

    def reset(self, key: Key) -> EnvState:
        return self.env.reset(key)

    def step(self, state: EnvState, action: Float[Array, " nu"]) -> EnvState:
        return self.env.step(state, action)


def inside(env: Env, kind: type) -> bool:
    """Tell whether an environment is, or has inside, a wrapper of a kind."""
    return isinstance(env, kind) or (isinstance(env, Wrapper) and inside(env.env, kind))


def check_count(wrapper: object, name: str, minimum: int) -> None:
    """Raise an error unless a setting of a wrapper is an integer of at least ``minimum``.

    Args:
        wrapper: the wrapper, or an adapter to another package.
        name: name of the setting.
        minimum: least value.

    Raises:
        ValueError: the setting is not an integer, or it is less than ``minimum``.
    """
    value = getattr(wrapper, name)
    if not isinstance(value, Integral) or isinstance(value, bool) or value < minimum:
        what = f"{type(wrapper).__name__}: {name}"
        raise ValueError(f"{what} must be a whole number of at least {minimum}, not {value!r}")


def with_info(state: EnvState, **entries: object) -> EnvState:
    """Return the state with entries of ``info`` added or replaced."""
    return replace(state, info={**state.info, **entries})


def with_observation(state: EnvState, obs: Float[Array, " n"]) -> EnvState:
    """Return the state with ``obs`` and ``final_obs`` replaced by ``obs``."""
    return replace(state, obs=obs, final_obs=obs)
