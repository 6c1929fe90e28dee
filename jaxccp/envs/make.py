"""Environments by name, as :func:`make` makes them."""

from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import numpy as np

from jaxccp.ccp import Stop
from jaxccp.dynamics.rollouts.capacity import with_capacity
from jaxccp.dynamics.steppers import EulerImplicitLinearized
from jaxccp.envs.env import Env
from jaxccp.envs.environment import Environment
from jaxccp.envs.spec import Spec
from jaxccp.envs.task import Task
from jaxccp.envs.tasks import TASKS, model_file
from jaxccp.envs.wrappers import AutoReset, EpisodeLimit
from jaxccp.io.mjcf import Loaded, load
from jaxccp.names import unknown

STOP = Stop(1e-4, max_iterations=100)
"""Stopping criterion of the solves, with a tolerance [m/s] whose error does not affect learning;
metrics tell if it was not reached."""


def make(name: str, *, auto_reset: bool = True, **settings: Any) -> Env:
    """Make an environment by name, in JAX's current default precision.

    Episodes end after ``episode_steps`` actions; the step that ends one begins the next.

    Args:
        name: one of :data:`jaxccp.envs.TASKS`.
        auto_reset: False: a plain :class:`Environment`, without end, for wrappers of one's own.
        settings: settings of its task: steps, weights of the reward, ….

    Raises:
        ValueError: the environment or a setting is unknown, or a setting has an invalid value.
        jaxccp.io.InputError: the package mujoco is missing, by which models are read.
    """
    if name not in TASKS:
        raise ValueError(f"environment {unknown(name, TASKS)}")
    names = [setting.name for setting in fields(TASKS[name])]
    for setting, value in settings.items():
        if setting not in names:
            raise ValueError(f"setting of {name}: {unknown(setting, names)}")
        if isinstance(value, list):
            settings[setting] = value = tuple(value)
        try:
            hash(value)
        except TypeError:
            what = f"setting of {name}: {setting} must be a number, a string or a tuple"
            raise ValueError(f"{what} of them, not {value!r}") from None
    env = environment(name, TASKS[name](**settings))
    return AutoReset(EpisodeLimit(env, env.task.episode_steps)) if auto_reset else env


def environment(source: str | Path | Loaded | Any, task: Task) -> Environment:
    """Make the environment of a task on a model.

    Args:
        source: one of :data:`jaxccp.envs.TASKS`, for the model file of that task; or a model of
            one's own: a path, XML as a string, or the result of :func:`jaxccp.load`.
        task: the task; its ``sim_dt`` stands in for the step of the model file, and its
            ``max_contacts``, unless it is None, for the capacity of the model.

    Raises:
        ValueError: ``ctrl_dt`` of the task is not a multiple of ``sim_dt``.
        jaxccp.io.InputError: the model cannot be read.
    """
    loaded = _loaded(source, task.max_contacts)
    model = loaded.model
    # Controls of actuators that were left out have no effect; their range is 0.
    limits = np.zeros((loaded.layout.places.nu, 2))
    limits[loaded.layout.places.control] = model.actuators.control_limits
    spec = Spec(*limits.T.astype(model.gravity.dtype))
    stepper = EulerImplicitLinearized(task.sim_dt, law=task.law, stop=STOP)
    return Environment(
        model=model,
        layout=loaded.layout,
        rest=loaded.state,
        task=task,
        stepper=stepper,
        action_spec=spec,
    )


def _loaded(source: str | Path | Loaded | Any, max_contacts: int | None) -> Loaded:
    """Load a model, unless it is loaded."""
    if isinstance(source, Loaded):
        if max_contacts is None:
            return source
        return replace(source, model=with_capacity(source.model, max_contacts))
    if isinstance(source, str) and source in TASKS:
        return _loaded_file(source, max_contacts, jnp.zeros(()).dtype)
    return load(source, max_contacts=max_contacts)


@cache
def _loaded_file(name: str, max_contacts: int | None, dtype: np.dtype) -> Loaded:
    """Load the model file of a task; ``dtype``, the current precision, is only a key of the
    cache."""
    del dtype
    return load(model_file(name), max_contacts=max_contacts)
