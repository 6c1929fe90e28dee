"""Frames at nodes: their orientations, and their twists from the velocities of the vector
coordinates."""

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
    """The Jacobian of frames, stored as the few columns that are not zero for each frame."""

    jacobian: Float[Array, "nf w 6"]
    """Twist of each frame per unit of each velocity that moves it."""
    layout: Layout = field(metadata={"static": True})
    """The layout, with the velocities that move each frame."""
    frames: tuple[int, ...] = field(metadata={"static": True})
    """Index of each frame among the bodies."""
    bodies: int = field(metadata={"static": True})
    """Number of bodies."""

    @property
    def count(self) -> int:
        return len(self.layout.free)

    def twists(self, v: Float[Array, " nv"]) -> Float[Array, "nb 6"]:
        local = jnp.append(v, 0.0)[self.layout.columns]
        full = jnp.zeros((self.bodies, 6), v.dtype)
        return full.at[self._frames].set(jnp.einsum("fwi,fw->fi", self.jacobian, local))

    def pull(self, wrench: Float[Array, "nb 6"]) -> Float[Array, " nv"]:
        local = jnp.einsum("fwi,fi->fw", self.jacobian, wrench[self._frames])
        return jnp.zeros(self.count + 1, wrench.dtype).at[self.layout.columns].add(local)[:-1]

    def project_rows(
        self, rows: Float[Array, "n k w 6"], bodies: Array | np.ndarray
    ) -> Float[Array, "n w nv"]:
        # One more frame, which nothing moves, stands for all other bodies.
        jacobian = jnp.pad(self.jacobian, ((0, 1), (0, 0), (0, 0)))
        columns = np.pad(self.layout.columns, ((0, 1), (0, 0)), constant_values=self.count)
        frame = np.full(self.bodies, len(self.frames))
        frame[self._frames] = np.arange(len(self.frames))
        frame_index = jnp.asarray(frame)[bodies]
        parts = jnp.einsum("nkwi,nkvi->nkvw", rows, jacobian[frame_index])
        count, width = len(rows), rows.shape[2]
        full = jnp.zeros((count, self.count + 1, width), rows.dtype)
        indices = np.arange(count)[:, None, None], jnp.asarray(columns)[frame_index]
        return full.at[indices].add(parts)[:, :-1].transpose(0, 2, 1)

    @property
    def _frames(self) -> np.ndarray:
        return np.array(self.frames, int)


def positions(layout: Layout, x: Float[Array, "n 3"]) -> Float[Array, "nf 3"]:
    """Return the positions of the frames [m].

    Args:
        layout: the layout of the body.
        x: vector coordinates of the body.
    """
    if layout.between is None:
        return x[layout.frames]
    rows, weights = layout.between
    sums = jnp.einsum("mk,mkc->mc", jnp.asarray(weights, x.dtype), x[rows])
    return jnp.concatenate([x[layout.frames], sums])


def orientations(
    layout: Layout, reference: Float[Array, "n 3"], x: Float[Array, "n 3"]
) -> Float[Array, "nf 4"]:
    """Return the orientations of the frames, as quaternions (w, x, y, z).

    The orientation of a frame with a single gradient is the product of two smallest rotations: from
    the frame's axis to the direction that the gradient has in ``reference``, and from there to its
    present direction. Where the gradient leaves a plane, this orientation spins about it, which
    :func:`node_map` does not count: a node does not resist turning about its only gradient, so a
    torque about this must not bend the body.

    Args:
        layout: the layout of the body.
        reference: vector coordinates at time 0, :attr:`NodalFamily.position`; not those of the
            unstrained body.
        x: vector coordinates.
    """
    identity = jnp.zeros((layout.count, 4), x.dtype).at[:, 0].set(1.0)
    if not layout.slopes:
        return identity
    return identity.at[: len(layout.frames)].set(_gradient_orientations(layout, reference, x))


