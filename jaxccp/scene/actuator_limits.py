"""Limits of what several actuators together exert along an axis or a tendon."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from jaxccp.model.activation import Range
from jaxccp.model.actuator import Actuator
from jaxccp.model.tendons import Coupling
from jaxccp.scene.tendon_tables import TendonSpec


@dataclass
class ActuatorSpec:
    """An actuator as it was added, with the name of its axis or tendon."""

    name: str
    actuator: Actuator
    axis: str


def limited(
    actuators: Sequence[ActuatorSpec], tendons: Sequence[TendonSpec], limits: Mapping[str, Range]
) -> tuple[list[ActuatorSpec], dict[str, Range]]:
    """Return the actuators with the limits that are of one alone, and the limits that are of sums.

    Args:
        actuators: as they were added.
        tendons: as they were added.
        limits: lowest and highest force of all actuators together [N, N m], by the name of the axis
            or tendon that they act along.

    Raises:
        ValueError: actuators that share a limit feed back.
    """
    changed, sums = list(actuators), {}
    ropes = {one.name for one in tendons}
    couplings = {one.name: one.tendon for one in tendons if isinstance(one.tendon, Coupling)}
    for axis, (lower, upper) in limits.items():
        direct = [place for place, one in enumerate(changed) if one.axis == axis]
        through = [one for one in changed if axis in getattr(couplings.get(one.axis), "terms", ())]
        if len(direct) == 1 and not through:
            one = changed[direct[0]]
            gear = 1.0 if axis in ropes else one.actuator.gear
            if gear:
                low, high = sorted((lower / gear, upper / gear))
                known = one.actuator.force_limits
                both = (max(known[0], low), min(known[1], high))
                changed[direct[0]] = replace(one, actuator=replace(one.actuator, force_limits=both))
            continue
        sharing = [changed[place] for place in direct] + through
        feeding = [one.name for one in sharing if one.actuator.feeds_back]
        if feeding:
            raise ValueError(
                f"axis {axis!r}: {', '.join(one.name for one in sharing)} have a limit of their "
                f"sum, which motors may have only, but the force of {', '.join(feeding)} depends "
                "on the motion: limit each actuator instead"
            )
        if sharing:
            sums[axis] = (lower, upper)
    return changed, sums


def table(sums: Mapping[str, Range], names: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the coordinates with limits of sums, and these limits [n, n 2].

    Args:
        sums: limits by name.
        names: of all axes, then of all tendons.
    """
    index = sorted(names.index(name) for name in sums)
    bounds = np.array([sums[names[place]] for place in index], float).reshape(-1, 2)
    return np.array(index, np.int32), bounds
