"""The scenes: gymnasium's robots, a stack of boxes and heaps of spheres, all as MuJoCo files."""

import importlib.util
from pathlib import Path

ROBOTS = ("ant", "humanoid")
BOXES, SIDE = 10, 0.1
"""Of the stack; sides [m]."""
RADIUS = 0.05
"""Of the spheres [m]."""
STEP = 5e-3
"""[s]"""


def scene(name: str, folder: Path) -> Path:
    """The file of a scene: ``ant``, ``humanoid``, ``stack``, or ``spheres`` and their number.

    What is not among gymnasium's models is written to ``folder``.
    """
    if name in ROBOTS:
        return robot(name)
    bodies = _stack() if name == "stack" else _heap(int(name.removeprefix("spheres")))
    path = folder / f"{name}.xml"
    path.write_text(
        f'<mujoco><option timestep="{STEP}" cone="elliptic"/><default><geom friction="0.5"/>'
        f'</default><worldbody><geom type="plane" size="5 5 1"/>{bodies}</worldbody></mujoco>'
    )
    return path


def robot(name: str) -> Path:
    """One of gymnasium's models."""
    spec = importlib.util.find_spec("gymnasium")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("gymnasium is not installed; its models are needed: pip install gymnasium")
    return Path(spec.submodule_search_locations[0]) / "envs" / "mujoco" / "assets" / f"{name}.xml"


def _stack() -> str:
    size = " ".join([str(SIDE / 2)] * 3)
    return "".join(
        f'<body pos="0 0 {(i + 0.5) * SIDE}"><freejoint/>'
        f'<geom type="box" size="{size}" mass="1"/></body>'
        for i in range(BOXES)
    )


def _heap(count: int) -> str:
    """As high as wide, between four walls, each layer a little to the side of the one below."""
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
