"""Run one solver on one problem after another, in a separate process that can be killed."""

import os
import time
from collections.abc import Callable, Iterator
from functools import lru_cache
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

# One thread for all libraries, so that CPU time is what one core needs.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import jax  # noqa: E402

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from entrants import DoesNotApply, Entrant, prepare  # noqa: E402

from jaxccp import ccp  # noqa: E402
from jaxccp.io import InputError, NamedProblem, read_problem  # noqa: E402

REPEATS = 3
WORTHWHILE = 0.02
"""Time that repeats of a short solve may fill [s]."""
FIRST_LIMIT = 1
STEEPER = 10
"""Factor on the iteration limit from one try to the next; 2 where the smallest limit is sought."""
GRADUAL = 1.1
"""Ratio to which the smallest limit is bracketed, for solvers that are stopped by it."""


def serve(connection: Connection) -> None:
    """Answer (path, law, solver, accuracies, cap) with messages until the other end closes.

    ("ready", seconds to compile, seconds of a call without iterations), ("solved", accuracy,
    seconds, iterations, residual) or ("failed", accuracy, seconds spent, iterations, residual)
    for each, ("refused", why) in place of all, ("end",).
    """
    while True:
        try:
            path, law, name, accuracies, cap = connection.recv()
        except EOFError:
            return
        try:
            for message in measured(Path(path), law, name, accuracies, cap):
                connection.send(message)
        except (DoesNotApply, InputError) as error:
            connection.send(("refused", " ".join(str(error).split())))
        connection.send(("end",))


@lru_cache(maxsize=1)
def loaded(path: Path) -> NamedProblem:
    return read_problem(path, np.float64)


@lru_cache(maxsize=2)
def judge(path: Path, law: ccp.Law) -> Callable[[np.ndarray], float]:
    """Return a function of λ that returns its worst residual relative to max‖r_c‖, by code that no
    solver uses."""
    item = loaded(path)
    program = jax.jit(lambda lam: jnp.max(ccp.residuals(item.problem, lam, law), initial=0.0))
    return lambda lam: float(program(jnp.asarray(lam))) / item.scale


def measured(path: Path, law: ccp.Law, name: str, accuracies: tuple, cap: float) -> Iterator:
    item, judged = loaded(path), judge(path, law)
    entrant = prepare(name, item, law)
    start = time.perf_counter()
    entrant.run(1.0, 0)
    compiled = time.perf_counter() - start
    idle = fastest(entrant, 1.0, 0, float("inf"))
    yield "ready", compiled - idle, idle
    limit = FIRST_LIMIT
    for accuracy in accuracies:
        result = reached(entrant, judged, accuracy, item.scale, limit, cap)
        yield result
        if result[0] == "failed":
            return
        limit = max(FIRST_LIMIT, result[3])


def reached(
    entrant: Entrant,
    judged: Callable[[np.ndarray], float],
    accuracy: float,
    scale: float,
    limit: int,
    cap: float,
) -> tuple:
    """Return the outcome for one accuracy, from tighter and tighter tolerances with growing limits.

    Args:
        entrant: prepared solver.
        judged: relative residual of λ.
        accuracy: relative residual to reach.
        scale: velocity that residuals are relative to [m/s].
        limit: first iteration limit.
        cap: longest time of a solve [s].
    """
    worst, total = (float("inf"), 0), 0.0
    steeper = 2 if entrant.by_limit else STEEPER
    for factor in entrant.sharpen:
        tolerance, current, below = factor * accuracy * scale, limit, 0
        while True:
            raw, spent = clocked(entrant, tolerance, current)
            total += spent
            lam, iterations, limited = entrant.read(raw)
            error = judged(lam) if np.all(np.isfinite(lam)) else float("inf")
            if error <= accuracy:
                if entrant.by_limit:
                    current = iterations = shortest(entrant, judged, accuracy, below, current)
                best = fastest(entrant, tolerance, current, spent)
                outcome = "solved" if best <= cap else "failed"
                return outcome, accuracy, best, iterations, error
            worst = min(worst, (error, iterations))
            ahead = min(steeper * current, int(current * (cap / max(spent, 1e-9))))
            if not limited or ahead < 1.2 * current or spent > cap:
                break
            current, below = ahead, current
        if total > 2 * cap or (limited and spent > 0.5 * cap):
            break
    return "failed", accuracy, total, worst[1], worst[0]


def shortest(
    entrant: Entrant, judged: Callable[[np.ndarray], float], accuracy: float, low: int, high: int
) -> int:
    """Return the smallest limit that reaches the accuracy, by bisection between two limits.

    Args:
        entrant: prepared solver.
        judged: relative residual of λ.
        accuracy: relative residual to reach.
        low: limit that is too low.
        high: limit that is sufficient.
    """
    while high > GRADUAL * low + 1:
        middle = (low + high) // 2
        lam, _, _ = entrant.read(entrant.run(0.0, middle))
        if judged(lam) <= accuracy:
            high = middle
        else:
            low = middle
    return high


def clocked(entrant: Entrant, tolerance: float, limit: int) -> tuple[Any, float]:
    """Return the raw result of a solve and its processor time [s].

    Args:
        entrant: prepared solver.
        tolerance: tolerance of the solver [m/s].
        limit: iteration limit.
    """
    start = time.process_time()
    raw = entrant.run(tolerance, limit)
    return raw, time.process_time() - start


def fastest(entrant: Entrant, tolerance: float, limit: int, best: float) -> float:
    """Return the shortest processor time of some runs, including the earlier time ``best`` [s].

    Args:
        entrant: prepared solver.
        tolerance: tolerance of the solver [m/s].
        limit: iteration limit.
        best: time of an earlier run [s].
    """
    until = time.perf_counter() + WORTHWHILE
    runs = 1
    while runs < REPEATS or time.perf_counter() < until:
        best = min(best, clocked(entrant, tolerance, limit)[1])
        runs += 1
    return best
