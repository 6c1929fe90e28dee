"""Wrappers: environments around other environments."""

from jaxccp.envs.wrappers.auto_reset import AutoReset
from jaxccp.envs.wrappers.delay import ActionDelay
from jaxccp.envs.wrappers.episode import ActionRepeat, EpisodeLimit
from jaxccp.envs.wrappers.observation import FrameStack, ObservationDelay, ObservationNoise
from jaxccp.envs.wrappers.wrapper import Wrapper

__all__ = [
    "ActionDelay",
    "ActionRepeat",
    "AutoReset",
    "EpisodeLimit",
    "FrameStack",
    "ObservationDelay",
    "ObservationNoise",
    "Wrapper",
]
