"""Test functions of one copy for a batch, in chunks.

Those on several devices are in tests/dynamics/rollouts/batch_on_devices.
"""

import os
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.execution.devices import CPU_CHUNK, chunked_vmap, spread, use_all_cores


@pytest.mark.parametrize("size", [1, 3, CPU_CHUNK, CPU_CHUNK + 1, 3 * CPU_CHUNK - 1])
def test_spread_is_vmap(size: int) -> None:
    x = {"a": jnp.arange(2.0 * size).reshape(size, 2), "b": jnp.arange(size)}

    def function(member: dict, shared: jax.Array) -> tuple[jax.Array, jax.Array]:
        return member["a"] @ shared, member["b"] + 1

    actual = jax.jit(lambda x, y: spread(function, x, y, size))(x, jnp.array([1.0, -2.0]))
    np.testing.assert_array_equal(actual[0], np.asarray(x["a"]) @ [1.0, -2.0])
    np.testing.assert_array_equal(actual[1], np.arange(size) + 1)


@pytest.mark.parametrize("size", [1, CPU_CHUNK + 1])
def test_chunked_vmap_is_vmap(size: int) -> None:
    """A chunked vmap agrees with vmap, in values and gradients.

    Some arguments have parts for each copy, some may be missing, and some are random keys.
    """
    scales = {"each": jnp.linspace(1.0, 2.0, size), "all": jnp.array(3.0), "none": None}
    axes = ({"each": 0, "all": None, "none": None}, 0, 0, None)
    keys = jax.random.split(jax.random.key(0), size)
    x = jnp.linspace(-1.0, 1.0, 2 * size).reshape(size, 2)

    def function(scales: dict, x: jax.Array, key: jax.Array, shift: None) -> jax.Array:
        assert shift is None and scales["none"] is None
        return scales["each"] * scales["all"] * jnp.sin(x) + jax.random.normal(key, (2,))

    def loss(mapped: Callable, scales: dict, x: jax.Array) -> jax.Array:
        return jnp.sum(jnp.arange(1.0, size + 1) @ mapped(scales, x, keys, None) ** 2)

    both = [chunked_vmap(function, axes), jax.vmap(function, axes)]
    actual, expected = (jax.jit(mapped)(scales, x, keys, None) for mapped in both)
    np.testing.assert_allclose(actual, expected, rtol=1e-14)
    gradients = (jax.jit(jax.grad(partial(loss, mapped), (0, 1)))(scales, x) for mapped in both)
    for chunked, plain in zip(*map(jax.tree.leaves, gradients), strict=True):
        np.testing.assert_allclose(chunked, plain, rtol=1e-13)


@pytest.mark.parametrize("size", [1, 2])
def test_results_may_be_python_numbers(size: int) -> None:
    def function(x: jax.Array) -> dict[str, Any]:
        return {"next": x + 1, "sure": True, "many": 2, "part": 0.5, "table": np.ones(2)}

    actual, expected = (mapped(function)(jnp.arange(size)) for mapped in (chunked_vmap, jax.vmap))
    jax.tree.map(np.testing.assert_array_equal, actual, expected)
    assert jax.tree.map(jnp.result_type, actual) == jax.tree.map(jnp.result_type, expected)


@pytest.mark.parametrize(
    ("axes", "arguments", "message"),
    [
        ((0, 0), (jnp.ones(3),), "2 entries for 1 arguments"),
        (1, (jnp.ones((3, 3)),), r"0 and None, not \[1\]"),
        (0, (jnp.ones(3), jnp.ones(4)), r"one length .*\[\(3,\), \(4,\)\]"),
        (0, (jnp.ones(3), 1.0), "one length"),
        (0, (jnp.ones((0, 3)),), "at least 1"),
        (None, (jnp.ones(3),), r"one length .*\[\]"),
    ],
)
def test_wrong_axes(axes: Any, arguments: tuple, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        chunked_vmap(jnp.add, axes)(*arguments)


@pytest.mark.skipif(jax.default_backend() != "cpu", reason="other devices run their share whole")
def test_loops_wait_for_the_slowest_of_their_chunk_only() -> None:
    """A loop waits for the slowest copy of its chunk only.

    In two chunks, of which one has short loops only, the body runs 5 + 50 times, not 2 · 50.
    """
    runs = []

    def counted(i: np.ndarray) -> np.ndarray:
        runs.append(np.shape(i))
        return np.asarray(i) + 1

    def count(count: jax.Array, _: None) -> jax.Array:
        def body(i: jax.Array) -> jax.Array:
            return jax.pure_callback(counted, i, i, vmap_method="broadcast_all")

        return jax.lax.while_loop(lambda i: i < count, body, jnp.int32(0))

    size = 2 * CPU_CHUNK
    counts = jnp.where(jnp.arange(size) < CPU_CHUNK, 5, 50).at[0].set(3)
    actual = jax.jit(lambda counts: spread(count, counts, None, size))(counts)
    np.testing.assert_array_equal(actual, counts)
    assert runs == [(CPU_CHUNK,)] * 55


def test_all_cores_are_devices() -> None:
    program = (
        "import jaxccp, jax; n = jaxccp.use_all_cores(); assert jaxccp.use_all_cores() == n; "
        "print(n, len(jax.devices('cpu')))"
    )
    cores = getattr(os, "sched_getaffinity", lambda _: range(os.cpu_count() or 1))(0)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.split() == [str(len(cores))] * 2, done.stderr


def test_all_cores_too_late() -> None:
    jax.devices()
    with pytest.raises(RuntimeError, match=r"right after the imports.*JAX_NUM_CPU_DEVICES="):
        use_all_cores()
