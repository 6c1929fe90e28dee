"""Cut recordings of single impacts out of the drops of the square, and build its model."""

from pathlib import Path

import numpy as np
from jaxtyping import Float

import jaxccp
from jaxccp.identify import Recording, recording

SIDE, MASS = 0.06, 0.05
"""Length of a side [m] and mass [kg]; the mass is unknown, and no result depends on it."""
GRAVITY = 9.81
AXES = "x", "y", "theta"
FIT = 6
"""Number of samples of flight before and after an impact to which its velocities are fitted."""
KICK = 0.35
"""Smallest change of the vertical velocity within a sample that counts as an impact [m/s]."""
MAX_DISTANCE = 6e-3
"""Largest distance of the lowest corner from the floor at the time of an impact [m]."""
CLEAR = 0.02
"""Smallest height of the second corner above the lowest one before an impact [m]: a lower one
touches within the same sample."""
RIG = """<mujoco><compiler angle="radian"/><option gravity="0 0 -9.81"/><worldbody>
<geom type="plane" size="2 1 .1" friction="{friction} 0 0"/>
<body name="square"><joint name="x" type="slide" axis="1 0 0"/>
  <joint name="y" type="slide" axis="0 0 1"/><joint name="theta" axis="0 -1 0"/>
  <inertial pos="0 0 0" mass="{mass}" diaginertia="{inertia} {inertia} {inertia}"/>
  <geom type="box" size=".03 .01 .03" friction="{friction} 0 0"/></body>
</worldbody></mujoco>"""


def rig(friction: float = 0.2, inertia: float = 1.0):
    """Return the model of the square over the floor.

    Args:
        friction: Coulomb's coefficient.
        inertia: moment of inertia relative to that of a uniform square.
    """
    uniform = MASS * SIDE**2 / 6.0
    return jaxccp.load(RIG.format(friction=friction, mass=MASS, inertia=inertia * uniform))


def read(path: Path) -> tuple[Float[np.ndarray, "n 200 3"], float]:
    """Return the drops in which the tracker did not jump, and the time between samples [s].

    The marker's mounting angle and the floor's height are those at which the squares come to rest.
    """
    data = np.load(path)
    q = np.asarray(data["q"], float).reshape(len(data["lengths"]), -1, 3)[~data["jump"]]
    last = q[:, -1, 2]
    q[:, :, 2] -= np.median((last + np.pi / 4) % (np.pi / 2) - np.pi / 4)
    q[:, :, 1] -= np.median(lowest(q[:, -1]))
    return q, float(data["dt"])


def lowest(q: Float[np.ndarray, "*b 3"]) -> Float[np.ndarray, "*b"]:
    """Return the height of the lowest corner above the floor [m]."""
    return q[..., 1] - 0.5 * SIDE * (np.abs(np.sin(q[..., 2])) + np.abs(np.cos(q[..., 2])))


def second_corner(theta: float) -> float:
    """Return the height of the second lowest corner above the lowest one [m]."""
    return SIDE * min(abs(np.sin(theta)), abs(np.cos(theta)))


def cut(q: Float[np.ndarray, "n s 3"], dt: float) -> list[Recording]:
    """Return recordings of single impacts with :data:`FIT` samples of free flight on both sides.

    Their velocities are those of parabolas fitted to the flights, at the middle of the samples
    between which the velocity jumps.

    Args:
        q: poses of the drops.
        dt: time between samples [s].
    """
    impacts = []
    for number, drop in enumerate(q):
        height = lowest(drop)
        kicks = np.flatnonzero(np.diff(drop[:, 1], 2) / dt > KICK) + 1
        groups = np.split(kicks, np.flatnonzero(np.diff(kicks) > 1) + 1) if len(kicks) else []
        for place, group in enumerate(groups):
            first, last = group[0] - 1, group[-1] + 1
            begin, end = first - FIT + 1, last + FIT
            crowded = (place and groups[place - 1][-1] > begin) or (
                place + 1 < len(groups) and groups[place + 1][0] < end - 1
            )
            if len(group) > 2 or begin < 2 or end > len(drop) or crowded:
                continue
            if (
                min(height[begin], height[end - 1]) < 1e-3
                or height[begin:end].min() < -MAX_DISTANCE
            ):
                continue
            moment = 0.5 * (first + last)
            before = flight(drop[begin : first + 1], np.arange(begin, first + 1) - moment, dt)
            after = flight(drop[last:end], np.arange(last, end) - moment, dt)
            if abs(lowest(before[0])) > MAX_DISTANCE:
                continue  # It hit something else, or the tracker lost it.
            if second_corner(before[0][2]) < CLEAR:
                continue
            rates = np.stack([before[1], after[1]])
            places = np.stack([before[0], after[0]])
            impacts.append(
                recording(
                    np.array([0.0, dt]),
                    f"drop {number}, sample {group[0]}",
                    position=dict(zip(AXES, places.T, strict=True)),
                    rate=dict(zip(AXES, rates.T, strict=True)),
                )
            )
    return impacts


def flight(q: np.ndarray, samples: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the pose and the velocity at sample 0 of free flight through some poses.

    Args:
        q: poses of the samples.
        samples: numbers of the samples, relative to the time at which the result is wanted.
        dt: time between samples [s].
    """
    time = samples * dt
    fallen = q + 0.5 * GRAVITY * time[:, None] ** 2 * np.array([0.0, 1.0, 0.0])
    level, slope = np.linalg.lstsq(np.stack([np.ones_like(time), time], axis=1), fallen)[0]
    return level, slope
