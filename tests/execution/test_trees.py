"""Test formal dependence: the same values, and loops that are transformed in one pass."""

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array, lax

from jaxccp.execution import trees

CARRY = {
    "real": np.array([1.5, -0.0]),
    "single": np.float32(2.0),
    "count": np.int32(3),
    "flag": np.array([True, False]),
}


def test_values_and_types_are_kept_whatever_the_others_are() -> None:
    tied = trees.depending_on(CARRY, (np.array([np.inf, 1.0]), np.nan, 7, np.zeros(0)))
    for name, expected in CARRY.items():
        assert tied[name].dtype == np.asarray(expected).dtype
        np.testing.assert_array_equal(tied[name], expected)


def test_all_of_it_is_mapped_and_has_a_derivative_of_zero() -> None:
    numbers = jnp.arange(3.0)
    tied = jax.vmap(lambda x: trees.depending_on(CARRY, x), out_axes=0)(numbers)
    assert tied["count"].shape == (3,) and tied["flag"].shape == (3, 2)
    slope = jax.jacfwd(lambda x: trees.depending_on(CARRY, x)["real"])(1.0)
    np.testing.assert_array_equal(slope, [0.0, 0.0])


def test_the_body_of_a_loop_is_batched_once() -> None:
    """Formal dependence has the body of a loop batched once.

    Without it, it is batched once more when half of the carry turns out to be mapped.
    """
    passes: list[int] = []

    @jax.custom_batching.custom_vmap
    def counted(x: Array) -> Array:
        return x

    @counted.def_vmap
    def _(size: int, batched: list[bool], x: Array) -> tuple[Array, bool]:
        passes.append(size)
        return x, batched[0]

    def run(x: Array, tie: bool) -> Array:
        start = jnp.zeros(()), jnp.zeros(())
        start = trees.depending_on(start, x) if tie else start
        end, _ = lax.scan(lambda c, _: ((c[1], counted(c[0] + x)), None), start, None, length=3)
        return end[1]

    counts = []
    for tie in (False, True):
        passes.clear()
        values = jax.vmap(lambda x, tie=tie: run(x, tie))(jnp.arange(4.0))
        np.testing.assert_array_equal(values, 2.0 * jnp.arange(4.0))
        counts.append(len(passes))
    assert counts[1] < counts[0]
