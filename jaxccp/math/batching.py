"""A branch that is skipped under ``vmap`` too, where ``lax.cond`` computes both of its branches."""

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
    """``change()`` where ``flag`` is true, elsewhere ``otherwise``.

    Under ``vmap`` it is computed for the whole batch if any flag is true, and not at all if none
    is.

    Args:
        flag: which of the two.
        change: computes a pytree of the structure of ``otherwise``.
        otherwise: the result where ``flag`` is false.
    """
    return lax.cond(anywhere(flag), lambda: _chosen(flag, change(), otherwise), lambda: otherwise)


@custom_vmap
def anywhere(flag: Bool[Array, ""]) -> Bool[Array, ""]:
    """The flag; under ``vmap``, whether it is set anywhere in the batch."""
    return flag


@anywhere.def_vmap
def _(size: int, batched: list[bool], flag: Array) -> tuple[Array, bool]:
    del size, batched
    return anywhere(jnp.any(flag)), False


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
