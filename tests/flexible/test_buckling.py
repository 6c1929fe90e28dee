"""Test derivatives of the rest of a column below and beyond its critical load."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxccp import ModelBuilder, equilibrium
from jaxccp.ccp.solution import Status
from jaxccp.flexible.ancf import rope
from jaxccp.flexible.loads import with_load

YOUNG, MOMENT = 2e9, 1e-9
CRITICAL = np.pi**2 * YOUNG * MOMENT / 4
"""Critical load of a cantilever of 1 m [N]."""


def test_a_column_gives_way_below_its_critical_load_and_has_no_slope_beyond() -> None:
    """A force F across the tip of a column under P moves it by F (tan k − k) / (k P), k² = P / E I;
    beyond the critical load the straight column is an unstable equilibrium."""
    nodes = jnp.linspace(jnp.zeros(3), jnp.array([0, 0, 1.0]), 5)
    family = rope(nodes, 1e-4, MOMENT, YOUNG, 1000.0, clamped=(0,))
    builder = ModelBuilder(gravity=(0, 0, 0))
    builder.add_family(family)
    model, state = builder.build()

    @jax.jit
    def compliance(load: float) -> tuple[Array, Array]:
        def tip(across: float) -> tuple[Array, Array]:
            force = jnp.stack([jnp.asarray(across), jnp.zeros(()), jnp.asarray(-load)])
            loaded = with_load(family, np.array([8]), force[None])
            rest = equilibrium(replace(model, families=(loaded,)), state)
            return rest.state.position[-1, 0], rest.status

        return jax.jacfwd(tip, has_aux=True)(0.0)

    load = 0.5 * CRITICAL
    wave = np.sqrt(load / YOUNG / MOMENT)
    slope, status = compliance(load)
    assert status == Status.CONVERGED
    np.testing.assert_allclose(slope, (np.tan(wave) - wave) / (wave * load), rtol=1e-3)
    assert np.isnan(compliance(1.5 * CRITICAL)[0])
