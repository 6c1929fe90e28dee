"""Branches and products of short vectors that are compiled differently under ``vmap``."""

from collections.abc import Callable
from typing import TypeVar, cast

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Bool, Float

from jaxccp.execution import trees

_Tree = TypeVar("_Tree")

LANES = 8
"""Number of partial sums of an inner product, which a processor adds up side by side."""


def when(flag: Bool[Array, ""], change: Callable[[], _Tree], otherwise: _Tree) -> _Tree:
    """Return ``change()`` if ``flag`` is true, else ``otherwise``.

    Under ``vmap``, ``change`` is computed for the whole batch if any flag is true, and skipped if
    all flags are false.

    Args:
        flag: whether to return the result of ``change``.
        change: a function that returns a pytree with the structure of ``otherwise``.
        otherwise: the result if ``flag`` is false.
    """
    return lax.cond(anywhere(flag), lambda: _select(flag, change(), otherwise), lambda: otherwise)


@custom_vmap
def anywhere(flag: Bool[Array, ""]) -> Bool[Array, ""]:
    """Return the flag; under ``vmap``, whether any flag of the batch is true."""
    return flag


@anywhere.def_vmap
def _(size: int, batched: list[bool], flag: Array) -> tuple[Array, bool]:
    del size, batched
    return anywhere(jnp.any(flag)), False


@custom_vmap
def _select(flag: Bool[Array, ""], yes: _Tree, no: _Tree) -> _Tree:
    """Return ``yes``. Under ``vmap``, return ``no`` for the copies whose flag is false."""
    del flag, no
    return yes


@_select.def_vmap
def _(size: int, batched: list, flag: Array, yes: _Tree, no: _Tree) -> tuple[_Tree, _Tree]:
    axes = jax.tree.map(lambda mapped: 0 if mapped else None, tuple(batched))

    selected = jax.vmap(trees.where, axes, axis_size=size)(flag, yes, no)
    return selected, jax.tree.map(lambda _: True, selected)


def inner(a: Float[Array, " n"], b: Float[Array, " n"]) -> Float[Array, ""]:
    """Return the inner product aᵀ b.

    Under ``vmap`` XLA fuses it with the operations around it. A batched ``jnp.dot`` would call a
    library for each vector of the batch.
    """
    return cast(Array, _inner(a, b))


@custom_vmap
def _inner(a: Array, b: Array) -> Array:
    """Return aᵀ b; its rule for ``vmap`` adds the products in :data:`LANES` partial sums."""
    return a @ b


@_inner.def_vmap
def _(size: int, batched: list[bool], a: Array, b: Array) -> tuple[Array, bool]:
    del size, batched
    terms = a * b
    length = -(-terms.shape[-1] // LANES)
    rest = length * LANES - terms.shape[-1]
    terms = jnp.pad(terms, [(0, 0)] * (terms.ndim - 1) + [(0, rest)])
    parts = jnp.sum(terms.reshape(*terms.shape[:-1], length, LANES), axis=-2)
    # Added one by one: a sum would be an additional loop.
    return sum((parts[..., i] for i in range(1, LANES)), parts[..., 0]), True
