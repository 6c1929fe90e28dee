"""Mechanisms with closed loops that can be added to a builder: a slider-crank, a Stewart platform
and Jansen's leg."""

import numpy as np

from jaxccp.model.joints import Prismatic, Revolute, Spherical, Universal
from jaxccp.scene.builder import ModelBuilder

PIN = Revolute((0, 1, 0))


def _bar(builder: ModelBuilder, ends: list[np.ndarray], name: str, density: float = 1.0) -> int:
    """Add a body between points and return its index; its moment of inertia is that of a slender
    rod across the rod, about all axes.

    Args:
        builder: the builder to add it to.
        ends: the points [m].
        name: name of the body.
        density: mass per length [kg/m]; the length is the largest distance of two points.
    """
    points = np.array(ends, float)
    length = float(max(np.linalg.norm(a - b) for a in points for b in points))
    mass = density * length
    moment = mass * length**2 / 12
    return builder.add_body(mass, (moment, moment, moment), points.mean(axis=0), name=name)


def slider_crank(
    builder: ModelBuilder, at: tuple[float, float, float], crank: float = 0.1, rod: float = 0.3
) -> None:
    """Add a slider-crank with the joints ``crank``, about y, and ``slider``, along x.

    Args:
        builder: the builder.
        at: centre of the crank [m].
        crank: length of the crank, which points along x [m].
        rod: length of the connecting rod [m].
    """
    origin = np.array(at, float)
    pin, end = origin + np.array([crank, 0, 0]), origin + np.array([crank + rod, 0, 0])
    turning = _bar(builder, [origin, pin], "crank")
    linking = _bar(builder, [pin, end], "connecting rod")
    piston = builder.add_body(0.5, (1e-3, 1e-3, 1e-3), end, name="piston")
    builder.add_joint(PIN, 0, turning, origin, name="crank")
    builder.add_joint(PIN, turning, linking, pin, name="crank pin")
    builder.add_joint(PIN, linking, piston, end, name="piston pin")
    builder.add_joint(Prismatic((1, 0, 0)), 0, piston, end, name="slider")


def stewart_platform(
    builder: ModelBuilder,
    at: tuple[float, float, float],
    base: float = 0.5,
    top: float = 0.3,
    height: float = 0.6,
) -> None:
    """Add a Stewart platform: six legs between hexagons on the ground and on the platform.

    Each leg has a universal joint at its foot, a spherical one at its head, and between its two
    halves a prismatic one (``leg0`` to ``leg5``), whose anchor is the foot.

    Args:
        builder: the builder.
        at: centre of the hexagon on the ground [m].
        base: radius of that hexagon [m].
        top: radius of the hexagon under the platform [m].
        height: height of the platform above the ground [m].
    """
    origin = np.array(at, float)
    middle = origin + np.array([0, 0, height])
    platform = builder.add_body(2.0, (0.05, 0.05, 0.09), middle, name="platform")
    for i in range(6):
        side, pair = 1 if i % 2 else -1, 2 * np.pi * (i // 2) / 3
        foot_angle, head_angle = pair + side * 0.2, pair + side * 0.85
        foot = origin + base * np.array([np.cos(foot_angle), np.sin(foot_angle), 0])
        head = origin + np.array([top * np.cos(head_angle), top * np.sin(head_angle), height])
        direction = (head - foot) / np.linalg.norm(head - foot)
        orientation = _upright(direction)
        lower = _bar(builder, [foot, foot + 0.5 * (head - foot)], f"lower{i}")
        upper = _bar(builder, [head, foot + 0.5 * (head - foot)], f"upper{i}")
        builder.add_joint(Universal(), 0, lower, foot, orientation, name=f"foot{i}")
        builder.add_joint(Prismatic(), lower, upper, foot, orientation, name=f"leg{i}")
        builder.add_joint(Spherical(), upper, platform, head, name=f"head{i}")


def _upright(direction: np.ndarray) -> np.ndarray:
    """Return the quaternion of the shortest rotation from z to a direction, which must not be
    −z."""
    q = np.array([1 + direction[2], -direction[1], direction[0], 0.0])
    return q / np.linalg.norm(q)


JANSEN = {
    "a": 38.0, "b": 41.5, "c": 39.3, "d": 40.1, "e": 55.8, "f": 39.4, "g": 36.7,
    "h": 65.7, "i": 49.0, "j": 50.0, "k": 61.9, "l": 7.8, "m": 15.0,
}  # fmt: skip
"""Lengths of Theo Jansen's leg (The Great Pretender, 2007), by their letters there [cm]."""


def jansen_points(crank_angle: float) -> dict[str, np.ndarray]:
    """Return the positions of the leg's pins in its plane, relative to the crank's centre [m].

    They are intersections of circles; ``crank_angle`` is in rad.
    """
    n = {name: 0.01 * length for name, length in JANSEN.items()}
    fixed = np.array([-n["a"], -n["l"]])
    tip = n["m"] * np.array([np.cos(crank_angle), np.sin(crank_angle)])
    knee = _circle_intersection(tip, n["j"], fixed, n["b"])
    heel = _circle_intersection(fixed, n["c"], tip, n["k"])
    hip = _circle_intersection(knee, n["e"], fixed, n["d"])
    ankle = _circle_intersection(hip, n["f"], heel, n["g"])
    foot = _circle_intersection(ankle, n["h"], heel, n["i"])
    return {
        "centre": np.zeros(2), "fixed": fixed, "tip": tip, "knee": knee,
        "heel": heel, "hip": hip, "ankle": ankle, "foot": foot,
    }  # fmt: skip


def _circle_intersection(
    a: np.ndarray, reach_a: float, b: np.ndarray, reach_b: float
) -> np.ndarray:
    """Return the point where circles around ``a`` and ``b`` intersect, right of the line from a to
    b [m]."""
    offset = b - a
    distance = np.linalg.norm(offset)
    forward = (reach_a**2 - reach_b**2 + distance**2) / (2 * distance)
    sideways = np.sqrt(reach_a**2 - forward**2)
    unit = offset / distance
    return a + forward * unit + sideways * np.array([unit[1], -unit[0]])


def jansen_leg(builder: ModelBuilder, at: tuple[float, float, float]) -> None:
    """Add Jansen's leg: seven bars and ten pins with one degree of freedom.

    Args:
        builder: the builder.
        at: centre of the crank, whose joint is ``leg crank centre`` [m].
    """
    flat = jansen_points(0.0)
    p = {name: np.array([at[0] + x, at[1], at[2] + z]) for name, (x, z) in flat.items()}
    bars = {
        name: _bar(builder, [p[pin] for pin in pins], f"leg {name}")
        for name, pins in {
            "crank": ("centre", "tip"),
            "j": ("tip", "knee"),
            "k": ("tip", "heel"),
            "upper": ("fixed", "knee", "hip"),
            "c": ("fixed", "heel"),
            "f": ("hip", "ankle"),
            "foot": ("ankle", "heel", "foot"),
        }.items()
    }
    bars["ground"] = 0
    for first, second, pin in (
        ("ground", "crank", "centre"),
        ("crank", "j", "tip"),
        ("crank", "k", "tip"),
        ("ground", "upper", "fixed"),
        ("ground", "c", "fixed"),
        ("j", "upper", "knee"),
        ("k", "c", "heel"),
        ("c", "foot", "heel"),
        ("upper", "f", "hip"),
        ("f", "foot", "ankle"),
    ):
        builder.add_joint(PIN, bars[first], bars[second], p[pin], name=f"leg {second} {pin}")
