"""Profile a robot's step: XLA's time in each part of it.

    python -m experiments.throughput.profile ant 64 [--kernels 12] [--file robot.xml]

Prints, in microseconds per step and copy, the CPU time of a step, XLA's time by parts of the step
as :data:`PARTS` defines them, and the most expensive kernels. It computes on one thread;
``taskset -c 1`` keeps that on one core. The robots are brax's and MuJoCo Playground's, of which
few shapes collide; ``--file`` takes another MuJoCo file. It needs mujoco, and brax and
playground for their files alone.

A kernel of several fused operations belongs to the part in which its last operation was traced.
"""

import argparse
import importlib.metadata
import os
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

os.environ["XLA_FLAGS"] = (
    os.environ.get("XLA_FLAGS", "")
    + " --xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"
)

import jax
import numpy as np

from experiments.throughput.call_stacks import instructions
from experiments.throughput.traces import traced
from experiments.throughput.trained import ROBOTS, Copies, written
from jaxccp import Stop

STEPS = 200
"""Number of steps of a run. The robots fall in the first run, which is not measured."""
REPEATS = 7
"""Number of measured runs without a profiler, of which the fastest counts."""
TRACED = 4
"""Number of runs with a profiler."""
TOLERANCE = 1e-4
"""Residual at which the iterations of a step stop [m/s]."""
PARTS = (
    ("Delassus", "ccp/operators/", "densified|dense|for_iterations"),
    ("iterations", "ccp/", ".*"),
    ("collision", "collision/", ".*"),
    ("velocity products", "trees/bias", ".*"),
    ("mass matrix", "trees/mass|dynamics/body_mass|dynamics/inertia", ".*"),
    ("whitening", "model/family.py|trees/velocity_space", "of|whiten|unwhiten"),
    ("sensors", "sensors/", ".*"),
    ("integration", "step/advance|kinematics/configuration", ".*"),
    ("kinematics", "trees/screws|model/.*kinematics|model/joint", ".*"),
    ("rows and forces", "dynamics/", ".*"),
)
"""Parts of a step, each with regular expressions of the file and the function of its calls. An
operation belongs to the first part of this list that matches any of the calls that led to it."""
REST, EXECUTOR = "rest", "between kernels"


class Rollout:
    """Many steps of a robot, in copies, as one compiled program."""

    def __init__(self, path: Path, copies: int) -> None:
        robots = Copies(path, copies, STEPS, Stop(TOLERANCE, max_iterations=200))

        self.carry, self.control, self.scale = robots.carry, robots.drive, 1e6 / (STEPS * copies)
        start = time.process_time()
        self.program = jax.jit(robots.rollout).lower(self.carry, self.control).compile()
        self.compile = time.process_time() - start
        self.run()

    def run(self) -> None:
        """Advance all copies by :data:`STEPS`."""
        self.carry = jax.block_until_ready(self.program(self.carry, self.control))

    def clock(self) -> float:
        """Return the CPU time per step and copy without a profiler [µs]."""
        times = []
        for _ in range(REPEATS):
            start = time.process_time()
            self.run()
            times.append(time.process_time() - start)
        return self.scale * min(times)

    def kernels(self) -> Counter:
        """Return XLA's time in each kernel, without kernels that it calls [µs per step and copy].

        It is the median of a kernel's calls times their number, in the run with the smallest total,
        so that time in which other programs have the core does not count.
        """
        return min((self._traced() for _ in range(TRACED)), key=lambda times: times.total())

    def _traced(self) -> Counter:
        calls: dict[str, list[float]] = {}
        for name, nanoseconds in _exclusive(traced(self.run)):
            calls.setdefault(name, []).append(nanoseconds)
        medians = {name: len(times) * float(np.median(times)) for name, times in calls.items()}
        return Counter(
            {name: self.scale * 1e-9 * t for name, t in medians.items() if "wait for" not in name}
        )


