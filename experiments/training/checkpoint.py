"""Save any pytree of arrays and random keys with orbax, and keep the newest checkpoint only."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp

Tree = TypeVar("Tree")


class Checkpoints:
    """Numbered checkpoints in a folder, of which the newest is kept."""

    def __init__(self, folder: Path) -> None:
        options = ocp.CheckpointManagerOptions(max_to_keep=1, enable_async_checkpointing=False)
        self.manager = ocp.CheckpointManager(folder.resolve(), options=options)

    @property
    def latest(self) -> int | None:
        return self.manager.latest_step()

    def save(self, number: int, tree: object) -> None:
        self.manager.save(number, args=ocp.args.StandardSave(_kept(jax.tree.leaves(tree))))

    def restore(self, like: Tree) -> Tree:
        """Return the newest checkpoint, as a pytree with the structure and the types of
        ``like``."""
        leaves, structure = jax.tree.flatten(like)
        shapes = ocp.args.StandardRestore(_kept(leaves))
        stored: Iterator[Any] = iter(self.manager.restore(self.latest, args=shapes))
        restored = [_as(leaf, next(stored)) if leaf.size else leaf for leaf in leaves]
        return jax.tree.unflatten(structure, restored)


def _kept(leaves: list[jax.Array]) -> list[np.ndarray]:
    """Return the leaves that orbax can store: arrays with entries, with random keys as plain
    data."""
    return [np.asarray(_plain(leaf)) for leaf in leaves if leaf.size]


def _is_key(leaf: jax.Array) -> bool:
    return jnp.issubdtype(jnp.asarray(leaf).dtype, jax.dtypes.prng_key)


def _plain(leaf: jax.Array) -> jax.Array:
    return jax.random.key_data(leaf) if _is_key(leaf) else leaf


def _as(like: jax.Array, value: np.ndarray) -> jax.Array:
    array = jnp.asarray(value)
    return jax.random.wrap_key_data(array) if _is_key(like) else array
