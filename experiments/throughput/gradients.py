"""Measure the cost of derivatives of a robot's step, forward and reverse, against the step itself.

    python -m experiments.throughput.gradients [ROBOT …] [--copies 64]

Robots of :mod:`experiments.throughput.trained`, in single precision on one core, in CPU time; the
three programs take turns. *forward* propagates one tangent of all coordinates, velocities and
controls through the steps; *reverse* computes the gradient of the sum of a step's state with
respect to the carry and the controls before it, in every step. Results are kept in gradients.json
by version of jax.
"""

import argparse
import importlib.metadata
import json
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "")
    + " --xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})

import jax
import jax.numpy as jnp
import numpy as np

from experiments.throughput.trained import Copies, written
from jaxccp import Stop

STEPS = 50
"""Number of steps of a program, and of steps before the first measurement."""
ROUNDS = 9
"""Number of measurements of each program, in turn with the others."""
STOP = Stop(1e-4, max_iterations=200)
LARGEST = 1e3
"""Value to which tangents are clipped, so that they stay finite over all steps."""
RESULTS = Path(__file__).resolve().parent / "gradients.json"
VERSION = importlib.metadata.version("jax")
KINDS = "step", "forward", "reverse"


def numbers(tree: Any) -> list[jax.Array]:
    """Return the leaves of a tree that are floating-point numbers."""
    return [x for x in jax.tree.leaves(tree) if jnp.issubdtype(jnp.result_type(x), jnp.floating)]


def with_numbers(tree: Any, values: list[jax.Array]) -> Any:
    """Return a tree whose floating-point leaves are replaced by other values."""
    left = iter(values)
    return jax.tree.map(
        lambda x: next(left) if jnp.issubdtype(jnp.result_type(x), jnp.floating) else x, tree
    )


def programs(robots: Copies) -> dict[str, tuple[Callable, tuple]]:
    """Return the functions that are timed and their arguments, by :data:`KINDS`."""

    def forward(carry: Any, tangent: list[jax.Array], drive: jax.Array) -> Any:
        def scan_step(before: Any, control: jax.Array) -> tuple[Any, None]:
            carry, tangent = before

            def advance(values: list[jax.Array], control: jax.Array) -> tuple[Any, Any]:
                after = robots.advance(with_numbers(carry, values), control)
                return numbers(after), after

            _, tangent, after = jax.jvp(
                advance,
                (numbers(carry), control),
                (tangent, jnp.ones_like(control)),
                has_aux=True,
            )
            return (after, [jnp.clip(t, -LARGEST, LARGEST) for t in tangent]), None

        return jax.lax.scan(scan_step, (carry, tangent), drive)[0]

    def reverse(carry: Any, drive: jax.Array) -> Any:
        def scan_step(carry: Any, control: jax.Array) -> tuple[Any, Any]:
            def advance(values: list[jax.Array], control: jax.Array) -> tuple[Any, Any]:
                after = robots.advance(with_numbers(carry, values), control)
                return sum(jnp.sum(x) for x in numbers(after.state)), after

            gradient, after = jax.grad(advance, (0, 1), has_aux=True)(numbers(carry), control)
            return after, [jnp.sum(x) for x in jax.tree.leaves(gradient)]

        return jax.lax.scan(scan_step, carry, drive)

    tangent = [jnp.full_like(x, 1e-2) for x in numbers(robots.carry)]
    return {
        "step": (robots.rollout, (robots.carry, robots.drive)),
        "forward": (forward, (robots.carry, tangent, robots.drive)),
        "reverse": (reverse, (robots.carry, robots.drive)),
    }


def measured(name: str, copies: int) -> dict:
    """Return CPU time, working memory and compile time of a robot's programs."""
    with tempfile.TemporaryDirectory() as folder:
        robots = Copies(written(name, Path(folder)), copies, STEPS, STOP)
    row: dict[str, Any] = {"jax": VERSION, "robot": name, "copies": copies}
    compiled: dict[str, Callable] = {}
    timed = programs(robots)
    for kind, (function, arguments) in timed.items():
        start = time.process_time()
        program = jax.jit(function).lower(*arguments).compile()
        row[f"{kind} compile [s]"] = time.process_time() - start
        memory: Any = program.memory_analysis()
        row[f"{kind} memory [kB a copy]"] = memory.temp_size_in_bytes / copies / 1e3
        compiled[kind] = program
    rested = compiled["step"](robots.carry, robots.drive)
    times: dict[str, list[float]] = {kind: [] for kind in KINDS}
    for _ in range(ROUNDS):
        for kind in KINDS:
            start = time.process_time()
            jax.block_until_ready(compiled[kind](rested, *timed[kind][1][1:]))
            times[kind].append(1e6 * (time.process_time() - start) / STEPS / copies)
    for kind in KINDS:
        row[f"{kind} [µs]"] = float(np.median(times[kind]))
        row[f"{kind} least [µs]"] = min(times[kind])
    return row


def page(rows: list[dict]) -> str:
    """Return the page of all results."""
    lines = [
        "# Derivatives of a robot's step",
        "",
        "`python -m experiments.throughput.gradients`. Microseconds of CPU time a step and copy on "
        f"one core, medians of {ROUNDS} in turn (and the ratio to a step; in brackets that of the "
        "least times, since the processor was shared). Working memory as XLA plans it.",
        "",
        "| robot | copies | jax | step | forward | reverse | memory: step, forward, reverse "
        "[kB a copy] | compile, CPU [s] |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in sorted(rows, key=lambda r: (r["robot"], r["copies"], r["jax"])):
        step, fastest = row["step [µs]"], row["step least [µs]"]
        ratios = [
            f"{row[f'{kind} [µs]']:.1f}, {row[f'{kind} [µs]'] / step:.2f} × "
            f"({row[f'{kind} least [µs]'] / fastest:.2f})"
            for kind in KINDS[1:]
        ]
        memory = ", ".join(f"{row[f'{kind} memory [kB a copy]']:.0f}" for kind in KINDS)
        compiled = ", ".join(f"{row[f'{kind} compile [s]']:.0f}" for kind in KINDS)
        lines.append(
            f"| {row['robot']} | {row['copies']} | {row['jax']} | {step:.1f} "
            f"| {' | '.join(ratios)} | {memory} | {compiled} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    """Measure the robots that the command line names."""
    parser = argparse.ArgumentParser(description="Cost of derivatives of a robot's step")
    parser.add_argument("robots", nargs="*", metavar="ROBOT", default=["ant", "humanoid"])
    parser.add_argument("--copies", type=int, default=64)
    options = parser.parse_args()
    for name in options.robots:
        row = measured(name, options.copies)
        print(row, flush=True)
        kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else []
        kept = [r for r in kept if any(r[k] != row[k] for k in ("jax", "robot", "copies"))]
        RESULTS.write_text(json.dumps([*kept, row], indent=0) + "\n", encoding="utf-8")
        RESULTS.with_suffix(".md").write_text(page([*kept, row]), encoding="utf-8")


if __name__ == "__main__":
    main()
