"""Functions of ``jax.numpy`` for pytrees of arrays."""

from typing import TypeVar

import jax
import jax.numpy as jnp
from jax.core import Tracer
from jaxtyping import Array, Bool, PyTree

_Tree = TypeVar("_Tree")


def where(flag: Bool[Array, "..."], yes: _Tree, no: _Tree) -> _Tree:
    """Return a pytree with the leaves of ``yes`` where ``flag`` is true, and those of ``no``
    elsewhere.

    Args:
        flag: flags, broadcast against each leaf.
        yes: a pytree of arrays.
        no: a pytree of the same structure.
    """
    return jax.tree.map(lambda a, b: jnp.where(flag, a, b), yes, no)


def is_traced(tree: PyTree) -> bool:
    """Return whether any leaf is a tracer, as under ``jit``, ``vmap`` or ``grad``."""
    return any(isinstance(leaf, Tracer) for leaf in jax.tree.leaves(tree))


def merged(first: _Tree, second: _Tree) -> _Tree:
    """Return ``first`` with each None replaced by what ``second`` has in its place."""
    none = {"is_leaf": lambda leaf: leaf is None}
    return jax.tree.map(lambda a, b: b if a is None else a, first, second, **none)


def depending_on(tree: _Tree, other: PyTree) -> _Tree:
    """Return ``tree`` with the same values, but formally dependent on all floats in ``other``.

    JAX batches and differentiates the body of a loop once more for every part of the carry that
    turns out to be mapped, or to have a derivative, after the first pass. If all of the first carry
    depends on what the loop depends on, one pass is enough.

    Args:
        tree: a pytree of arrays, such as the first carry of a loop.
        other: a pytree of arrays.
    """
    never = jnp.zeros((), bool)
    first = [jnp.ravel(x)[0] for x in map(jnp.asarray, jax.tree.leaves(other)) if x.size]
    reals = [x for x in first if jnp.issubdtype(x.dtype, jnp.floating)]
    zero = sum((jnp.where(never, x, 0.0) for x in reals), jnp.zeros(()))

    def tied(x: Array) -> Array:
        return x | (zero > 1.0) if x.dtype == bool else x + zero.astype(x.dtype)

    return jax.tree.map(tied, tree)
