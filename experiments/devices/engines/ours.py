"""Robots in jaxccp."""

import threading
from functools import cache
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from experiments.devices.engines.compiled import Compiled
from experiments.devices.engines.setting import STEPS, controls, mujoco, starts
from jaxccp import EulerImplicitLinearized, Stop, fit_capacity, load
from jaxccp.ccp import Law
from jaxccp.execution import active_copies
from jaxccp.io.mjcf.load import Loaded
from jaxccp.model import Model

MAX_ITERATIONS = 200
TOLERANCE = 1e-4
"""Residual at which iterations stop [m/s]."""
SLOTS = active_copies.SLOTS
TRIAL = 64
"""Copies in the trial run that determines how many contacts the model needs room for."""
LOCK = threading.Lock()
"""Held while a model is prepared, and while a program is traced with slots of its own."""


def program(
    path: Path, copies: int, law: Law, tolerance: float = TOLERANCE, together: bool = False
) -> Compiled:
    """Return jaxccp's program of a robot.

    Args:
        path: file of the robot.
        copies: number of copies.
        law: the law of contact.
        tolerance: residual at which iterations stop [m/s].
        together: whether all copies iterate until the slowest has converged.
    """
    return Compiled(lambda: _lowered(path, copies, law, tolerance, together))


def _lowered(
    path: Path, copies: int, law: Law, tolerance: float, together: bool
) -> tuple[Any, Any, jax.Array]:
    reference = mujoco.MjModel.from_xml_path(str(path))
    with LOCK:
        loaded, fitted = _prepared(path)
    stepper = EulerImplicitLinearized(
        loaded.timestep, law=law, stop=Stop(tolerance, max_iterations=MAX_ITERATIONS)
    )
    place = jax.jit(jax.vmap(lambda q, v: loaded.layout.state(fitted, loaded.state, q, v)))
    drive = controls(reference, copies)

    def many(carry: Any, drive: jax.Array) -> tuple[Any, tuple[jax.Array, ...]]:
        def step(carry: Any, ctrl: jax.Array) -> tuple[Any, tuple[jax.Array, ...]]:
            advance = jax.vmap(lambda c, u: stepper.advance(fitted, c, None, u))
            carry, report = advance(carry, jax.vmap(loaded.layout.control)(ctrl))
            solver = report.solver
            residual = solver.residual_ccp if law == "ccp" else solver.residual_ncp
            return carry, (solver.iterations, solver.status, residual)

        return jax.lax.scan(step, carry, drive)

    carry = jax.jit(jax.vmap(lambda s: stepper.init(fitted, s)))(place(*starts(reference, copies)))
    with LOCK:
        active_copies.SLOTS = copies if together else SLOTS
        lowered = jax.jit(many).lower(carry, drive)
    return lowered, carry, drive


@cache
def _prepared(path: Path) -> tuple[Loaded, Model]:
    """Load a file; return it and its model with room for the contacts that a trial run needs."""
    reference, loaded = mujoco.MjModel.from_xml_path(str(path)), load(path, allow_unsupported=True)
    stop = Stop(TOLERANCE, max_iterations=MAX_ITERATIONS)
    stepper = EulerImplicitLinearized(loaded.timestep, stop=stop)
    place = jax.jit(jax.vmap(lambda q, v: loaded.layout.state(loaded.model, loaded.state, q, v)))
    state = place(*starts(reference, TRIAL))
    command = jax.vmap(jax.vmap(loaded.layout.control))(controls(reference, TRIAL))
    command = jnp.swapaxes(command, 0, 1)
    return loaded, fit_capacity(loaded.model, state, stepper, STEPS, None, command)
