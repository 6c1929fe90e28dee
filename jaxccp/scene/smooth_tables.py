"""The tables of smooth contact: which pairs of shapes it is for, and the numbers of surfaces."""

from collections.abc import Callable, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.model.family import Family
from jaxccp.model.material import Combination, combine
from jaxccp.model.model import PairGroup, Topology
from jaxccp.model.smooth import (
    NORMAL,
    SmoothCoefficients,
    SmoothLaws,
    SmoothMaterial,
    SmoothSurfaces,
    SmoothTopology,
)
from jaxccp.scene.shape_tables import PairFriction, ShapeSpec, pair_groups

MayTouch = Callable[[int, int], bool]


def split_pairs(specs: Sequence[ShapeSpec], may_touch: MayTouch) -> tuple[MayTouch, MayTouch]:
    """Split pairs into those that may touch and are both hard, and those of which one or both are
    smooth."""

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
    moves: np.ndarray,
    broad_phase: str,
    laws: SmoothLaws,
    combination: Combination,
    max_contacts: int | None,
) -> SmoothTopology | None:
    """Return the topology of the pairs that ``may_touch`` smoothly; None if there are none.

    Raises:
        ValueError: surfaces have moduli and coefficients, or what the law of normal force does not
            take.
    """
    pairs = pair_groups(specs, pair_friction, may_touch, moves, broad_phase)
    if not pairs:
        return None
    _check_surfaces(specs, laws)
    if NORMAL[laws.normal].by_approach:
        _check_restitution(specs, pairs, laws, combination)
    own = {shape for group in pairs for shape in (*group.first, *group.second)}
    rolls = any(specs[i].material.spinning or specs[i].material.rolling for i in own) or any(
        spinning or rolling for _, spinning, rolling in pair_friction.values()
    )
    return SmoothTopology(pairs, laws.normal, laws.tangential, laws.adhesion, rolls, max_contacts)


def smooth_surfaces(
    specs: Sequence[ShapeSpec], topology: Topology, families: Sequence[Family], laws: SmoothLaws
) -> SmoothSurfaces | None:
    """The numbers of a model with such a topology, in JAX's current default precision."""
    if topology.smooth is None:
        return None

    def column(numbers: Callable[[SmoothMaterial | SmoothCoefficients], object], hard: object):
        own = [p.material.smooth for p in specs]
        return jnp.asarray([hard if one is None else numbers(one) for one in own], float)

    by_moduli = not any(isinstance(p.material.smooth, SmoothCoefficients) for p in specs)
    stiff = [np.inf] * 4
    return SmoothSurfaces(
        young_modulus=column(lambda one: getattr(one, "young_modulus", np.inf), np.inf),
        poisson_ratio=column(lambda one: getattr(one, "poisson_ratio", 0.0), 0.0),
        coefficients=None if by_moduli else column(_coefficients, stiff),
        adhesion=column(lambda one: one.adhesion, np.inf),
        frame_mass=_frame_mass(topology, families),
        characteristic_speed=jnp.asarray(laws.characteristic_speed, float),
        flat_radius=jnp.asarray(laws.flat_radius, float),
    )


def _coefficients(one: SmoothMaterial | SmoothCoefficients) -> list[float]:
    assert isinstance(one, SmoothCoefficients)
    return [
        one.normal_stiffness,
        one.normal_damping,
        one.tangential_stiffness,
        one.tangential_damping,
    ]


def _check_surfaces(specs: Sequence[ShapeSpec], laws: SmoothLaws) -> None:
    """Raise if smooth surfaces are not all of one kind, or not what the law takes."""
    names = {
        kind: [spec.name for spec in specs if isinstance(spec.material.smooth, kind)]
        for kind in (SmoothMaterial, SmoothCoefficients)
    }
    moduli, given = names.values()
    if moduli and given:
        raise ValueError(
            f"shape {moduli[0]!r} has a SmoothMaterial, shape {given[0]!r} SmoothCoefficients: "
            "give all smooth shapes of a model the same"
        )
    if given and not NORMAL[laws.normal].linear:
        linear = " or ".join(repr(name) for name, law in NORMAL.items() if law.linear)
        raise ValueError(
            f"shape {given[0]!r} has SmoothCoefficients, which the law {laws.normal!r} does not "
            f"take: build with smooth_laws=SmoothLaws(normal={linear}), or give a SmoothMaterial"
        )


def _check_restitution(
    specs: Sequence[ShapeSpec],
    pairs: Sequence[PairGroup],
    laws: SmoothLaws,
    combination: Combination,
) -> None:
    """Raise if the two surfaces of a pair have restitution 0 together."""
    own = np.array([spec.material.restitution for spec in specs])
    for group in pairs:
        sides = own[group.first], own[group.second]
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
    """1 / m = tr(J M⁻¹ Jᵀ) / 3 over the three directions of a push on a frame; only of frames that
    carry shapes of smooth pairs."""
    mass = jnp.zeros(len(topology.bodies))
    assert topology.smooth is not None
    touching = [shape for g in topology.smooth.pairs for shape in (*g.first, *g.second)]
    bodies = np.unique(topology.shape_body[touching])
    for index, family in enumerate(families):
        frames = np.flatnonzero(topology.family == index)
        chosen = np.flatnonzero(np.isin(frames, bodies))
        if not len(chosen):
            continue
        q = family.start().q
        push = jnp.broadcast_to(jnp.eye(3, 6), (len(chosen), 1, 3, 6))
        rows = family.map(q, np.arange(len(frames)), len(frames)).along(push, chosen[:, None])
        response = jnp.sum(family.root(q, 0.0).whiten(rows) ** 2, axis=(1, 2)) / 3
        mass = mass.at[frames[chosen]].set(1 / response)
    return mass
