"""The names of environments in gymnasium's registry."""

from importlib import import_module
from typing import Any

from jaxccp.envs.tasks import TASKS

ADAPTER = "jaxccp.envs.adapters.gymnasium"


def identifier(name: str) -> str:
    """Return the name of an environment in gymnasium's registry, such as ``jaxccp/Ant-v0`` for
    ``ant``."""
    return f"jaxccp/{TASKS[name].__name__}-v0"


def register() -> None:
    """Register all environments with gymnasium; do nothing if it is not installed.

    The adapter is imported when an environment is made.
    """
    try:
        gymnasium: Any = import_module("gymnasium")  # an optional package
    except ImportError:  # whoever uses gymnasium meets the same error
        return
    for name, task in TASKS.items():
        gymnasium.register(
            identifier(name),
            entry_point=f"{ADAPTER}:SingleEnv",
            vector_entry_point=f"{ADAPTER}:VectorEnv",
            max_episode_steps=task.episode_steps,
            kwargs={"name": name},
        )
