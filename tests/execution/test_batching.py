"""Test branches under vmap: the right value for each copy, and no work where no copy needs it."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.execution.batching import when

FLAGS = {
    "none": [False, False, False],
    "some": [True, False, True],
    "all": [True, True, True],
}


def changed(flag: jax.Array, x: jax.Array) -> dict[str, jax.Array]:
    """Return the inverse of ``x`` and a count where ``flag`` is set, zeros elsewhere."""
    nothing = {"inverse": jnp.zeros_like(x), "count": jnp.int32(0)}
    return when(flag, lambda: {"inverse": 1.0 / x, "count": jnp.int32(1)}, nothing)


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
def test_each_of_a_batch_gets_its_own(flags: list[bool]) -> None:
    x = jnp.array([2.0, 4.0, 5.0])
    alone = [changed(jnp.asarray(f), y) for f, y in zip(flags, x, strict=True)]
    for function in (jax.vmap(changed), jax.jit(jax.vmap(changed))):
        together = function(jnp.array(flags), x)
        for name, values in together.items():
            np.testing.assert_array_equal(values, [result[name] for result in alone])
    expected = np.where(flags, 1 / np.asarray(x), 0)
    np.testing.assert_array_equal(together["inverse"], expected)


def test_batches_of_batches() -> None:
    flags = jnp.array([list(flags) for flags in FLAGS.values()])
    x = jnp.arange(1.0, 10.0).reshape(3, 3)
    actual = jax.vmap(jax.vmap(changed))(flags, x)
    np.testing.assert_array_equal(actual["inverse"], jnp.where(flags, 1 / x, 0.0))
    shared = jax.vmap(jax.vmap(changed, (0, None)), (0, None))(flags, jnp.float64(2.0))
    np.testing.assert_array_equal(shared["count"], flags)


@pytest.mark.parametrize("flags", FLAGS.values(), ids=FLAGS)
def test_nothing_is_computed_where_nobody_needs_it(flags: list[bool]) -> None:
    calls = []

    def counted(x: jax.Array) -> jax.Array:
        jax.debug.callback(lambda: calls.append(1))
        return 2.0 * x

    together = jax.vmap(lambda flag, x: when(flag, lambda: counted(x), x))
    jax.block_until_ready(jax.jit(together)(jnp.array(flags), jnp.arange(3.0)))
    jax.effects_barrier()
    assert bool(calls) == any(flags)
