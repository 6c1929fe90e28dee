"""Frames at nodes: how they stand, and how velocities of the vector coordinates move them."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.flexible.layout import Layout
from jaxccp.math import linear3, quaternion, safe
from jaxccp.math.linear3 import cross
from jaxccp.model.family import FrameMap


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class NodeMap(FrameMap):
    """J of frames that few velocities move: its columns for these alone."""

    jacobian: Float[Array, "nf w 6"]
    """Twist of each frame per velocity of its own."""
    layout: Layout = field(metadata={"static": True})
    frames: tuple[int, ...] = field(metadata={"static": True})
    """The body that each frame is."""
    bodies: int = field(metadata={"static": True})

    @property
    def count(self) -> int:
        return len(self.layout.free)

    def twists(self, v: Float[Array, " nv"]) -> Float[Array, "nb 6"]:
        own = jnp.append(v, 0.0)[self.layout.columns]
        whole = jnp.zeros((self.bodies, 6), v.dtype)
        return whole.at[self._frames].set(jnp.einsum("fwi,fw->fi", self.jacobian, own))

    def pull(self, wrench: Float[Array, "nb 6"]) -> Float[Array, " nv"]:
        own = jnp.einsum("fwi,fi->fw", self.jacobian, wrench[self._frames])
        return jnp.zeros(self.count + 1, wrench.dtype).at[self.layout.columns].add(own)[:-1]

    def along(
        self, rows: Float[Array, "n k w 6"], bodies: Array | np.ndarray
    ) -> Float[Array, "n w nv"]:
        # One more frame, which nothing moves, stands for all other bodies.
        jacobian = jnp.pad(self.jacobian, ((0, 1), (0, 0), (0, 0)))
        columns = np.pad(self.layout.columns, ((0, 1), (0, 0)), constant_values=self.count)
        frame = np.full(self.bodies, len(self.frames))
        frame[self._frames] = np.arange(len(self.frames))
        own = jnp.asarray(frame)[bodies]
        parts = jnp.einsum("nkwi,nkvi->nkvw", rows, jacobian[own])
        count, width = len(rows), rows.shape[2]
        whole = jnp.zeros((count, self.count + 1, width), rows.dtype)
        place = np.arange(count)[:, None, None], jnp.asarray(columns)[own]
        return whole.at[place].add(parts)[:, :-1].transpose(0, 2, 1)

    @property
    def _frames(self) -> np.ndarray:
        return np.array(self.frames, int)


def positions(layout: Layout, x: Float[Array, "n 3"]) -> Float[Array, "nf 3"]:
    """Return where the frames are."""
    if layout.between is None:
        return x[layout.frames]
    rows, weights = layout.between
    sums = jnp.einsum("mk,mkc->mc", jnp.asarray(weights, x.dtype), x[rows])
    return jnp.concatenate([x[layout.frames], sums])


def orientations(
    layout: Layout, reference: Float[Array, "n 3"], x: Float[Array, "n 3"]
) -> Float[Array, "nf 4"]:
    """Return the orientations of the frames: one along a single gradient has come from the identity
    by the smallest turn to where the gradient was in the reference, and from there to where it
    is."""
    straight = jnp.zeros((layout.count, 4), x.dtype).at[:, 0].set(1.0)
    if not layout.slopes:
        return straight
    return straight.at[: len(layout.frames)].set(_turned(layout, reference, x))


def _turned(
    layout: Layout, reference: Float[Array, "n 3"], x: Float[Array, "n 3"]
) -> Float[Array, "nn 4"]:
    """Orientations of the frames that gradients turn."""
    if len(layout.slopes) == 1:
        ((axis, rows),) = layout.slopes
        unit = jnp.broadcast_to(jnp.eye(3, dtype=x.dtype)[axis], (len(rows), 3))
        before = _unit(reference[rows])
        return quaternion.multiply(_turn(before, _unit(x[rows])), _turn(unit, before))
    axes = tuple(axis for axis, _ in layout.slopes)
    slopes = jnp.stack([x[rows] for _, rows in layout.slopes], axis=1)
    return jax.vmap(lambda own: quaternion.from_matrix(_facing(axes, own)))(slopes)


def node_map(layout: Layout, x: Float[Array, "n 3"], frames: np.ndarray, bodies: int) -> NodeMap:
    """J of the frames, which are the bodies ``frames`` among so many."""
    count, size = len(layout.frames), len(layout.slopes)
    linear = jnp.broadcast_to(jnp.pad(jnp.eye(3, dtype=x.dtype), ((0, 0), (0, 3))), (count, 3, 6))
    parts = [linear]
    if size == 1:
        own = x[layout.slopes[0][1]]
        square = jnp.sum(own * own, axis=1)[:, None, None]
        # ω = s × ṡ / s²: no spin about the gradient.
        parts.append(_angular(linear3.cross_matrix(own).transpose(0, 2, 1) / square))
    elif size == 2:
        axes = tuple(axis for axis, _ in layout.slopes)
        slopes = jnp.stack([x[own] for _, own in layout.slopes], axis=1)
        parts.append(_angular(jax.vmap(lambda own: _spins(axes, own))(slopes)))
    twists = jnp.concatenate(parts, axis=1)
    if layout.between is not None:
        weights = jnp.asarray(layout.between[1], x.dtype)
        sums = jnp.einsum("mk,cd->mkcd", weights, jnp.eye(3, 6, dtype=x.dtype))
        sums = sums.reshape(len(weights), -1, 6)
        width = layout.columns.shape[1]
        twists = jnp.concatenate(
            [jnp.pad(part, ((0, 0), (0, width - part.shape[1]), (0, 0))) for part in (twists, sums)]
        )
    return NodeMap(twists, layout, tuple(frames.tolist()), bodies)


def _angular(spin: Float[Array, "nf w 3"]) -> Float[Array, "nf w 6"]:
    return jnp.pad(spin, ((0, 0), (0, 0), (3, 0)))


def _unit(v: Float[Array, "*n 3"]) -> Float[Array, "*n 3"]:
    return safe.normalize(v, jnp.asarray([1.0, 0.0, 0.0], v.dtype))


def _turn(a: Float[Array, "n 3"], b: Float[Array, "n 3"]) -> Float[Array, "n 4"]:
    """The smallest rotation from unit vectors to others; any by π between opposite ones."""
    scalar = 1.0 + jnp.sum(a * b, axis=-1, keepdims=True)
    opposite = scalar < 1e-12
    other = jnp.where(jnp.abs(a[:, :1]) < 0.8, jnp.eye(3, dtype=a.dtype)[0], jnp.eye(3)[1])
    vector = jnp.where(opposite, cross(a, other.astype(a.dtype)), cross(a, b))
    return quaternion.normalize(jnp.concatenate([scalar, vector], axis=-1))


def _facing(axes: tuple[int, ...], slopes: Float[Array, "2 3"]) -> Float[Array, "3 3"]:
    """A rotation matrix by Gram and Schmidt: the column of the first axis is along the first."""
    first, second = axes
    a = _unit(slopes[0])
    b = _unit(slopes[1] - (a @ slopes[1]) * a)
    sign = 1.0 if (second - first) % 3 == 1 else -1.0
    columns = {first: a, second: b, 3 - first - second: sign * cross(a, b)}
    return jnp.stack([columns[i] for i in range(3)], axis=1)


def _spins(axes: tuple[int, ...], slopes: Float[Array, "2 3"]) -> Float[Array, "6 3"]:
    """ω of each component of the slopes' rate."""
    facing = _facing(axes, slopes)
    rate = jax.jacfwd(lambda own: _facing(axes, own))(slopes)
    skew = jnp.einsum("ijab,kj->abik", rate, facing)
    return jnp.stack([skew[..., 2, 1], skew[..., 0, 2], skew[..., 1, 0]], axis=-1).reshape(6, 3)
