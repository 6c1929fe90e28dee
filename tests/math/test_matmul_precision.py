"""Test that products of float32 keep all digits, which not every device does by itself."""

import os
import subprocess
import sys

import jax
import jax.numpy as jnp
import pytest
from jax import Array

from jaxccp import Box, EulerImplicitLinearized, Material, ModelBuilder, Plane, rollout
from jaxccp.math.matmul_precision import OPTION

SHOWN = f"import jaxccp.math, jax; print(jax.config.{OPTION})"


def test_no_product_of_a_step_and_its_derivative_may_be_rounded() -> None:
    with jax.enable_x64(False):
        builder = ModelBuilder()
        builder.add_shape(0, Plane(), material=Material())
        builder.add_solid(Box((0.1, 0.1, 0.1)), 1.0, position=(0, 0, 0.1))
        model, state = builder.build(max_contacts=4)

        def height(force: Array) -> Array:
            return rollout(model, state, EulerImplicitLinearized(1e-3), 2, force)[0].position[1, 2]

        program = jax.jit(jax.grad(height)).lower(jnp.zeros((2, 2, 6))).as_text()
    products = [line for line in program.splitlines() if "stablehlo.dot_general" in line]
    assert len(products) > 10
    assert not [line for line in products if "precision = [HIGHEST, HIGHEST]" not in line]


@pytest.mark.parametrize("precision", [None, "tensorfloat32"])
def test_a_choice_of_the_user_stays(precision: str | None) -> None:
    environment = {key: value for key, value in os.environ.items() if key != OPTION.upper()}
    setting = {} if precision is None else {OPTION.upper(): precision}
    command = [sys.executable, "-c", SHOWN]
    done = subprocess.run(
        command, env=environment | setting, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == (precision or "highest")
