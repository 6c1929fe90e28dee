"""Check that programs compiled as users have them give what the tests' quickly compiled ones give.

Users have optimised programs and XLA's own choice of code generator.
"""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import EulerImplicitLinearized, ModelBuilder, Plane, Sphere, rollout

ROOT = Path(__file__).resolve().parent.parent
STEPS = 40
CODE = """
import json
import jax
jax.config.update("jax_enable_x64", True)
from tests.test_optimised import fall
print(json.dumps([part.tolist() for part in fall()]))
"""


def fall() -> tuple[jax.Array, jax.Array]:
    """Return where two balls that land and slide end, under the default law and solver, and the
    derivative of the last one's position with respect to the first velocity."""
    builder = ModelBuilder()
    builder.add_shape(0, Plane())
    ball = Sphere(0.05)
    for name, x in (("left", 0.0), ("right", 0.25)):
        builder.add_solid(ball, 1.0, position=(x, 0, 0.07), velocity=(0.5, 0, -1), name=name)
    model, start = builder.build()
    stepper = EulerImplicitLinearized(2e-3)

    def end(speed: jax.Array) -> tuple[jax.Array, jax.Array]:
        started = replace(start, velocity=start.velocity.at[1:, 0].add(speed))
        final, _ = rollout(model, started, stepper, STEPS)
        return final.position[2, 0], final.position

    slope, place = jax.jit(jax.grad(end, has_aux=True))(jnp.zeros(()))
    return place, slope


def test_users_have_what_tests_have() -> None:
    plain = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"}
    command = [sys.executable, "-c", CODE]
    done = subprocess.run(command, env=plain, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    place, slope = (np.array(part) for part in json.loads(done.stdout.splitlines()[-1]))
    ours, slope_of_ours = fall()
    np.testing.assert_allclose(ours, place, atol=1e-8)
    np.testing.assert_allclose(slope_of_ours, slope, rtol=1e-5)
    # It has landed, and friction has taken its part of 0.5 m/s × 80 ms.
    assert place[2, 2] == pytest.approx(0.05, abs=2e-3) and 0.25 < place[2, 0] < 0.29
    assert 0 < slope < 0.08
