"""Unit quaternions, stored (w, x, y, z); rotations act on column vectors, world from body."""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.execution.jitted import jitted
from jaxccp.math import safe
from jaxccp.math.components import components, from_components

PRODUCT = np.array(
    [
        [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]],
        [[0, -1, 0, 0], [1, 0, 0, 0], [0, 0, 0, -1], [0, 0, 1, 0]],
        [[0, 0, -1, 0], [0, 0, 0, 1], [1, 0, 0, 0], [0, -1, 0, 0]],
        [[0, 0, 0, -1], [0, 0, -1, 0], [0, 1, 0, 0], [1, 0, 0, 0]],
    ]
)
"""Four matrices: those of multiplication from the left by 1, i, j and k."""


@jitted
def multiply(p: Float[Array, "*b 4"], q: Float[Array, "*b 4"]) -> Float[Array, "*b 4"]:
    """Return the Hamilton product: the rotation ``q`` followed by ``p``."""
    # By components: XLA compiles one loop for this and for its transpose, but many for cross
    # products.
    a, b, c, d = components(p)
    w, x, y, z = components(q)
    parts = (
        a * w - b * x - c * y - d * z,
        a * x + b * w + c * z - d * y,
        a * y - b * z + c * w + d * x,
        a * z + b * y - c * x + d * w,
    )
    return from_components(parts)


def conjugate(q: Float[Array, "*b 4"]) -> Float[Array, "*b 4"]:
    """Return the inverse rotation of a unit quaternion."""
    return q * jnp.asarray([1.0, -1.0, -1.0, -1.0], q.dtype)


def normalize(q: Float[Array, "*b 4"]) -> Float[Array, "*b 4"]:
    """Return ``q / ‖q‖``; the identity where ``q`` is zero."""
    return safe.normalize(q, jnp.asarray([1.0, 0.0, 0.0, 0.0], q.dtype))


@jitted
def rotate(q: Float[Array, "*b 4"], v: Float[Array, "*b 3"]) -> Float[Array, "*b 3"]:
    """Rotate the vector ``v`` by ``q``."""
    w, x, y, z = components(q)
    a, b, c = components(v)
    # v + 2 w (u × v) + 2 u × (u × v), u = (x, y, z)
    d, e, f = 2 * (y * c - z * b), 2 * (z * a - x * c), 2 * (x * b - y * a)
    parts = (
        a + w * d + y * f - z * e,
        b + w * e + z * d - x * f,
        c + w * f + x * e - y * d,
    )
    return from_components(parts)


@jitted
def to_matrix(q: Float[Array, "*b 4"]) -> Float[Array, "*b 3 3"]:
    """Return the rotation matrix of a unit quaternion."""
    w, x, y, z = components(q)
    rows = [
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ]
    return jnp.stack([jnp.stack(row, axis=-1) for row in rows], axis=-2)


def from_matrix(rotation: Float[Array, "3 3"]) -> Float[Array, "4"]:
    """Return the unit quaternion of a rotation matrix, with its largest component positive
    (Shepperd, J. Guidance and Control 1, 1978)."""
    r, trace = rotation, jnp.trace(rotation)
    off = [r[2, 1] - r[1, 2], r[0, 2] - r[2, 0], r[1, 0] - r[0, 1]]
    rows = [[1.0 + trace, *off]]
    for i in range(3):
        symmetric_part = [r[i, j] + r[j, i] for j in range(3)]
        symmetric_part[i] = 1.0 + 2.0 * r[i, i] - trace
        rows.append([off[i], *symmetric_part])
    table = jnp.stack([jnp.stack(row) for row in rows])
    largest = jnp.argmax(jnp.diagonal(table))
    return normalize(table[largest])


@jitted
def exp(rotation: Float[Array, "*b 3"]) -> Float[Array, "*b 4"]:
    """Return the quaternion of the rotation vector ``rotation`` [rad]; exact and smooth at zero."""
    square = jnp.sum(rotation * rotation, axis=-1, keepdims=True)
    small = square < 1e-8
    angle = jnp.sqrt(jnp.where(small, 1.0, square))
    sinc = jnp.where(small, 0.5 - square / 48.0, jnp.sin(0.5 * angle) / angle)
    cosine = jnp.where(small, 1.0 - square / 8.0, jnp.cos(0.5 * angle))
    return jnp.concatenate([cosine, sinc * rotation], axis=-1)


@jitted
def log(q: Float[Array, "*b 4"]) -> Float[Array, "*b 3"]:
    """Return the rotation vector [rad] of a unit quaternion, of length π at most; smooth at the
    identity."""
    q = jnp.where(q[..., :1] < 0, -q, q)
    w, v = q[..., :1], q[..., 1:]
    square = jnp.sum(v * v, axis=-1, keepdims=True)
    small = square < 1e-8
    sine, cosine = jnp.sqrt(jnp.where(small, 1.0, square)), jnp.where(small, w, 1.0)
    series = 2.0 / cosine * (1.0 - square / (3.0 * cosine * cosine))
    return jnp.where(small, series, 2.0 * jnp.arctan2(sine, w) / sine) * v


def angle(p: Float[Array, "*b 4"], q: Float[Array, "*b 4"]) -> Float[Array, "*b"]:
    """Return the angle [rad, 0..π] of the rotation that takes ``p`` to ``q``."""
    difference = multiply(conjugate(p), q)
    return 2.0 * jnp.arctan2(safe.norm(difference[..., 1:]), jnp.abs(difference[..., 0]))
