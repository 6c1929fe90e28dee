"""Progress of a fit on stderr: a bar on a terminal, else lines."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

LINES = 10
"""Number of lines printed for each stage if the output is not a terminal."""


class Follower(Protocol):
    """An object that shows the progress of a fit."""

    def stage(self, name: str) -> None:
        """Show that a stage begins."""
        ...

    def iteration(self, index: int, loss: float) -> None:
        """Show that an iteration, counted from 0, ended at a loss."""
        ...


class _Bar:
    def __init__(self, progress: Progress, task: TaskID) -> None:
        self._progress, self._task = progress, task

    def stage(self, name: str) -> None:
        self._progress.update(self._task, description=name)

    def iteration(self, index: int, loss: float) -> None:
        self._progress.update(self._task, advance=1, loss=f"loss {loss:.2e}")


class _Lines:
    def __init__(self, iterations: int) -> None:
        self._iterations, self._start = iterations, time.perf_counter()

    def stage(self, name: str) -> None:
        self._say(name)

    def iteration(self, index: int, loss: float) -> None:
        done, every = index + 1, -(-self._iterations // LINES)
        # The first iteration comes after compiling, which takes longest.
        if done == 1 or done % every == 0 or done == self._iterations:
            self._say(f"iteration {done} of {self._iterations}, loss {loss:.2e}")

    def _say(self, what: str) -> None:
        typer.echo(f"{time.perf_counter() - self._start:6.0f} s  {what}", err=True)


@contextmanager
def following(iterations: int, stages: int) -> Iterator[Follower]:
    """Show the progress of a fit while the context is active.

    Args:
        iterations: number of iterations of each stage.
        stages: number of stages.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _Lines(iterations)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[loss]}"),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        yield _Bar(progress, progress.add_task("compiling", total=iterations * stages, loss=""))
