"""Environments for reinforcement learning: pure functions of pytrees.

Importing the package registers them with gymnasium, if that is installed.
"""

from jaxccp.envs.env import Env, EnvState, observation_spec
from jaxccp.envs.environment import Environment
from jaxccp.envs.make import environment, make
from jaxccp.envs.randomisation import RANDOMISED, randomisation, randomised
from jaxccp.envs.registration import register
from jaxccp.envs.render import Renderer
from jaxccp.envs.spec import Spec
from jaxccp.envs.task import Moment, Start, Task
from jaxccp.envs.tasks import TASKS
from jaxccp.envs.wrappers import (
    ActionDelay,
    ActionRepeat,
    AutoReset,
    EpisodeLimit,
    FrameStack,
    ObservationDelay,
    ObservationNoise,
    Wrapper,
)

__all__ = [
    "RANDOMISED",
    "TASKS",
    "ActionDelay",
    "ActionRepeat",
    "AutoReset",
    "Env",
    "EnvState",
    "Environment",
    "EpisodeLimit",
    "FrameStack",
    "Moment",
    "ObservationDelay",
    "ObservationNoise",
    "Renderer",
    "Spec",
    "Start",
    "Task",
    "Wrapper",
    "environment",
    "make",
    "observation_spec",
    "randomisation",
    "randomised",
]

register()
