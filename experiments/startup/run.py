"""Measure how long the command line takes to answer and to start, the first time and later.

    python experiments/startup/run.py

Writes results.md to this folder. Each start is a separate process; the first finds an empty cache
of compiled programs, later ones find the programs that the first one stored. Run it on an otherwise
idle machine.
"""

import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import jax

FOLDER = Path(__file__).resolve().parent
USAGES = ("--version", "--help", "simulate --help", "simulate billards", "solve gone.npz")
COMMANDS = (
    "simulate billiards",
    "simulate billiards --law ncp",
    "simulate stack",
    "simulate cube-toss --batch 256",
    "simulate examples/models/arm.xml --duration 0.1",
)
REPEATS = 5


def run(command: list[str]) -> tuple[float, float, str]:
    """Return wall-clock time and processor time of a process [s], and its standard output."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    clock = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return clock, used, done.stdout


def jaxccp(*arguments: str) -> tuple[float, float, str]:
    """Return wall-clock time, processor time [s] and output of the command ``jaxccp``."""
    return run([sys.executable, "-m", "jaxccp", *arguments])


def usage_times() -> list[list[str]]:
    """Return a row for each usage in USAGES: median wall-clock and processor time over repeats."""
    rows = []
    for usage in USAGES:
        times = [jaxccp(*usage.split())[:2] for _ in range(REPEATS)]
        medians = [statistics.median(column) for column in zip(*times, strict=True)]
        rows.append([f"`jaxccp {usage}`", *(f"{median:.2f}" for median in medians)])
    return rows


def started(command: str, folder: str) -> tuple[float, float]:
    """Return the time until the first step and the time of the steps [s]."""
    clock, _, printed = jaxccp(*command.split(), "--json", "--cache", folder)
    stepping = json.loads(printed.splitlines()[-1])["run_s"]
    return clock - stepping, stepping


def starts() -> list[list[str]]:
    """Return a row for each command: time of the first start, median of later ones, time of the
    steps, and size of the cache."""
    rows = []
    for command in COMMANDS:
        with tempfile.TemporaryDirectory() as folder:
            first, _ = started(command, folder)
            later = [started(command, folder) for _ in range(REPEATS)]
            kept = sum(path.stat().st_size for path in Path(folder).iterdir())
        second, stepping = (statistics.median(column) for column in zip(*later, strict=True))
        figures = (f"{first:.1f}", f"{second:.2f}", f"{stepping:.2f}", f"{kept / 1e6:.1f}")
        rows.append([f"`jaxccp {command}`", *figures])
    return rows


def phases() -> list[list[str]]:
    """Return a row for each phase of a second start of billiards: its processor time, by
    phases.py."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(FOLDER / "phases.py"), folder]
        run(command)
        runs = [json.loads(run(command)[2]) for _ in range(REPEATS)]
    return [
        [name, f"{statistics.median(seconds[name] for seconds in runs):.2f}"] for name in runs[0]
    ]


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    os.chdir(FOLDER.parent.parent)
    text = f"""# Starts of the command line

{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()},
jax {jax.__version__}. Written by run.py. Medians of {REPEATS} processes.

Usage, answered:

{table(["", "clock [s]", "processor [s]"], usage_times())}

From the call to the last line printed, less the steps themselves; the first start compiles, the
second reads what the first one kept:

{table(["", "first [s]", "second [s]", "steps [s]", "kept [MB]"], starts())}

What the second start of `jaxccp simulate billiards` spends before its first step:

{table(["", "processor [s]"], phases())}
"""
    (FOLDER / "results.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
