"""How long the command line takes to answer and to start, the first time and the second.

    python experiments/startup/run.py

Writes results.md beside this file. Each start is a process of its own; the first finds an empty
cache of programs, the second what the first one kept. Run it on a machine that does nothing else.
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

HERE = Path(__file__).resolve().parent
ANSWERS = ("--version", "--help", "simulate --help", "simulate billards", "solve gone.npz")
COMMANDS = (
    "simulate billiards",
    "simulate billiards --law ncp",
    "simulate stack",
    "simulate cube-toss --batch 256",
    "simulate examples/models/arm.xml --duration 0.1",
)
REPEATS = 5


def run(command: list[str]) -> tuple[float, float, str]:
    """Seconds on the clock and of processors that a process takes, and what it prints."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.perf_counter()
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    clock = time.perf_counter() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return clock, used, done.stdout


def jaxccp(*arguments: str) -> tuple[float, float, str]:
    """The same of one of our commands."""
    return run([sys.executable, "-m", "jaxccp", *arguments])


def answers() -> list[list[str]]:
    """Of each usage the median over repeats."""
    rows = []
    for usage in ANSWERS:
        times = [jaxccp(*usage.split())[:2] for _ in range(REPEATS)]
        medians = [statistics.median(column) for column in zip(*times, strict=True)]
        rows.append([f"`jaxccp {usage}`", *(f"{each:.2f}" for each in medians)])
    return rows


def started(command: str, folder: str) -> tuple[float, float]:
    """Seconds until the first step, and those of the steps."""
    clock, _, printed = jaxccp(*command.split(), "--json", "--cache", folder)
    stepping = json.loads(printed.splitlines()[-1])["run_s"]
    return clock - stepping, stepping


def starts() -> list[list[str]]:
    """Of each command the first start, the median of later ones, and the steps themselves."""
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
    """What a second start of billiards spends, by phases.py."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(HERE / "phases.py"), folder]
        run(command)
        each = [json.loads(run(command)[2]) for _ in range(REPEATS)]
    return [[name, f"{statistics.median(one[name] for one in each):.2f}"] for name in each[0]]


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    os.chdir(HERE.parent.parent)
    text = f"""# Starts of the command line

{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()},
jax {jax.__version__}. Written by run.py. Medians of {REPEATS} processes.

Usage, answered:

{table(["", "clock [s]", "processor [s]"], answers())}

From the call to the last line printed, less the steps themselves; the first start compiles, the
second reads what the first one kept:

{table(["", "first [s]", "second [s]", "steps [s]", "kept [MB]"], starts())}

What the second start of `jaxccp simulate billiards` spends before its first step:

{table(["", "processor [s]"], phases())}
"""
    (HERE / "results.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
