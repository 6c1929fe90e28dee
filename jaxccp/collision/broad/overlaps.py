"""A comparison of all pairs of axis-aligned bounding boxes: overlapping pairs go to the kernel."""

import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxccp.collision.broad.all_pairs import all_pairs_counted
from jaxccp.collision.broad.candidates import Candidates, boxes, packed
from jaxccp.collision.manifold import Geometry
from jaxccp.model.model import Model
from jaxccp.model.pair_group import PairGroup


def overlaps(model: Model, placed: Geometry, group: PairGroup) -> Candidates:
    """Return the pairs whose boxes overlap, with a fixed capacity.

    It takes O(n²) for n shapes, but little time for a pair. It suits kernels that cost much more
    than a comparison of boxes, such as those of boxes and hulls.

    Args:
        model: the shapes.
        placed: shapes in the world.
        group: the pairs, and the capacities for them.
    """
    if group.room is None or group.room[1] >= len(group.first):
        return all_pairs_counted(model, placed, group)
    members = np.unique(np.concatenate([group.first, group.second]))
    centre, half = lax.stop_gradient(boxes(model, placed, members))
    a, b = (np.searchsorted(members, side) for side in (group.first, group.second))
    overlapping = jnp.all(jnp.abs(centre[a] - centre[b]) <= half[a] + half[b], axis=1)
    rows, real, total = packed(overlapping, np.arange(len(a), dtype=np.int32), group.room[1])
    return Candidates(rows, real, jnp.stack([jnp.zeros_like(total), total]))
