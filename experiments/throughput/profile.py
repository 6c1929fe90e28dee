"""Where the time of a robot's step goes: XLA's time in each part of it.

    python -m experiments.throughput.profile ant 64 [--kernels 12] [--file robot.xml]

Prints, in microseconds a step and copy, the CPU time of a step, XLA's time by parts of the
step as :data:`PARTS` defines them, and the largest kernels. It computes on one thread; ``taskset -c
1`` keeps that on one core. The robots are brax's, of which only the feet collide; ``--file`` takes
another MuJoCo file. It needs mujoco, and brax for its files alone.

A kernel of several fused operations counts where its last operation was traced.
"""

import argparse
import importlib
import importlib.metadata
import importlib.util
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
import jax.numpy as jnp
import numpy as np

from experiments.throughput.call_stacks import instructions
from jaxccp import EulerImplicitLinearized, Stop, load

mujoco: Any = importlib.import_module("mujoco")  # its names come from a binary

STEPS = 200
"""Steps of a run. The robots fall in the first run, which is not measured."""
REPEATS = 7
"""Measured runs without a profiler, of which the fastest counts."""
TRACED = 4
"""Runs with a profiler."""
NOISE = 0.1
"""Standard deviation of coordinates and rates at the start [m, rad, m/s, rad/s]."""
TOLERANCE = 1e-4
"""Residual at which the iterations of a step stop [m/s]."""
PARTS = (
    ("Delassus", "ccp/operators/", "densified|dense|for_iterations"),
    ("iterations", "ccp/", ".*"),
    ("collision", "collision/", ".*"),
    ("velocity products", "reduced/bias", ".*"),
    ("mass matrix", "reduced/(mass|body_mass)|dynamics/inertia", ".*"),
    ("whitening", "model/family.py|reduced/velocities", "of|velocities|whiten|unwhiten"),
    ("sensors", "sensors/", ".*"),
    ("integration", "reduced/advance|kinematics/configuration", ".*"),
    ("kinematics", "reduced/screws|model/.*kinematics|model/joint", ".*"),
    ("rows and forces", "dynamics/", ".*"),
)
"""The parts of a step: each with patterns of file and function of the calls that belong to it. An
operation is in the first part of this list that any of the calls that led to it belongs to."""
REST, EXECUTOR = "rest", "between kernels"


def robot(name: str) -> Path:
    """Return one of brax's MuJoCo files."""
    spec = importlib.util.find_spec("brax")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("brax is not installed; its models are needed: pip install --no-deps brax")
    return Path(spec.submodule_search_locations[0]) / "envs" / "assets" / f"{name}.xml"


