"""Programs of JAX, compiled."""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from experiments.devices.engines.setting import remark


class Compiled:
    """A compiled program of many steps, with the copies that it advances."""

    def __init__(self, lower: Callable[[], tuple[Any, Any, jax.Array]]) -> None:
        """Compile a program.

        Args:
            lower: function that returns the program, lowered, and its two arguments: the state of
                the copies and their controls. The program returns the state after all steps, and
                counts of iterations, states and residuals of its solves, each of shape
                (steps, copies), or nothing.
        """
        start = time.perf_counter()
        lowered, self.carry, self.drive = lower()
        self.program = lowered.compile()
        self.compile_seconds = time.perf_counter() - start
        self.solves: tuple[jax.Array, ...] = ()

    def run(self) -> None:
        """Advance all copies, and wait for it."""
        self.carry, self.solves = jax.block_until_ready(self.program(self.carry, self.drive))

    def facts(self) -> dict[str, Any]:
        """Return a note on the state, and what the solves of the last run tell, by columns."""
        leaves = jax.tree.leaves(self.carry)
        note = remark(*(leaf for leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.floating)))
        if not self.solves:
            return {"note": note}
        count, status, residual = (np.asarray(part) for part in self.solves)
        return {
            "iterations": f"{count.mean():.1f}; {count.max(axis=1).mean():.1f}",
            "unsolved_percent": 100 * float(np.mean(status != 0)),
            "residual_median": float(np.median(residual)),
            "residual_worst": float(np.max(residual)),
            "note": note,
        }
