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
