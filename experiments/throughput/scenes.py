"""Provide the scenes as MuJoCo files: gymnasium's robots, stacks of boxes and heaps of spheres."""

import importlib.util
import random
from pathlib import Path

ROBOTS = ("ant", "humanoid")
BOXES, SIDE = 10, 0.1
"""Number of boxes of a stack, and length of their sides [m]."""
ASKEW = 1e-3
"""Largest offset of boxes of the tower [m]; their largest yaw is ten times that [rad]."""
RADIUS = 0.05
"""Radius of the spheres [m]."""
STEP = 5e-3
"""Length of a step [s]."""


def scene(name: str, folder: Path) -> Path:
    """Return the file of a scene, which is written to ``folder`` unless it is one of gymnasium's.

    Scenes are ``ant``, ``humanoid``, ``stack``, ``tower``, which is a misaligned stack, and
    ``spheres`` followed by their number.
    """
    if name in ROBOTS:
        return robot(name)
    if name in ("stack", "tower"):
        bodies = _stack(ASKEW if name == "tower" else 0.0)
    else:
        bodies = _heap(int(name.removeprefix("spheres")))
    path = folder / f"{name}.xml"
    path.write_text(
        f'<mujoco><compiler angle="radian"/><option timestep="{STEP}" cone="elliptic"/>'
        f'<default><geom friction="0.5"/>'
        f'</default><worldbody><geom type="plane" size="5 5 1"/>{bodies}</worldbody></mujoco>'
    )
    return path


def robot(name: str) -> Path:
    """Return the file of one of gymnasium's models.

    Raises:
        SystemExit: gymnasium is not installed.
    """
    spec = importlib.util.find_spec("gymnasium")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("gymnasium is not installed; its models are needed: pip install gymnasium")
    return Path(spec.submodule_search_locations[0]) / "envs" / "mujoco" / "assets" / f"{name}.xml"


def _stack(askew: float) -> str:
    size, draw = " ".join([str(SIDE / 2)] * 3), random.Random(0)
    bodies = ""
    for i in range(BOXES):
        x, y, yaw = (askew * draw.uniform(-1, 1) for _ in range(3))
        bodies += (
            f'<body pos="{x} {y} {(i + 0.5) * SIDE}" euler="0 0 {10 * yaw}"><freejoint/>'
            f'<geom type="box" size="{size}" mass="1"/></body>'
        )
    return bodies


def _heap(count: int) -> str:
    """Return a cubic heap of spheres between four walls, each layer slightly offset from the one
    below.

    Raises:
        SystemExit: ``count`` is not a cube.
    """
    edge = round(count ** (1 / 3))
    if edge**3 != count:
        raise SystemExit(f"spheres are 27, 125, 512, … : {count} is no cube")
    pitch, wall = 2.02 * RADIUS, edge * 2.02 * RADIUS / 2 + 0.4 * RADIUS
    walls = "".join(
        f'<geom type="plane" size="5 5 1" pos="{x * wall} {y * wall} 0" zaxis="{-x} {-y} 0"/>'
        for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1))
    )
    spheres = ""
    for i in range(count):
        z, rest = divmod(i, edge * edge)
        y, x = divmod(rest, edge)
        aside = 0.3 * RADIUS * (1 if z % 2 else -1)
        at = [(k - (edge - 1) / 2) * pitch + aside for k in (x, y)]
        spheres += (
            f'<body pos="{at[0]} {at[1]} {RADIUS + z * pitch}"><freejoint/>'
            f'<geom type="sphere" size="{RADIUS}" mass="1"/></body>'
        )
    return walls + spheres
