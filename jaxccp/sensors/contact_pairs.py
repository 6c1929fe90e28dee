"""Contact sensors: data of the contacts between two groups of shapes."""

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.math import quaternion
from jaxccp.math.linear3 import cross
from jaxccp.math.safe import norm
from jaxccp.sensors.reading import Index, Reading
from jaxccp.sensors.sensor_scope import ContactSelection
from jaxccp.sensors.zone import contains

FIELDS = {"found": 1, "force": 3, "torque": 3, "dist": 1, "pos": 3, "normal": 3, "tangent": 3}
"""Fields of a contact sensor and their lengths, in MuJoCo's order."""
CHOICES = ("none", "mindist", "maxforce", "netforce")
"""Ways in which contact sensors reduce many contacts, by MuJoCo's numbers."""


def contacts(r: Reading, i: Index) -> Float[Array, "1 k"]:
    """Return the data of one contact sensor: the selected fields of its first ``count`` contacts,
    zeros in place of missing ones.

    The fields are ``found``, the number of matching contacts; ``force`` [N] and ``torque`` [N m] on
    the body to which the normal points, in the axes of the contact (normal, tangents), or in world
    axes for a ``"netforce"``; ``dist`` [m]; ``pos`` [m], ``normal`` and ``tangent``, world.

    Args:
        r: inputs of the sensors.
        i: index of the sensor, one entry.
    """
    selection = r.contact_selections[i[0]]
    matched, sign = _matched(r, selection, i)
    rows = (
        _net_row(r, matched, sign)
        if selection.choice == "netforce"
        else _contact_rows(r, matched, sign)
    )
    data = jnp.concatenate([rows[name] for name in selection.data], axis=1)
    if selection.choice != "netforce":
        strength = norm(r.contacts.force)
        order = {"mindist": r.contacts.gap, "maxforce": -strength}.get(
            selection.choice, jnp.zeros_like(strength)
        )
        data = data[jnp.argsort(jnp.where(matched, order, jnp.inf), stable=True)]
    is_match = jnp.arange(len(data)) < jnp.sum(matched)
    data = jnp.where(is_match[:, None], data, 0.0)
    missing = max(selection.count - len(data), 0)
    return jnp.pad(data, ((0, missing), (0, 0)))[: selection.count].reshape(1, -1)


def _matched(r: Reading, selection: ContactSelection, i: Index) -> tuple[Bool[Array, " c"], Array]:
    """Return the mask of matching contacts, and the sign of each normal: −1 if it is to be
    reversed."""
    data, pair = r.contacts, r.contacts.shapes
    # Hard contacts exist before the surfaces touch.
    touching = data.live & ((data.gap <= 0) | jnp.any(data.force != 0, axis=1))
    everything = jnp.ones(len(r.model.topology.shapes), bool)
    first = everything if selection.first is None else jnp.asarray(selection.first)
    second = everything if selection.second is None else jnp.asarray(selection.second)
    straight = first[pair[:, 0]] & second[pair[:, 1]]
    reversed_ = first[pair[:, 1]] & second[pair[:, 0]]
    frame = r.frames[0]
    axes = quaternion.to_matrix(frame.quaternion[i[0]])
    point = (data.point - frame.position[i[0]]) @ axes
    inside = contains([selection.zone], point[:, None])[:, 0]
    sign = jnp.where(straight, 1.0, -1.0)
    return touching & inside & (straight | reversed_), sign.astype(point.dtype)[:, None]


def _contact_rows(r: Reading, matched: Bool[Array, " c"], sign: Array) -> dict[str, Array]:
    data = r.contacts
    normal, tangent = data.normal, _tangent(data.normal)
    frame = jnp.stack([normal, tangent, cross(normal, tangent)], axis=1)
    # In a reversed contact the normal, the tangent, force and torque change sign.
    frame = frame * jnp.stack([sign, sign, jnp.ones_like(sign)], axis=1)
    vectors = {"force": sign * data.force, "torque": sign * data.torque}
    return {
        "found": jnp.full_like(sign, jnp.sum(matched)),
        **{name: jnp.einsum("cij,cj->ci", frame, vector) for name, vector in vectors.items()},
        "dist": data.gap[:, None],
        "pos": data.point,
        "normal": frame[:, 0],
        "tangent": frame[:, 1],
    }


def _net_row(r: Reading, matched: Bool[Array, " c"], sign: Array) -> dict[str, Array]:
    """Return the total wrench of the matching contacts, about the mean of their points weighted by
    their forces."""
    data = r.contacts
    mask = matched[:, None]
    force = jnp.where(mask, sign * data.force, 0.0)
    weight = jnp.where(mask, norm(data.force)[:, None], 0.0)
    total = jnp.sum(weight)
    at = jnp.sum(weight * data.point, axis=0) / jnp.where(total > 0, total, 1.0)
    torque = jnp.where(mask, sign * data.torque, 0.0) + cross(data.point - at, force)
    axes = jnp.eye(3, dtype=force.dtype)
    zero = jnp.zeros((1, 1), force.dtype)
    return {
        "found": jnp.full_like(zero, jnp.sum(matched)),
        "force": jnp.sum(force, axis=0)[None],
        "torque": jnp.sum(torque, axis=0)[None],
        "dist": zero,
        "pos": at[None],
        "normal": axes[:1],
        "tangent": axes[1:2],
    }


def _tangent(normal: Float[Array, "c 3"]) -> Float[Array, "c 3"]:
    """Return MuJoCo's tangent (``mju_makeFrame``): y orthogonalised to the normal, or z if the
    normal is close to y."""
    is_near_y = jnp.abs(normal[:, 1:2]) >= 0.5
    axes = jnp.eye(3, dtype=normal.dtype)
    start = jnp.where(is_near_y, axes[2], axes[1])
    tangent = start - jnp.sum(start * normal, axis=1, keepdims=True) * normal
    return tangent / norm(tangent)[:, None]
