"""Test rollouts and steps of a batch: the same as single ones, on any number of devices."""

import socket
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest

from jaxccp import rollout_batch
from tests.dynamics.rollouts.batch_on_devices import STEPPER, STEPS, scene, thrown

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("devices", "names"),
    [
        (1, ["states_and_models", "gradients"]),
        (2, ["states_and_models", "gradients", "room_for_contacts"]),
        (8, ["fewer_copies_than_devices", "steps_of_a_batch"]),
    ],
)
def test_is_a_vmapped_rollout(devices: int, names: list[str]) -> None:
    command = [
        sys.executable,
        "-m",
        "tests.dynamics.rollouts.batch_on_devices",
        str(devices),
        *names,
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == names


@pytest.mark.slow
def test_processes_share_a_batch() -> None:
    """Motions and gradients of a batch on several processes are those of one device."""
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = str(free.getsockname()[1])
    command = [sys.executable, "-m", "tests.dynamics.rollouts.batch_on_processes"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    both = [subprocess.Popen([*command, rank, "2", port], cwd=ROOT, **pipes) for rank in "01"]
    for process in both:
        output, failed = process.communicate(timeout=600)
        assert process.returncode == 0, failed[-2000:]
        assert output.split()[-1] == "done"


def test_wrong_batches() -> None:
    model, state = scene()
    states, forces = thrown(state, 4), jnp.zeros((3, STEPS, 3, 6))
    with pytest.raises(ValueError, match="nothing has a batch axis"):
        rollout_batch(model, state, STEPPER, STEPS, forces[0])
    with pytest.raises(ValueError, match=r"axis: .* all arrays of the state \(jax.vmap"):
        rollout_batch(model, replace(state, velocity=states.velocity), STEPPER, STEPS)
    with pytest.raises(ValueError, match=r"one length .*'state': \[4\], 'forces': \[3\]"):
        rollout_batch(model, states, STEPPER, STEPS, forces)
    with pytest.raises(ValueError, match=r"one length .*'state': \[0\]"):
        rollout_batch(model, thrown(state, 0), STEPPER, STEPS)
    with pytest.raises(ValueError, match=r"model_axes may have 0 and None, not \{1\}"):
        rollout_batch(model, states, STEPPER, STEPS, model_axes=1)
    with pytest.raises(ValueError, match=r"one length .*'model': \[3\], 'state': \[4\]"):
        axes = replace(jax.tree.map(lambda _: None, model), gravity=0)
        rollout_batch(model, states, STEPPER, STEPS, model_axes=axes)
    with pytest.raises(ValueError, match=r"\(\.\.\., 12, 3, 6\) .*, not \(11, 3, 6\)"):
        rollout_batch(model, states, STEPPER, STEPS, forces[0, 1:])
