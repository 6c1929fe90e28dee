"""Test batches in which jaxlib 0.10 blocked for ever.

They were batches of small factors and triangular solves on the CPU.
"""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
LIMIT = 900
"""Time limit [s]; a process that blocks uses no processor time, however long the wait."""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("devices", "sizes"),
    [
        (2, ("4096",)),
        pytest.param(1, ("1024",), marks=pytest.mark.long),
        pytest.param(1, ("256", "4096"), marks=pytest.mark.long),
        pytest.param(2, ("256", "1024"), marks=pytest.mark.long),
    ],
)
def test_steps_and_gradients_come_to_an_end(devices: int, sizes: tuple[str, ...]) -> None:
    command = [sys.executable, "-m", "tests.dynamics.rollouts.batches", str(devices), *sizes]
    try:
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=LIMIT)
    except subprocess.TimeoutExpired as stuck:
        output = (stuck.stdout or b"").decode().splitlines()
        pytest.fail(f"blocked for {LIMIT} s in: {output[-1] if output else 'the import'}")
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.splitlines()[-1] == "done"
