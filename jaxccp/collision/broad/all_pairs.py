"""No broad phase: every pair is passed to its kernel."""

import jax.numpy as jnp
import numpy as np

from jaxccp.collision.broad.candidates import Candidates
from jaxccp.collision.manifold import Geometry
from jaxccp.model.model import Model
from jaxccp.model.pair_group import PairGroup


def all_pairs(model: Model, placed: Geometry, group: PairGroup) -> Candidates:
    """Return all pairs of the group as candidates.

    Args:
        model: the shapes.
        placed: shapes in the world.
        group: the pairs.
    """
    return Candidates(np.arange(len(group.first), dtype=np.int32), None, None)


def all_pairs_counted(model: Model, placed: Geometry, group: PairGroup) -> Candidates:
    """Return all pairs of the group as candidates, for a broad phase whose capacity holds them all.

    It does not search: the capacity that it needed is 0 pairs to test, and all pairs to pass on.

    Args:
        model: the shapes.
        placed: shapes in the world.
        group: the pairs.
    """
    needed = jnp.array([0, len(group.first)], jnp.int32)
    return all_pairs(model, placed, group)._replace(needed=needed)
