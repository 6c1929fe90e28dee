"""Functions of ``jax.numpy`` for pytrees of arrays."""

from typing import TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool

_Tree = TypeVar("_Tree")


def where(flag: Bool[Array, "..."], yes: _Tree, no: _Tree) -> _Tree:
    """The leaves of ``yes`` where ``flag`` holds, elsewhere those of ``no``."""
    return jax.tree.map(lambda a, b: jnp.where(flag, a, b), yes, no)
