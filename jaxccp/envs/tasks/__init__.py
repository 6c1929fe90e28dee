"""The tasks, one file each with a model file beside it; a new one is a file and a line here."""

from pathlib import Path

from jaxccp.envs.task import Task
from jaxccp.envs.tasks.ant import Ant
from jaxccp.envs.tasks.cartpole import Cartpole
from jaxccp.envs.tasks.halfcheetah import HalfCheetah
from jaxccp.envs.tasks.hopper import Hopper
from jaxccp.envs.tasks.humanoid import Humanoid
from jaxccp.envs.tasks.in_hand import InHand
from jaxccp.envs.tasks.linkage_walker import LinkageWalker
from jaxccp.envs.tasks.push_t import PushT
from jaxccp.envs.tasks.pusher import Pusher
from jaxccp.envs.tasks.quadruped import Quadruped
from jaxccp.envs.tasks.reacher import Reacher
from jaxccp.envs.tasks.walker2d import Walker2d

TASKS: dict[str, type[Task]] = {
    "cartpole": Cartpole,
    "reacher": Reacher,
    "pusher": Pusher,
    "hopper": Hopper,
    "walker2d": Walker2d,
    "halfcheetah": HalfCheetah,
    "ant": Ant,
    "humanoid": Humanoid,
    "push_t": PushT,
    "quadruped": Quadruped,
    "linkage_walker": LinkageWalker,
    "in_hand": InHand,
}
"""Tasks by name."""


def model_file(name: str) -> Path:
    """Return the path of the MJCF file of a task."""
    return Path(__file__).with_name(f"{name}.xml")
