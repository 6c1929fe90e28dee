"""Branches that stay branches under ``vmap``, where ``lax.cond`` alone becomes both of them."""

from collections.abc import Callable
from typing import TypeVar

import jax
import jax.numpy as jnp
from jax import lax
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Bool

from jaxccp.math import trees

_Tree = TypeVar("_Tree")


def when(flag: Bool[Array, ""], change: Callable[[], _Tree], otherwise: _Tree) -> _Tree:
    """``change()`` where ``flag`` holds, elsewhere ``otherwise``.

    Over a batch ``change`` is computed for all if ``flag`` holds for any, else for none.
    """
    return lax.cond(_anywhere(flag), lambda: _chosen(flag, change(), otherwise), lambda: otherwise)


@custom_vmap
def _anywhere(flag: Bool[Array, ""]) -> Bool[Array, ""]:
    """The flag; over a batch, whether any is set."""
    return flag


@_anywhere.def_vmap
def _(size: int, batched: list[bool], flag: Array) -> tuple[Array, bool]:
    del size, batched
    return _anywhere(jnp.any(flag)), False


@custom_vmap
def _chosen(flag: Bool[Array, ""], yes: _Tree, no: _Tree) -> _Tree:
    """``yes``, as the branch is taken; over a batch ``no`` for those whose flag is not set."""
    del flag, no
    return yes


@_chosen.def_vmap
def _(size: int, batched: list, flag: Array, yes: _Tree, no: _Tree) -> tuple[_Tree, _Tree]:
    axes = jax.tree.map(lambda mapped: 0 if mapped else None, tuple(batched))

    chosen = jax.vmap(trees.where, axes, axis_size=size)(flag, yes, no)
    return chosen, jax.tree.map(lambda _: True, chosen)
