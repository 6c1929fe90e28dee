"""The tasks, a file each with its model beside it; a new one is a file and a line here."""

from pathlib import Path

from jaxccp.envs.task import Task
from jaxccp.envs.tasks.cartpole import Cartpole

TASKS: dict[str, type[Task]] = {
    "cartpole": Cartpole,
}
"""By name."""


def model_file(name: str) -> Path:
    """The MJCF file of a task."""
    return Path(__file__).with_name(f"{name}.xml")
