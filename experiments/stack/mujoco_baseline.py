"""Simulate the aligned stack in MuJoCo, with default contacts and as stiff as its step allows."""

import importlib
from collections.abc import Sequence

import numpy as np

STEP = 1e-3
SECONDS = 2.0
CONTACTS = {
    "MuJoCo, default": "",
    "MuJoCo, stiff": f'solref="{2 * STEP} 1" solimp="0.999 0.9999 1e-4"',
}
"""Contact settings of MuJoCo by name; its shortest possible time constant is two steps."""


def sag(ratio: float, contact: str, count: int, side: float, friction: float) -> float:
    """Return the largest displacement of a box from its initial position [m].

    Args:
        ratio: mass of the highest box [kg]; the others have 1 kg.
        contact: MJCF attributes of the contacts.
        count: number of boxes.
        side: length of a side [m].
        friction: Coulomb's coefficient.
    """
    mujoco = importlib.import_module("mujoco")
    boxes = "".join(
        f'<body pos="0 0 {(i + 0.5) * side}"><freejoint/>'
        f'<geom type="box" size="{side / 2} {side / 2} {side / 2}" '
        f'mass="{ratio if i == count - 1 else 1}" friction="{friction} 0 0" {contact}/></body>'
        for i in range(count)
    )
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{STEP}" cone="elliptic" iterations="200" tolerance="1e-12"/>'
        f'<worldbody><geom type="plane" size="5 5 1" friction="{friction} 0 0" {contact}/>'
        f"{boxes}</worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    start, worst = data.qpos.reshape(-1, 7)[:, :3].copy(), 0.0
    for _ in range(round(SECONDS / STEP)):
        mujoco.mj_step(model, data)
        displacement = np.linalg.norm(data.qpos.reshape(-1, 7)[:, :3] - start, axis=1)
        worst = max(worst, float(displacement.max()))
    return worst


def sags(
    ratios: Sequence[float], count: int, side: float, friction: float
) -> dict[str, list[float]]:
    """Return the largest displacements [m] for each mass ratio, by contact setting.

    Args:
        ratios: masses of the highest box over that of another one.
        count: number of boxes.
        side: length of a side [m].
        friction: Coulomb's coefficient.
    """
    return {
        name: [sag(ratio, contact, count, side, friction) for ratio in ratios]
        for name, contact in CONTACTS.items()
    }