def _gradient_orientations(
    layout: Layout, reference: Float[Array, "n 3"], x: Float[Array, "n 3"]
) -> Float[Array, "nn 4"]:
    """Return the orientations of the frames that gradients rotate."""
    if len(layout.slopes) == 1:
        ((axis, rows),) = layout.slopes
        unit = jnp.broadcast_to(jnp.eye(3, dtype=x.dtype)[axis], (len(rows), 3))
        before = _unit(reference[rows])
        return quaternion.multiply(
            _smallest_rotation(before, _unit(x[rows])), _smallest_rotation(unit, before)
        )
    axes = tuple(axis for axis, _ in layout.slopes)
    slopes = jnp.stack([x[rows] for _, rows in layout.slopes], axis=1)
    return jax.vmap(lambda pair: quaternion.from_matrix(_gram_schmidt(axes, pair)))(slopes)


def node_map(layout: Layout, x: Float[Array, "n 3"], frames: np.ndarray, bodies: int) -> NodeMap:
    """Return the Jacobian of the frames; those with a single gradient have no angular velocity
    about it.

    Args:
        layout: the layout of the body.
        x: vector coordinates of the body.
        frames: index of each frame among the bodies.
        bodies: number of bodies.
    """
    count, size = len(layout.frames), len(layout.slopes)
    linear = jnp.broadcast_to(jnp.pad(jnp.eye(3, dtype=x.dtype), ((0, 0), (0, 3))), (count, 3, 6))
    parts = [linear]
    if size == 1:
        gradients = x[layout.slopes[0][1]]
        square = jnp.sum(gradients * gradients, axis=1)[:, None, None]
        # ω = s × ṡ / s²: no spin about the gradient.
        parts.append(_angular(linear3.cross_matrix(gradients).transpose(0, 2, 1) / square))
    elif size == 2:
        axes = tuple(axis for axis, _ in layout.slopes)
        slopes = jnp.stack([x[rows] for _, rows in layout.slopes], axis=1)
        parts.append(_angular(jax.vmap(lambda pair: _spins(axes, pair))(slopes)))
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
    """Return twists without linear velocity."""
    return jnp.pad(spin, ((0, 0), (0, 0), (3, 0)))


def _unit(v: Float[Array, "*n 3"]) -> Float[Array, "*n 3"]:
    """Return unit vectors along ``v``; the x axis if ``v`` is zero."""
    return safe.normalize(v, jnp.asarray([1.0, 0.0, 0.0], v.dtype))


def _smallest_rotation(a: Float[Array, "n 3"], b: Float[Array, "n 3"]) -> Float[Array, "n 4"]:
    """Return the smallest rotation from the unit vectors ``a`` to ``b``; for opposite ones, a
    rotation by π about some axis."""
    scalar = 1.0 + jnp.sum(a * b, axis=-1, keepdims=True)
    opposite = scalar < 1e-12
    helper = jnp.where(jnp.abs(a[:, :1]) < 0.8, jnp.eye(3, dtype=a.dtype)[0], jnp.eye(3)[1])
    vector = jnp.where(opposite, cross(a, helper.astype(a.dtype)), cross(a, b))
    return quaternion.normalize(jnp.concatenate([scalar, vector], axis=-1))


def _gram_schmidt(axes: tuple[int, ...], slopes: Float[Array, "2 3"]) -> Float[Array, "3 3"]:
    """Return a rotation matrix from two vectors by the Gram–Schmidt process.

    The first vector gives the column of the first axis exactly.
    """
    first, second = axes
    a = _unit(slopes[0])
    b = _unit(slopes[1] - (a @ slopes[1]) * a)
    sign = 1.0 if (second - first) % 3 == 1 else -1.0
    columns = {first: a, second: b, 3 - first - second: sign * cross(a, b)}
    return jnp.stack([columns[i] for i in range(3)], axis=1)


def _spins(axes: tuple[int, ...], slopes: Float[Array, "2 3"]) -> Float[Array, "6 3"]:
    """Return the angular velocity [rad/s] per unit rate of each component of the two slopes."""
    rotation = _gram_schmidt(axes, slopes)
    rate = jax.jacfwd(lambda pair: _gram_schmidt(axes, pair))(slopes)
    skew = jnp.einsum("ijab,kj->abik", rate, rotation)
    return jnp.stack([skew[..., 2, 1], skew[..., 0, 2], skew[..., 1, 0]], axis=-1).reshape(6, 3)
