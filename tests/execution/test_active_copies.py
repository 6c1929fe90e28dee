"""Test the loop whose copies leave it: each copy's results, with fewer iterations in all."""

import os
import subprocess
import sys
import textwrap

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from jaxccp.execution.active_copies import CPU_SLOTS, iterate


def steps(limit: Array, length: Array) -> dict[str, Array]:
    """Add ``length`` until ``limit`` is reached, and note each number of turns that was told."""

    def running(data: dict, state: dict) -> Array:
        return state["sum"] < data["limit"]

    def iteration(data: dict, state: dict, number: Array) -> dict:
        going = running(data, state)
        return {
            "sum": jnp.where(going, state["sum"] + data["length"], state["sum"]),
            "turns": state["turns"] + going,
            "told": state["told"] & (~going | (number == state["turns"])),
        }

    start = {"sum": jnp.zeros(()), "turns": jnp.int32(0), "told": jnp.asarray(True)}
    return iterate(running, iteration, {"limit": limit, "length": length}, start)


def limits(size: int) -> np.ndarray:
    """Return limits of which most are small, some are 0 and few are large."""
    limits = np.random.default_rng(size).integers(0, 4, size).astype(float)
    limits[:: max(size // 3, 1)] = 37.0
    return limits


@pytest.mark.parametrize("size", [1, CPU_SLOTS, CPU_SLOTS + 1, 5 * CPU_SLOTS - 3])
@pytest.mark.parametrize("jit", [True, False], ids=["jit", "plain"])
def test_every_copy_takes_its_own_turns(size: int, jit: bool) -> None:
    copies = jax.vmap(steps, (0, None))
    actual = (jax.jit(copies) if jit else copies)(jnp.asarray(limits(size)), jnp.asarray(0.5))
    np.testing.assert_array_equal(actual["turns"], 2 * limits(size))
    np.testing.assert_array_equal(actual["sum"], limits(size))
    assert actual["told"].all()


def test_batches_of_batches() -> None:
    lengths = jnp.array([0.5, 1.0, 0.25])
    batch = jnp.asarray(limits(3 * CPU_SLOTS))
    by_length = jax.jit(jax.vmap(jax.vmap(steps, (0, None)), (None, 0)))(batch, lengths)
    by_limit = jax.jit(jax.vmap(jax.vmap(steps, (None, 0)), (0, None)))(batch, lengths)
    expected = np.asarray(batch) / np.asarray(lengths)[:, None]
    np.testing.assert_array_equal(by_length["turns"], expected)
    np.testing.assert_array_equal(by_limit["turns"], expected.T)
    for actual in (by_length, by_limit):
        assert actual["told"].all()


def test_in_a_loop_and_beside_a_derivative() -> None:
    """The loop, which has no derivative, may stand in a loop that has one, as in a rollout."""

    def total(scale: Array, limit: Array) -> Array:
        def body(x: Array, _: None) -> tuple[Array, None]:
            result = steps(jax.lax.stop_gradient(x), jnp.asarray(0.5))
            return x * scale + 0.0 * result["sum"], None

        return jax.lax.scan(body, limit, None, length=3)[0]

    batch = jnp.asarray(limits(2 * CPU_SLOTS))
    slopes = jax.jit(jax.vmap(jax.grad(total), (None, 0)))(jnp.asarray(1.1), batch)
    np.testing.assert_allclose(slopes, 3 * 1.1**2 * batch, rtol=1e-6)


def test_copies_that_are_done_cost_nothing() -> None:
    computed = []

    def iteration(limit: Array, state: Array, number: Array) -> Array:
        del number
        jax.debug.callback(lambda _: computed.append(1), state)
        return jnp.where(state < limit, state + 1, state)

    def count(limit: Array) -> Array:
        return iterate(lambda limit, state: state < limit, iteration, limit, jnp.int32(0))

    batch = jnp.where(jnp.arange(8 * CPU_SLOTS) % 8 == 0, 60, 2)
    actual = jax.jit(jax.vmap(count))(batch)
    jax.effects_barrier()
    np.testing.assert_array_equal(actual, batch)
    # Together they would take 60 turns of all. Here all take the 3 of two passes, and an eighth
    # takes the other 57.
    assert 0 < len(computed) <= (3 * 8 + 57) * CPU_SLOTS


def test_batches_divided_between_devices() -> None:
    """Copies stay on their device when ``jit`` divides a batch."""
    program = textwrap.dedent("""
        import jax, jax.numpy as jnp, numpy as np
        from jax.sharding import Mesh, NamedSharding, PartitionSpec
        from tests.execution.test_active_copies import limits, steps
        size = 6 * 16
        place = NamedSharding(Mesh(np.array(jax.devices()), ("copies",)), PartitionSpec("copies"))
        given = jax.device_put(jnp.asarray(limits(size)), place)
        program = jax.jit(jax.vmap(steps, (0, None))).lower(given, jnp.asarray(0.5)).compile()
        np.testing.assert_array_equal(program(given, jnp.asarray(0.5))["turns"], 2 * limits(size))
        assert len(jax.devices()) == 2
        assert "all-gather" not in program.as_text()
    """)
    environment = os.environ | {"JAX_NUM_CPU_DEVICES": "2"}
    subprocess.run([sys.executable, "-c", program], check=True, env=environment)
