"""The tables of smooth contact: pairs with smooth contact, and coefficients of their surfaces."""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.model.family import Family
from jaxccp.model.material import Combination, combine
from jaxccp.model.pair_group import PairGroup
from jaxccp.model.smooth import (
    NORMAL,
    SmoothCoefficients,
    SmoothLaws,
    SmoothMaterial,
    SmoothSurfaces,
    SmoothTopology,
)
from jaxccp.model.topology import Topology
from jaxccp.scene.tables.shape_tables import PairFriction, ShapeSpec, pair_groups

MayTouch = Callable[[int, int], bool]
"""Function that tells whether two shapes, given by index, can collide."""


def split_pairs(specs: Sequence[ShapeSpec], may_touch: MayTouch) -> tuple[MayTouch, MayTouch]:
    """Split the pairs that can collide into hard and smooth ones; a pair is smooth if one of its
    surfaces is.

    Args:
        specs: the shapes.
        may_touch: function that tells whether two shapes, given by index, can collide.
    """

    def smooth(i: int, j: int) -> bool:
        return specs[i].material.smooth is not None or specs[j].material.smooth is not None

    return (
        lambda i, j: not smooth(i, j) and may_touch(i, j),
        lambda i, j: smooth(i, j) and may_touch(i, j),
    )


def smooth_topology(
    specs: Sequence[ShapeSpec],
    pair_friction: PairFriction,
    may_touch: MayTouch,
    moving_bodies: np.ndarray,
    broad_phase: str,
    laws: SmoothLaws,
    combination: Combination,
    max_contacts: int | None,
) -> SmoothTopology | None:
    """Return the topology of the pairs with smooth contact; None if there are no such pairs.

    Args:
        specs: the shapes.
        pair_friction: coefficients of the pairs that have their own.
        may_touch: function that tells whether two shapes, given by index, can have smooth contact.
        moving_bodies: mask of the bodies that move [nb].
        broad_phase: method that finds near pairs.
        laws: laws of contact.
        combination: rules that combine the coefficients of two surfaces.
        max_contacts: largest number of contacts, None: all candidates.

    Raises:
        ValueError: some surfaces have moduli and others coefficients; or coefficients, or a
            combined restitution of 0, which the law of normal force does not accept.
    """
    pairs = pair_groups(specs, pair_friction, may_touch, moving_bodies, broad_phase)
    if not pairs:
        return None
    _check_surfaces(specs, laws)
    if NORMAL[laws.normal].by_approach:
        _check_restitution(specs, pairs, laws, combination)
    shapes = {shape for group in pairs for shape in (*group.first, *group.second)}
    rolls = any(specs[i].material.spinning or specs[i].material.rolling for i in shapes) or any(
        (spinning or rolling) and may_touch(*pair)
        for pair, (_, spinning, rolling) in pair_friction.items()
    )
    return SmoothTopology(
        pairs=pairs,
        normal=laws.normal,
        tangential=laws.tangential,
        adhesion=laws.adhesion,
        rolls=rolls,
        max_contacts=max_contacts,
    )


def smooth_surfaces(
    specs: Sequence[ShapeSpec], topology: Topology, families: Sequence[Family], laws: SmoothLaws
) -> SmoothSurfaces | None:
    """Return the coefficients of smooth surfaces, in JAX's current default precision; None if there
    are none.

    Args:
        specs: the shapes.
        topology: topology of the model.
        families: families of the model.
        laws: laws of contact.
    """
    if topology.smooth is None:
        return None

    surfaces = [p.material.smooth for p in specs]
    by_moduli = not any(isinstance(surface, SmoothCoefficients) for surface in surfaces)

    def column(numbers: Callable[[SmoothMaterial | SmoothCoefficients], object], hard: object):
        return jnp.asarray(
            [hard if surface is None else numbers(surface) for surface in surfaces], float
        )

    def springs_and_dashpots(surface: SmoothMaterial | SmoothCoefficients) -> Sequence[float]:
        return getattr(surface, "springs_and_dashpots", rigid)

    rigid = (np.inf,) * 4  # in series with others, as hard surfaces are
    return SmoothSurfaces(
        young_modulus=column(lambda surface: getattr(surface, "young_modulus", np.inf), np.inf),
        poisson_ratio=column(lambda surface: getattr(surface, "poisson_ratio", 0.0), 0.0),
        coefficients=None if by_moduli else column(springs_and_dashpots, rigid),
        adhesion=column(lambda surface: surface.adhesion, np.inf),
        frame_mass=_frame_mass(topology, families),
        characteristic_speed=jnp.asarray(laws.characteristic_speed, float),
        flat_radius=jnp.asarray(laws.flat_radius, float),
    )