class Rollout:
    """Many steps of a robot, in copies, as one compiled program."""

    def __init__(self, path: Path, copies: int) -> None:
        loaded, random = load(path, allow_unsupported=True), np.random.default_rng(0)
        reference, layout = mujoco.MjModel.from_xml_path(str(path)), loaded.layout
        qpos = np.tile(reference.qpos0, (copies, 1))
        qpos[:, 7:] += NOISE * random.standard_normal(qpos[:, 7:].shape)
        qvel = NOISE * random.standard_normal((copies, reference.nv))
        place = jax.vmap(lambda q, v: layout.state(loaded.model, loaded.state, q, v))
        state = jax.jit(place)(*(jnp.asarray(x, jnp.float32) for x in (qpos, qvel)))
        low, high = reference.actuator_ctrlrange.T
        drive = jnp.asarray(random.uniform(low, high, (STEPS, copies, len(low))), jnp.float32)
        control = jax.vmap(jax.vmap(layout.control))(drive)
        stepper = EulerImplicitLinearized(loaded.timestep, stop=Stop(TOLERANCE, max_iterations=200))
        model = loaded.model

        def step(carry: Any, control: jax.Array) -> tuple[Any, None]:
            return jax.vmap(lambda c, u: stepper.advance(model, c, None, u)[0])(
                carry, control
            ), None

        def many(carry: Any, control: jax.Array) -> Any:
            return jax.lax.scan(step, carry, control)[0]

        self.carry = jax.jit(jax.vmap(lambda s: stepper.init(model, s)))(state)
        self.control, self.scale = control, 1e6 / (STEPS * copies)
        start = time.process_time()
        self.program = jax.jit(many).lower(self.carry, control).compile()
        self.compile = time.process_time() - start
        self.run()

    def run(self) -> None:
        """Advance all copies."""
        self.carry = jax.block_until_ready(self.program(self.carry, self.control))

    def clock(self) -> float:
        """Return the CPU time of a step and copy without a profiler [µs]."""
        times = []
        for _ in range(REPEATS):
            start = time.process_time()
            self.run()
            times.append(time.process_time() - start)
        return self.scale * min(times)

    def kernels(self) -> Counter:
        """Return XLA's time in each kernel, without that of other kernels within [µs a step and
        copy].

        It is the median of a kernel's calls times their number, in the run with the least of it, so
        that it does not count when other programs have the core.
        """
        return min((self._traced() for _ in range(TRACED)), key=lambda times: times.total())

    def _traced(self) -> Counter:
        options = jax.profiler.ProfileOptions()
        options.python_tracer_level = 0
        with tempfile.TemporaryDirectory() as folder:
            with jax.profiler.trace(folder, profiler_options=options):
                self.run()
            file = next(Path(folder).glob("**/*.xplane.pb"))
            calls: dict[str, list[float]] = {}
            for name, nanoseconds in _exclusive(jax.profiler.ProfileData.from_file(str(file))):
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
    """Which part of a step each kernel of a program belongs to."""

    def __init__(self, program: Any) -> None:
        self.known = instructions(program.as_text() or "")
        self.users: dict[str, list[str]] = {}
        for name, one in self.known.items():
            for operand in one.inputs:
                self.users.setdefault(operand, []).append(name)

    def part(self, kernel: str) -> str:
        """Return a kernel's part.

        Where XLA does not say where a kernel comes from it is where most of what it calls is, or
        else where its result is used.
        """
        if kernel not in self.known:
            return EXECUTOR if kernel.startswith("Thunk") else REST
        own = self._traced(kernel)
        for others in (self.known[kernel].within, self.users.get(kernel, ())):
            if own is None:
                found = Counter(filter(None, map(self._traced, others)))
                own = found.most_common(1)[0][0] if found else None
        return own or REST

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
    """Return the tables of parts and of the largest kernels."""
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
        "| kernel | result | part | traced at | µs | share |",
        "|---|---|---|---|---|---|",
    ]
    for name, spent in kernels.most_common(largest):
        instruction, place = parts.known.get(name), "–"
        if instruction and instruction.stack:
            ours = [f for f in instruction.stack if "/jaxccp/" in f.file] or instruction.stack
            place = " < ".join(f"{Path(f.file).stem}:{f.line}" for f in ours[:3])
        shape = instruction.shape[:40] if instruction else "–"
        lines.append(
            f"| {name} | {shape} | {parts.part(name)} | {place} | {spent:.2f} "
            f"| {spent / total:.1%} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("robot", help="ant, humanoid, hopper, walker2d, half_cheetah, …")
    parser.add_argument("copies", type=int)
    parser.add_argument("--kernels", type=int, default=12, help="number of kernels to print")
    parser.add_argument("--file", type=Path, help="a MuJoCo file to take instead of brax's")
    options = parser.parse_args()
    # Otherwise the calls that led to an operation are cut off after ten.
    jax.config.update("jax_traceback_in_locations_limit", -1)
    rollout = Rollout(options.file or robot(options.robot), options.copies)
    print(f"## {options.robot}, {options.copies} copies, jax {importlib.metadata.version('jax')}\n")
    print(report(rollout, options.kernels))


if __name__ == "__main__":
    main()
