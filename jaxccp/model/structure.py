"""Models in which numbers can take effect that were 0, or infinite, when the model was built."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jaxtyping import Bool

from jaxccp.model.actuators.dynamics import DYNAMICS
from jaxccp.model.linkage import Linkage
from jaxccp.model.model import Model
from jaxccp.model.pair_group import PairGroup

Indices = Sequence[int] | np.ndarray | None
"""Indices along the first dimension of a number of the model; None for all that can have an
effect."""


def with_structure(model: Model, numbers: Mapping[str, Indices]) -> Model:
    """Return the model with all rows in its topology that the given numbers need; the numbers stay
    the same.

    A number of a model is a leaf of its pytree, but the builder makes a row only if the number's
    value needs one. Without it a change has no effect in Euler steps, nor a derivative. This adds:

    - ``axes``: ``stiffness``, ``damping``, ``armature``, ``damping_polynomial``, ``power_damping``
      and ``damping_power`` make compliant rows (the last three also make damping depend on the
      rate). ``friction``, ``stribeck_friction`` and ``stribeck_velocity`` make rows of dry
      friction. ``lower`` and ``upper`` make rows of limits. Entries are the axes, then the tendons.
    - ``actuators``: ``stiffness`` and ``damping`` make a motor a servo, and else act explicitly;
      ``force_limits`` bound the row of a servo.
    - ``shapes``: ``rolling`` and ``pair_friction`` give contacts six rows. ``restitution`` makes
      impacts act at their times. If a restitution is 0 now, this applies to all impacts of the
      model (``impact_times`` "all"), because that is the limit of the motion as restitution tends
      to 0.

    A state of the model stays valid. The data that a stepper carries from step to step do not:
    start again from the state.

    Some things do not change; they raise an error, or stay as built: masses of fixed bodies;
    lengths of free tendons; missing filters and fluids; which surfaces are smooth, and their laws;
    which pairs may touch, and the capacity for their contacts; the part of a height field that a
    shape may touch, which depends on the shape's size when the model was built.

    Args:
        model: a model with known numbers, outside of ``jit``, ``vmap`` and ``grad``.
        numbers: entries by path, such as ``{"axes.damping": [0, 2], "shapes.rolling": None}``.

    Raises:
        ValueError: the model has no such number or entry, or the entry can never have an effect.
    """
    requested = _Requested({path: _checked(model, path, at) for path, at in numbers.items()})
    topology = model.topology
    rolling = requested.entries("shapes.rolling")
    pairs, smooth = requested.entries("shapes.pair_friction"), topology.smooth
    rolls = bool(np.isin(rolling, _members(topology.pairs)).any() or len(pairs))
    if smooth is not None and (np.isin(rolling, _members(smooth.pairs)).any() or len(pairs)):
        smooth = replace(smooth, rolls=True)
    bounces, times = requested.entries("shapes.restitution"), topology.impact_times
    bounces = bounces[np.isin(bounces, _members(topology.pairs))]
    if len(bounces) and (np.asarray(model.shapes.restitution)[bounces] == 0).any():
        times = "all"
    topology = replace(
        topology,
        linkage=_linkage(model, requested),
        smooth=smooth,
        rolls=topology.rolls or rolls,
        rebounds=topology.rebounds or bool(len(bounces)),
        impact_times=times,
    )
    return replace(model, topology=topology)


def effective_entries(model: Model, path: str) -> Bool[np.ndarray, " n"]:
    """Return a mask of the entries of a number that have an effect, or can get one by
    :func:`with_structure`.

    Args:
        model: the model with the number.
        path: path of the number, such as ``"axes.damping"``.

    Raises:
        ValueError: the model has no such number.
    """
    count = np.shape(_number(model, path))[:1]
    rule = RULES.get(path)
    return np.ones(count or 1, bool) if rule is None else rule.mask(model)


@dataclass(frozen=True)
class Rule:
    """A rule that says which entries of a number can have an effect."""

    mask: Callable[[Model], Bool[np.ndarray, " n"]]
    """Returns the mask of these entries for a model."""
    reason: str
    """End of the error message for an entry that cannot."""


def _members(groups: Sequence[PairGroup]) -> np.ndarray:
    """Return the indices of the shapes in any pair of the groups, in ascending order."""
    pairs = [np.concatenate([group.first, group.second]) for group in groups]
    return np.unique(np.concatenate([np.zeros(0, np.int32), *pairs]))


def _touching(model: Model, hard: bool, smooth: bool) -> Bool[np.ndarray, " ng"]:
    """Return the mask of the shapes in hard or smooth pairs that may touch."""
    topology = model.topology
    groups = [*(topology.pairs if hard else ())]
    if smooth and topology.smooth is not None:
        groups += topology.smooth.pairs
    return np.isin(np.arange(len(topology.shapes)), _members(groups))


def _ball(linkage: Linkage) -> Bool[np.ndarray, " k"]:
    """Return the mask of the coordinates that are axes of balls."""
    tendons = np.zeros(len(linkage.routing.tendons), bool)
    return np.concatenate([np.array(linkage.motions, str) == "ball", tendons])


def _upper(model: Model) -> Bool[np.ndarray, " k"]:
    """Return the mask of the coordinates with an upper limit: all but the second and third axis of
    a ball."""
    ball = _ball(model.topology.linkage)
    return ~ball | ((np.cumsum(ball) - 1) % 3 == 0)


def _tendon_lengths(model: Model) -> Bool[np.ndarray, " nt"]:
    """Return the mask of the tendons whose imposed length is a constant."""
    routing = model.topology.linkage.routing
    tendons = np.arange(len(routing.tendons))
    return np.isin(tendons, routing.bilateral) & ~np.isin(tendons, model.tendons.motions.index)


def _with_time_constant(model: Model) -> Bool[np.ndarray, " ma"]:
    """Return the mask of the activations that have a time constant."""
    assert model.activations is not None
    return np.array([DYNAMICS[kind].has_time_constant for kind in model.activations.dynamics])


def _share_no_limit(model: Model) -> Bool[np.ndarray, " nm"]:
    """Return the mask of the actuators without a limit of the sum of several forces, along their
    own axis or tendon or one of the axes that it couples."""
    linkage = model.topology.linkage
    tendon, axis = linkage.routing.terms.T
    coupled = len(linkage.axes) + tendon[np.isin(axis, linkage.summed)]
    return ~np.isin(linkage.actuated, np.union1d(linkage.summed, coupled))


_FIXED = Rule(lambda model: model.topology.free, "is of a body that is fixed, or of a frame")
_MOTOR = Rule(
    _share_no_limit,
    "is of a motor with a limit of its sum with others: limit each actuator instead",
)
_HARD = Rule(
    lambda model: _touching(model, hard=True, smooth=False),
    "is of a shape that is in no pair of hard surfaces that may touch",
)
_SURFACE = Rule(
    lambda model: _touching(model, hard=True, smooth=True),
    "is of a shape that is in no pair that may touch",
)
_SMOOTH = Rule(
    lambda model: _touching(model, hard=False, smooth=True),
    "is of a shape that is in no smooth pair that may touch",
)
RULES: dict[str, Rule] = {
    "bodies.mass": _FIXED,
    "bodies.inertia": _FIXED,
    **{f"shapes.{name}": _HARD for name in ("compliance", "damping", "impact_friction")},
    **{f"shapes.{name}": _SURFACE for name in ("friction", "restitution", "rolling")},
    **{f"smooth.{name}": _SMOOTH for name in ("young_modulus", "poisson_ratio", "coefficients")},
    "smooth.adhesion": _SMOOTH,
    "axes.lower": Rule(
        lambda model: ~_ball(model.topology.linkage),
        "is of a ball, whose angle has an upper limit only",
    ),
    "axes.upper": Rule(_upper, "is no limit of a ball: the first of its three axes has that"),
    "tendons.length": Rule(
        _tendon_lengths,
        "is of a tendon that is not held at a constant length: build it with length=…",
    ),
    **{f"actuators.{name}": _MOTOR for name in ("stiffness", "damping")},
    "activations.time_constant": Rule(
        _with_time_constant, "is of dynamics without one, such as an integrator"
    ),
}
"""Rules for the numbers with entries that can never have an effect."""
ABSENT = {
    "activations": "no actuator has an activation: build one with Actuator(activation=…)",
    "fluid": "there is no fluid: give it one by dataclasses.replace(model, fluid=Fluid(…))",
    "smooth": "no surface is smooth: build one with Material(smooth=…)",
}
"""Parts of a model that may be missing, with the error message for each."""


class _Requested:
    """The indices requested in arrays of the model, by path such as ``axes.damping``."""

    def __init__(self, numbers: Mapping[str, np.ndarray]) -> None:
        self.numbers = numbers

    def entries(self, *paths: str) -> np.ndarray:
        """Return the requested entries of all numbers in ``paths`` together."""
        none = [np.zeros(0, np.int32)]
        indices = [self.numbers[path] for path in paths if path in self.numbers]
        return np.unique(np.concatenate(none + indices))

    def of(self, part: str, *names: str) -> np.ndarray:
        """Return the requested entries of all numbers ``part.name`` together."""
        return self.entries(*(f"{part}.{name}" for name in names))


def _linkage(model: Model, requested: _Requested) -> Linkage:
    """Return the linkage with the rows of the requested entries."""
    linkage = model.topology.linkage
    ball = _ball(linkage)
    rated = requested.of("axes", "damping_polynomial", "power_damping", "damping_power")
    falling = requested.of("axes", "stribeck_friction", "stribeck_velocity")
    rough, upper = requested.of("axes", "friction"), requested.of("axes", "upper")
    servos = np.union1d(linkage.servos, requested.of("actuators", "stiffness", "damping"))
    bounded = np.logical_or(*np.isfinite(np.asarray(model.actuators.force_limits)).T)
    bounded[linkage.servos[linkage.bounded]] = True
    bounded[requested.of("actuators", "force_limits")] = True
    resisting = requested.of("axes", "stiffness", "damping", "armature")
    return replace(
        linkage,
        compliant=np.union1d(linkage.compliant, np.union1d(resisting, rated)),
        rotors=np.union1d(linkage.rotors, requested.of("axes", "armature")),
        lower=np.union1d(linkage.lower, requested.of("axes", "lower")),
        upper=np.union1d(linkage.upper, upper[~ball[upper]]),
        balls=np.union1d(linkage.balls, upper[ball[upper]]),
        dry_friction=np.union1d(linkage.dry_friction, np.union1d(rough, falling)),
        stribeck=linkage.stribeck or bool(len(falling)),
        rate_damping=linkage.rate_damping or bool(len(rated)),
        servos=servos,
        bounded=bounded[servos],
    )


def _number(model: Model, path: str) -> Any:
    """Return the number at a path, or raise ``ValueError``."""
    part, number = path.partition(".")[0], model
    for name in path.split("."):
        number = getattr(number, name, None)
        if number is None and name == part and part in ABSENT:
            raise ValueError(f"{path!r}: {ABSENT[part]}")
    if number is None or not isinstance(number, jax.Array | np.ndarray):
        raise ValueError(
            f"{path!r} is no number of the model: give a path such as 'axes.damping', of an array "
            "in one of its parts bodies, shapes, joints, axes, tendons, actuators, contact, …"
        )
    return number


def _checked(model: Model, path: str, indices: Indices) -> np.ndarray:
    """Return the requested indices along the first dimension of the array at ``path``, all of
    which can have an effect, or raise ``ValueError``."""
    able = effective_entries(model, path)
    if indices is None:
        return np.flatnonzero(able)
    entries = np.asarray(indices).reshape(-1)
    if entries.dtype == bool:
        if len(entries) != len(able):
            raise ValueError(f"{path!r} has {len(able)} entries, but the mask {len(entries)}")
        entries = np.flatnonzero(entries)
    if len(entries) and not np.issubdtype(entries.dtype, np.integer):
        raise ValueError(f"{path!r}: indices must be whole numbers, not {entries.tolist()}")
    entries = entries.astype(np.int32)
    outside = entries[(entries < 0) | (entries >= len(able))]
    if len(outside):
        raise ValueError(f"{path!r} has entries 0 to {len(able) - 1}, not {outside.tolist()}")
    never = entries[~able[entries]]
    if len(never):
        raise ValueError(
            f"{path!r}: entry {never[0]} {RULES[path].reason}; leave out {never.tolist()}"
        )
    return entries
