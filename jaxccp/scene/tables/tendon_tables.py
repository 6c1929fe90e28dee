"""The tables of tendons, made from those added to a builder."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import jax.numpy as jnp
import numpy as np

from jaxccp.model.tendons import Coupling, TendonPath
from jaxccp.model.tendons.functions import grouped
from jaxccp.model.tendons.routing import Routing, Tendons
from jaxccp.names import index


@dataclass
class TendonSpec:
    """A tendon that was added to a builder, with its name."""

    name: str
    """Name of the tendon."""
    tendon: Coupling | TendonPath
    """The tendon, with bodies as indices."""


def checked_tendon(
    label: str, tendon: Coupling | TendonPath, axes: dict[str, str], bodies: Sequence[str]
) -> Coupling | TendonPath:
    """Return the tendon with its bodies as indices and its axes as names.

    Args:
        label: beginning of error messages.
        tendon: the tendon given by the user.
        axes: the kind of motion of each axis, by the axis's name.
        bodies: names of the bodies.

    Raises:
        ValueError: an axis or a body does not exist, or an axis is there twice or that of a ball.
    """
    if isinstance(tendon, TendonPath):
        places = tuple((index(label, "body", bodies, body), at) for body, at in tendon.points)
        return replace(tendon, points=places)
    names = [list(axes)[index(label, "axis", list(axes), axis)] for axis in tendon.terms]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"{label}: axis {name!r} has two terms, by name and by index")
        if axes[name] == "ball":
            raise ValueError(
                f"{label}: {name!r} is an axis of a ball joint, whose rates are not the "
                "derivatives of its coordinates; use three hinges"
            )
    return replace(tendon, terms=dict(zip(names, tendon.terms.values(), strict=True)))


def route_tendons(
    tendon_specs: Sequence[TendonSpec], axes: Sequence[str], pairs: np.ndarray, movable: np.ndarray
) -> tuple[Routing, Tendons]:
    """Return the topology and the table of tendons.

    Args:
        tendon_specs: the tendons, checked.
        axes: names of the axes.
        pairs: the two bodies that each axis is between [na 2].
        movable: mask of the bodies that move [nb].
    """
    terms = [
        (i, axes.index(axis), spec_.tendon.polynomial(axis))
        for i, spec_ in enumerate(tendon_specs)
        if isinstance(spec_.tendon, Coupling)
        for axis in spec_.tendon.terms
    ]
    places: list[tuple[int, np.ndarray]] = []
    segments: list[tuple[int, int, int]] = []
    for i, spec_ in enumerate(tendon_specs):
        if isinstance(spec_.tendon, TendonPath):
            start = len(places)
            places += [(int(body), np.asarray(at, float)) for body, at in spec_.tendon.points]
            segments += [(i, k, k + 1) for k in range(start, len(places) - 1)]
    term = np.array([(i, axis) for i, axis, _ in terms], np.int32).reshape(-1, 2)
    segment = np.array(segments, np.int32).reshape(-1, 3)
    point_body = np.array([body for body, _ in places], np.int32)
    ends = point_body[segment[:, 1:]]
    bodies_of = [
        np.unique(np.concatenate([pairs[term[term[:, 0] == i, 1]], ends[segment[:, 0] == i]]))
        for i in range(len(tendon_specs))
    ]
    bodies_of = [[int(body) for body in bodies if movable[body]] for bodies in bodies_of]
    # At least the two bodies of other rows.
    width = max([2, *map(len, bodies_of)])
    bodies = np.array([row + [0] * (width - len(row)) for row in bodies_of], np.int32)

    def slots(tendon: np.ndarray, pair: np.ndarray) -> np.ndarray:
        rows_ = [
            [bodies_of[i].index(body) if body in bodies_of[i] else width for body in both]
            for i, both in zip(tendon, pair.tolist(), strict=True)
        ]
        return np.array(rows_, np.int32).reshape(-1, 2)

    routing = Routing(
        tendons=tuple(spec_.name for spec_ in tendon_specs),
        bodies=bodies.reshape(-1, width),
        bilateral=np.array(
            [i for i, spec_ in enumerate(tendon_specs) if spec_.tendon.length is not None], np.int32
        ),
        terms=term,
        term_slots=slots(term[:, 0], pairs[term[:, 1]]),
        segments=segment,
        segment_slots=slots(segment[:, 0], ends),
        point_body=point_body,
    )
    degree = max((len(coefficients) for *_, coefficients in terms), default=0)
    tendons_ = [spec_.tendon for spec_ in tendon_specs]
    constant = [0.0 if callable(spec_.length) else spec_.length or 0.0 for spec_ in tendons_]
    padded = [np.pad(coefficients, (0, degree - len(coefficients))) for *_, coefficients in terms]
    tendons = Tendons(
        jnp.asarray(np.array(padded, float).reshape(len(terms), degree), float),
        jnp.asarray(np.array([point for _, point in places], float).reshape(-1, 3), float),
        jnp.asarray(np.array(constant, float), float),
        grouped({i: tendon.length for i, tendon in enumerate(tendons_) if callable(tendon.length)}),
        grouped({i: tendon.law for i, tendon in enumerate(tendons_) if tendon.law is not None}),
    )
    return routing, tendons
