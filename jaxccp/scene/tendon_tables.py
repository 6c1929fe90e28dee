"""The tables of tendons, from those that were added to a builder."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np

from jaxccp.model.routing import Routing, Tendons
from jaxccp.model.tendons import Coupling, TendonPath
from jaxccp.model.tendons.functions import grouped
from jaxccp.names import index


@dataclass
class TendonSpec:
    """A tendon as it was added, with its name."""

    name: str
    tendon: Coupling | TendonPath


def checked_tendon(
    label: str, tendon: Coupling | TendonPath, axes: dict[str, str], bodies: Sequence[str]
) -> Coupling | TendonPath:
    """The tendon, with its bodies as indices instead of names.

    Args:
        label: what the message of an error begins with.
        tendon: as the user has given it.
        axes: the kind of motion of each axis, by the axis's name.
        bodies: names of the bodies.

    Raises:
        ValueError: an axis or a body does not exist, or an axis is that of a ball.
    """
    if isinstance(tendon, TendonPath):
        places = tuple((index(label, "body", bodies, body), at) for body, at in tendon.points)
        return replace(tendon, points=places)
    for axis in tendon.terms:
        index(label, "axis", list(axes), axis)
        if axes[axis] == "ball":
            raise ValueError(
                f"{label}: {axis!r} is of a ball, whose coordinates its rates are no derivatives "
                "of; use hinges"
            )
    return tendon


def routed(
    tendon_specs: Sequence[TendonSpec], axes: Sequence[str], pairs: np.ndarray, free: np.ndarray
) -> tuple[Routing, Tendons]:
    """The static facts and the numbers of tendons.

    Args:
        tendon_specs: the tendons, checked.
        axes: names of the axes.
        pairs: the two bodies that each axis is between [na 2].
        free: mask of the bodies that move [nb].
    """
    terms = [
        (i, axes.index(axis), one.tendon.polynomial(axis))
        for i, one in enumerate(tendon_specs)
        if isinstance(one.tendon, Coupling)
        for axis in one.tendon.terms
    ]
    places: list[tuple[int, np.ndarray]] = []
    segments: list[tuple[int, int, int]] = []
    for i, one in enumerate(tendon_specs):
        if isinstance(one.tendon, TendonPath):
            start = len(places)
            places += [(int(body), np.asarray(at, float)) for body, at in one.tendon.points]
            segments += [(i, k, k + 1) for k in range(start, len(places) - 1)]
    term = np.array([(i, axis) for i, axis, _ in terms], np.int32).reshape(-1, 2)
    segment = np.array(segments, np.int32).reshape(-1, 3)
    point_body = np.array([body for body, _ in places], np.int32)
    ends = point_body[segment[:, 1:]]
    touched = [
        np.unique(np.concatenate([pairs[term[term[:, 0] == i, 1]], ends[segment[:, 0] == i]]))
        for i in range(len(tendon_specs))
    ]
    touched = [[int(body) for body in bodies if free[body]] for bodies in touched]
    # Never less than the two bodies that other rows have.
    width = max([2, *map(len, touched)])
    bodies = np.array([row + [0] * (width - len(row)) for row in touched], np.int32)

    def slots(tendon: np.ndarray, pair: np.ndarray) -> np.ndarray:
        found = [
            [touched[i].index(body) if body in touched[i] else width for body in both]
            for i, both in zip(tendon, pair.tolist(), strict=True)
        ]
        return np.array(found, np.int32).reshape(-1, 2)

    routing = Routing(
        tuple(one.name for one in tendon_specs),
        bodies.reshape(-1, width),
        np.array(
            [i for i, one in enumerate(tendon_specs) if one.tendon.length is not None], np.int32
        ),
        term,
        slots(term[:, 0], pairs[term[:, 1]]),
        segment,
        slots(segment[:, 0], ends),
        point_body,
    )
    degree = max((len(coefficients) for *_, coefficients in terms), default=0)
    own = [one.tendon for one in tendon_specs]
    constant = [0.0 if callable(one.length) else one.length or 0.0 for one in own]
    padded = [np.pad(one, (0, degree - len(one))) for *_, one in terms]
    tendons = Tendons(
        jnp.asarray(np.array(padded, float).reshape(len(terms), degree), float),
        jnp.asarray(np.array([point for _, point in places], float).reshape(-1, 3), float),
        jnp.asarray(np.array(constant, float), float),
        grouped({i: tendon.length for i, tendon in enumerate(own) if callable(tendon.length)}),
        grouped({i: tendon.law for i, tendon in enumerate(own) if tendon.law is not None}),
    )
    return routing, tendons
