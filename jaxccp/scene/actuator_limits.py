"""Limits of the sum of several actuators' forces along an axis or a tendon."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from jaxccp.model.actuators.activation import Range
from jaxccp.model.actuators.actuator import Actuator
from jaxccp.model.tendons import Coupling
from jaxccp.scene.tables.tendon_tables import TendonSpec


@dataclass
class ActuatorSpec:
    """An actuator that was added to a builder, with the name of its axis or tendon."""

    name: str
    """Name of the actuator."""
    actuator: Actuator
    """The actuator."""
    axis: str
    """Name of the axis or tendon along which it acts."""


def split_limits(
    actuators: Sequence[ActuatorSpec], tendons: Sequence[TendonSpec], limits: Mapping[str, Range]
) -> tuple[list[ActuatorSpec], dict[str, Range]]:
    """Split force limits by axis or tendon into limits of single actuators, and limits of sums of
    several actuators.

    Args:
        actuators: the actuators that were added.
        tendons: the tendons that were added.
        limits: lowest and highest force of all actuators together [N, N m], by the name of the axis
            or tendon that they act along.

    Returns:
        The actuators with their own limits, and the limits of sums by name.

    Raises:
        ValueError: one of several actuators that share a limit has a force that depends on the
            motion.
    """
    changed, sums = list(actuators), {}
    tendon_names = {spec.name for spec in tendons}
    couplings = {spec.name: spec.tendon for spec in tendons if isinstance(spec.tendon, Coupling)}
    acting = [place for place, spec in enumerate(changed) if _acts(spec.actuator)]
    for axis, (lower, upper) in limits.items():
        direct = [place for place in acting if changed[place].axis == axis]
        through = [
            changed[place]
            for place in acting
            if axis in getattr(couplings.get(changed[place].axis), "terms", ())
        ]
        if len(direct) == 1 and not through:
            actuator_ = changed[direct[0]]
            gear = 1.0 if axis in tendon_names else actuator_.actuator.gear
            if gear:
                low, high = sorted((lower / gear, upper / gear))
                low, high = np.clip(actuator_.actuator.force_limits, low, high)
                narrowed = (float(low), float(high))
                changed[direct[0]] = replace(
                    actuator_, actuator=replace(actuator_.actuator, force_limits=narrowed)
                )
            continue
        sharing = [changed[place] for place in direct] + through
        feeding = [actuator_.name for actuator_ in sharing if actuator_.actuator.feeds_back]
        if feeding:
            raise ValueError(
                f"axis {axis!r}: {', '.join(actuator_.name for actuator_ in sharing)} have a limit "
                f"of their sum, which motors may have only, but the force of {', '.join(feeding)} "
                "depends on the motion: limit each actuator instead"
            )
        if sharing:
            sums[axis] = (lower, upper)
    return changed, sums


def _acts(actuator: Actuator) -> bool:
    """Return whether an actuator can have a force; one that is switched off cannot."""
    return bool(actuator.gain or actuator.offset or actuator.feeds_back)


def sum_limit_table(
    sums: Mapping[str, Range], names: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices of the axes and tendons with a limit on the sum of their actuators'
    forces, and these limits [n, n 2].

    Args:
        sums: limits by name.
        names: names of all axes, then of all tendons.
    """
    index = sorted(names.index(name) for name in sums)
    bounds = np.array([sums[names[place]] for place in index], float).reshape(-1, 2)
    return np.array(index, np.int32), bounds