def _exclusive(profile: Any) -> Iterator[tuple[str, float]]:
    """Yield name and duration [ns] of each event of XLA's threads, without the events within it."""
    lines = [line for plane in profile.planes for line in plane.lines]
    for line in lines:
        if not line.name.startswith("tf_XLA"):
            continue
        events = [(e.start_ns, -e.duration_ns, e.name) for e in line.events]
        open_events: list[list] = []
        for start, negative, name in sorted(events):
            while open_events and open_events[-1][0] <= start:
                yield tuple(open_events.pop()[1:])
            if open_events:
                open_events[-1][2] += negative
            open_events.append([start - negative, name, -negative])
        yield from (tuple(event[1:]) for event in open_events)


class Parts:
    """A mapping from the kernels of a program to the parts of a step."""

    def __init__(self, program: Any) -> None:
        self.known = instructions(program.as_text() or "")
        self.users: dict[str, list[str]] = {}
        for name, instruction in self.known.items():
            for operand in instruction.inputs:
                self.users.setdefault(operand, []).append(name)

    def part(self, kernel: str) -> str:
        """Return the part that a kernel belongs to.

        Where XLA does not record where a kernel was traced, its part is that of most of the
        instructions that it calls, or else that of most of the instructions that use its result.
        """
        if kernel not in self.known:
            return EXECUTOR if kernel.startswith("Thunk") else REST
        assigned = self._traced(kernel)
        for related in (self.known[kernel].within, self.users.get(kernel, ())):
            if assigned is None:
                counts = Counter(filter(None, map(self._traced, related)))
                assigned = counts.most_common(1)[0][0] if counts else None
        return assigned or REST

    def _traced(self, name: str) -> str | None:
        for part, file, function in PARTS:
            for frame in self.known[name].stack:
                at = frame.file.rpartition("jaxccp/")[2]
                if re.search(f"(^|/)({file})", at) and re.fullmatch(
                    function, frame.function.rpartition(".")[2]
                ):
                    return part
        return None


def report(rollout: Rollout, largest: int) -> str:
    """Return the tables of parts and of the most expensive kernels."""
    clock, kernels, parts = rollout.clock(), rollout.kernels(), Parts(rollout.program)
    total, spent_in = kernels.total(), Counter()
    for name, spent in kernels.items():
        spent_in[parts.part(name)] += spent
    lines = [
        f"{clock:.2f} µs of CPU time a step and copy, {total:.2f} µs with a profiler; "
        f"{rollout.compile:.1f} s of it to compile",
        "",
        "| part | µs | share |",
        "|---|---|---|",
    ]
    lines += [f"| {part} | {t:.2f} | {t / total:.1%} |" for part, t in spent_in.most_common()]
    lines += [
        "",
        "| kernel | result | part | traced in | µs | share |",
        "|---|---|---|---|---|---|",
    ]
    for name, spent in kernels.most_common(largest):
        instruction, place = parts.known.get(name), "–"
        if instruction and instruction.stack:
            frames = [f for f in instruction.stack if "/jaxccp/" in f.file] or instruction.stack
            place = " < ".join(f"{Path(f.file).stem}.{f.function}" for f in frames[:3])
        shape = instruction.shape[:40] if instruction else "–"
        lines.append(
            f"| {name} | {shape} | {parts.part(name)} | {place} | {spent:.2f} "
            f"| {spent / total:.1%} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("robot", help=", ".join(ROBOTS))
    parser.add_argument("copies", type=int)
    parser.add_argument("--kernels", type=int, default=12, help="number of kernels to print")
    parser.add_argument("--file", type=Path, help="a MuJoCo file to take instead")
    options = parser.parse_args()
    # Otherwise the calls that led to an operation are cut off after ten.
    jax.config.update("jax_traceback_in_locations_limit", -1)
    with tempfile.TemporaryDirectory() as folder:
        path = options.file or written(options.robot, Path(folder))
        rollout = Rollout(path, options.copies)
    print(f"## {options.robot}, {options.copies} copies, jax {importlib.metadata.version('jax')}\n")
    print(report(rollout, options.kernels))


if __name__ == "__main__":
    main()
