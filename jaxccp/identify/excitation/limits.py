"""Limits of a motion: positions, rates, accelerations and torques of joints, and distances."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.collision.detect import detect
from jaxccp.identify.case import Mechanism
from jaxccp.identify.checks.limits import limits_of
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.names import matches, suggestion

LimitValue = float | tuple[float, float]
QUANTITIES = ("position", "rate", "acceleration", "torque")
"""Kinds of limits of a joint, in order."""
MAX_DISTANCE = 1e3
"""Distance up to which pairs of shapes are considered [m]."""


@dataclass(frozen=True)
class Limits:
    """Limits by joint; names may contain the wildcards ``*`` and ``?``, and those without any take
    precedence. A single number limits both directions, as does a limit with one infinite end.

    By default positions have the limits of the model's joints, ±π where a hinge has none, and
    torques those of its actuators; rates and accelerations are not limited.
    """

    position: Mapping[str, LimitValue] | LimitValue | None = None
    """Limits of recorded coordinates [m, rad]."""
    rate: Mapping[str, LimitValue] | LimitValue | None = None
    """Limits of rates [m/s, rad/s]."""
    acceleration: Mapping[str, LimitValue] | LimitValue | None = None
    """Limits of accelerations [m/s², rad/s²]."""
    torque: Mapping[str, LimitValue] | LimitValue | None = None
    """Limits of the forces and torques along the axes [N, N m]."""
    clearance: float = 0.0
    """Smallest allowed distance between shapes that can collide [m]; a negative value allows
    overlap."""

    @staticmethod
    def read(text: str) -> "Limits":
        """Return limits from a text such as ``rate=2,torque.wrist=5,position.base=-1:1``.

        Args:
            text: ``KIND=VALUE`` or ``KIND.JOINT=VALUE`` between commas; VALUE a number or LOW:HIGH.

        Raises:
            ValueError: a part has another form, or a kind is not known.
        """
        kinds = [field.name for field in fields(Limits)]
        limits: dict[str, dict[str, LimitValue]] = {}
        clearance = 0.0
        for part in filter(None, (piece.strip() for piece in text.split(","))):
            left, _, right = part.partition("=")
            kind, _, joint = left.strip().partition(".")
            if kind not in kinds:
                raise ValueError(
                    f"cannot limit {kind!r}; limits are {', '.join(kinds)}{suggestion(kind, kinds)}"
                )
            try:
                numbers = [float(number) for number in right.split(":")]
                if len(numbers) > 2:
                    raise ValueError
            except ValueError:
                raise ValueError(
                    f"{part!r} is no limit: write {left}=VALUE or {left}=LOW:HIGH"
                ) from None
            if kind == "clearance":
                if joint or len(numbers) > 1:
                    raise ValueError(f"{part!r}: clearance takes one number [m] and no joint")
                clearance = numbers[0]
            else:
                value = numbers[0] if len(numbers) == 1 else (numbers[0], numbers[1])
                limits.setdefault(kind, {})[joint or "*"] = value
        return replace(Limits(clearance=clearance), **limits)


def joint_limits(
    limits: Limits, mechanism: Mechanism, joints: Sequence[str]
) -> Float[np.ndarray, "4 2 n"]:
    """Return the lowest and highest position, rate, acceleration and torque of each joint.

    Where none is given, a position has the limits of the model's joint, ±π if a hinge has none, and
    a torque those of the joint's actuators; other limits that are not given are infinite.

    Args:
        limits: the given limits.
        mechanism: the mechanism, with limits to use where none are given.
        joints: names of axes.

    Raises:
        ValueError: a limit is for a joint that does not exist, the lowest value is not below the
            highest, a limit has one end only and leaves out 0, or a joint has no limit of rate,
            acceleration or torque, or a slide none of position.
    """
    out = np.full((4, 2, len(joints)), np.inf) * np.array([-1.0, 1.0])[:, None]
    model_limits = limits_of(mechanism)
    out[0] = np.array([model_limits[name][:2] for name in joints]).T
    out[3] = _actuator_limits(mechanism, joints)
    for place, kind in enumerate(QUANTITIES):
        setting = getattr(limits, kind)
        entries = (
            setting if isinstance(setting, Mapping) else {} if setting is None else {"*": setting}
        )
        # Those of single joints come last, and so count where a pattern names the joint too.
        for pattern, value in sorted(entries.items(), key=lambda e: not set("*?") & set(e[0])):
            matching = [k for k, name in enumerate(joints) if matches(name, pattern)]
            if not matching:
                raise ValueError(
                    f"there is no joint {pattern!r} to limit; there are {', '.join(joints)}"
                )
            low, high = value if isinstance(value, tuple) else (-value, value)
            if not low < high:
                raise ValueError(f"{kind} of {pattern}: {low:g} is not below {high:g}")
            out[place][:, matching] = np.array([[low], [high]])
    for number, name in enumerate(joints):
        if not np.isfinite(out[0, :, number]).all():
            if not model_limits[name][2]:
                raise ValueError(f"joint {name!r} can slide anywhere: limit its position")
            out[0, :, number] = np.where(
                np.isfinite(out[0, :, number]), out[0, :, number], [-np.pi, np.pi]
            )
        for kind, (low, high) in zip(QUANTITIES, out[:, :, number], strict=True):
            if np.isfinite(low) != np.isfinite(high) and not low < 0 < high:
                raise ValueError(
                    f"{kind} of {name}: {low:g} … {high:g} has one end only and no room on the "
                    "other side of 0: give the other end, too"
                )
        if not np.isfinite(out[1:, :, number]).all(axis=1).any():
            raise ValueError(
                f"joint {name!r} has no limit of rate, acceleration or torque, so that no motion "
                "is fast enough: give one, such as rate=2"
            )
    return out


def _actuator_limits(mechanism: Mechanism, joints: Sequence[str]) -> Float[np.ndarray, "2 n"]:
    """Return the lowest and highest total force of each joint's actuators [N, N m]; infinite for a
    joint without one."""
    model = mechanism.model
    linkage, actuators = model.topology.linkage, model.actuators
    low, high = np.asarray(actuators.force_limits, float).T
    control = np.asarray(actuators.control_limits, float) * np.asarray(actuators.gain)[:, None]
    open_loop = (np.asarray(actuators.stiffness) == 0) & (np.asarray(actuators.damping) == 0)
    driven = np.sort(control, axis=1) + np.asarray(actuators.offset)[:, None]
    low = np.where(open_loop, np.maximum(low, driven[:, 0]), low)
    high = np.where(open_loop, np.minimum(high, driven[:, 1]), high)
    ends = np.sort(np.stack([low, high]) * np.asarray(actuators.gear), axis=0)
    out = np.full((2, len(joints)), np.inf) * np.array([[-1.0], [1.0]])
    sums = dict(zip(linkage.summed.tolist(), np.asarray(model.axes.actuator_limits), strict=True))
    acting = np.asarray(actuators.gain * actuators.gear) != 0
    for place, name in enumerate(joints):
        axis = linkage.axis(name)
        drivers = np.flatnonzero((linkage.actuated == axis) & acting)
        if len(drivers):
            out[:, place] = ends[:, drivers].sum(axis=1)
        if axis in sums:
            out[0, place] = max(out[0, place], float(sums[axis][0]))
            out[1, place] = min(out[1, place], float(sums[axis][1]))
    return out


def distances(model: Model, state: State) -> tuple[Float[Array, " c"], Float[Array, "c 2"]]:
    """Return the gap of every contact slot of the pairs of shapes that can collide [m], and the two
    shapes of each slot; whether contact is hard or smooth does not matter.

    A pair of boxes has several slots. The gap of a slot without a contact is :data:`MAX_DISTANCE`.

    Args:
        model: whose shapes they are.
        state: poses of its bodies.
    """
    wide = replace(model, contact=replace(model.contact, margin=jnp.asarray(MAX_DISTANCE)))
    # Without the room that fitted the contacts of some run.
    pairs = tuple(replace(group, room=None) for group in model.topology.touchable)
    wide = replace(wide, topology=replace(model.topology, pairs=pairs, max_contacts=None))
    contacts = detect(wide, state)
    return jnp.where(contacts.live, contacts.gap, MAX_DISTANCE), contacts.shapes
