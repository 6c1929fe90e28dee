"""Environments without resets, for packages that make the episodes."""

from typing import Any

from jaxccp.envs.env import Env
from jaxccp.envs.make import make
from jaxccp.envs.wrappers import EpisodeLimit
from jaxccp.envs.wrappers.wrapper import inside


def endless(env: Env | str, settings: dict[str, Any], package: str) -> Env:
    """Return an environment that does not reset itself.

    Args:
        env: environment, or one of :data:`jaxccp.envs.TASKS`.
        settings: settings of its task, where ``env`` is a name.
        package: package that makes the episodes, for the message.

    Raises:
        ValueError: see :func:`jaxccp.envs.make`; the environment resets itself or limits its
            episodes; or there are settings although it is made already.
    """
    if settings and not isinstance(env, str):
        raise ValueError(
            f"{', '.join(settings)}: settings are for environments by name; give them to make(…) "
            "with which this one was made"
        )
    made = make(env, auto_reset=False, **settings) if isinstance(env, str) else env
    if getattr(made, "outermost", False) or inside(made, EpisodeLimit):
        raise ValueError(
            f"episodes are {package}'s here: give an environment of make(…, auto_reset=False)"
        )
    return made


def refuse_episode_steps(settings: dict[str, Any], limit: str) -> None:
    """Check the settings of a task whose episodes another package limits.

    Args:
        settings: settings of the task.
        limit: what that package calls the number of steps of an episode, for the message.

    Raises:
        ValueError: ``episode_steps`` is among them, which would have no effect.
    """
    if "episode_steps" in settings:
        raise ValueError(f"episode_steps has no effect here: give {limit}")