def _check_surfaces(specs: Sequence[ShapeSpec], laws: SmoothLaws) -> None:
    """Raise ``ValueError`` if smooth surfaces are of different kinds, or not of the kind that the
    law needs."""
    names = {
        kind: [spec.name for spec in specs if isinstance(spec.material.smooth, kind)]
        for kind in (SmoothMaterial, SmoothCoefficients)
    }
    moduli, coefficients = names.values()
    if moduli and coefficients:
        raise ValueError(
            f"shape {moduli[0]!r} has a SmoothMaterial, shape {coefficients[0]!r} "
            "SmoothCoefficients: give all smooth shapes of a model the same"
        )
    if coefficients and not NORMAL[laws.normal].linear:
        linear = " or ".join(repr(name) for name, law in NORMAL.items() if law.linear)
        raise ValueError(
            f"shape {coefficients[0]!r} has SmoothCoefficients, which the law {laws.normal!r} "
            f"does not take: build with smooth_laws=SmoothLaws(normal={linear}), or give a "
            "SmoothMaterial"
        )


def _check_restitution(
    specs: Sequence[ShapeSpec],
    pairs: Sequence[PairGroup],
    laws: SmoothLaws,
    combination: Combination,
) -> None:
    """Raise ``ValueError`` if the combined restitution of a pair is 0."""
    restitution = np.array([spec.material.restitution for spec in specs])
    for group in pairs:
        sides = restitution[group.first], restitution[group.second]
        with jax.ensure_compile_time_eval():
            together = np.asarray(combine(combination.restitution, *map(jnp.asarray, sides)))
        (none,) = np.nonzero(together == 0)
        if len(none):
            a, b = (specs[int(side[none[0]])].name for side in (group.first, group.second))
            raise ValueError(
                f"shapes {a!r} and {b!r} have restitution 0 together, for which the dashpot of the "
                f"law {laws.normal!r} is infinite: make it positive, or take another law"
            )


def _frame_mass(topology: Topology, families: Sequence[Family]) -> Float[Array, " nb"]:
    """Return the effective mass of frames with shapes in smooth pairs [kg]; 0 for all other bodies.

    1 / m = tr(J M⁻¹ Jᵀ) / 3 is the acceleration per force on the frame, mean over three directions.
    """
    mass = jnp.zeros(len(topology.bodies))
    assert topology.smooth is not None
    touching = [shape for g in topology.smooth.pairs for shape in (*g.first, *g.second)]
    bodies = np.unique(topology.shape_body[touching])
    for index, family in enumerate(families):
        frames = np.flatnonzero(topology.family == index)
        selected = np.flatnonzero(np.isin(frames, bodies))
        if not len(selected):
            continue
        q = family.start().q
        directions = jnp.broadcast_to(jnp.eye(3, 6), (len(selected), 1, 3, 6))
        rows = family.map(q, np.arange(len(frames)), len(frames)).project_rows(
            directions, selected[:, None]
        )
        response = jnp.sum(family.root(q, 0.0).whiten(rows) ** 2, axis=(1, 2)) / 3
        mass = mass.at[frames[selected]].set(1 / response)
    return mass
