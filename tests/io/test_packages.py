"""Check that models of other packages load, move and stand, where these packages are installed.

dm_control's quadruped and dog, gymnasium-robotics' Fetch and Shadow hand; their files are read from
where the packages are, and nothing of the packages is imported.
"""

from importlib.util import find_spec
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import EulerImplicitLinearized, State, load, rollout
from jaxccp.io import Loaded
from tests.io.smooth_accelerations import smooth_accelerations

mujoco = pytest.importorskip("mujoco")
from experiments.mjcf import reference  # noqa: E402

FILES = {
    "quadruped": ("dm_control", "suite/quadruped.xml", 24),
    "dog": ("dm_control", "suite/dog.xml", 120),
    "fetch": ("gymnasium_robotics", "envs/assets/fetch/reach.xml", 16),
    "hand": ("gymnasium_robotics", "envs/assets/hand/reach.xml", 24),
}
"""Package, file, and capacity for contacts."""
H = 2e-3


@pytest.fixture(scope="module", params=FILES)
def opened(request: pytest.FixtureRequest) -> tuple[Path, Loaded]:
    package, file, room = FILES[request.param]
    spec = find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        pytest.skip(f"{request.param} is a model of {package}, which is not installed")
    path = Path(spec.submodule_search_locations[0]) / file
    if not path.is_file():
        pytest.skip(f"this version of {package} has no {file}")
    return path, load(path, max_contacts=room)


def test_accelerations_are_mujocos(opened: tuple[Path, Loaded]) -> None:
    path, loaded = opened
    theirs, rng = reference.smooth(path), np.random.default_rng(0)
    qacc = smooth_accelerations(loaded)
    for _ in range(3):
        drawn = reference.random_state(theirs, rng, spread=0.1)
        activation = 0.3 * rng.normal(size=theirs.na)
        expected = reference.accelerations(theirs, *drawn, activation)
        ours = qacc(*drawn, activation)
        np.testing.assert_allclose(ours, expected, atol=1e-9 * np.abs(expected).max())


def bent(file: Path, loaded: Loaded) -> State:
    """Return the state of Fetch with its arm bent, and motion capture placed where the weld has it.

    Stretched out, as in the file, three of its axes coincide, and a hard weld lets them spin
    against each other.
    """
    model = mujoco.MjModel.from_xml_path(str(file))
    data = mujoco.MjData(model)
    gripper = model.body("robot0:gripper_link").id
    poses = []
    for angles in ({}, {"shoulder_lift": -0.6, "elbow_flex": 1.4, "wrist_flex": 0.7}):
        for name, angle in angles.items():
            data.qpos[model.jnt_qposadr[model.joint(f"robot0:{name}_joint").id]] = angle
        mujoco.mj_kinematics(model, data)
        poses.append((data.xpos[gripper].copy(), data.xmat[gripper].reshape(3, 3).copy()))
    (first, first_rotation), (place, last_rotation) = poses
    relative = last_rotation @ first_rotation.T
    quaternion = np.zeros(4)
    mujoco.mju_mat2Quat(quaternion, relative.ravel())
    pose = jnp.asarray(place - relative @ first)[None], jnp.asarray(quaternion)[None]
    state = loaded.layout.with_mocap(loaded.model, loaded.state, *pose)
    return loaded.layout.state(loaded.model, state, jnp.asarray(data.qpos))


@pytest.mark.long
def test_it_stands_for_a_second(opened: tuple[Path, Loaded]) -> None:
    file, loaded = opened
    start = bent(file, loaded) if file.parent.name == "fetch" else loaded.state
    final, path = rollout(loaded.model, start, EulerImplicitLinearized(H), round(1 / H))
    assert not loaded.ignored and not loaded.sensors.unreadable
    assert not np.any(path.report.solver.status) and not np.any(path.report.overflow)
    qpos, qvel = loaded.layout.coordinates(loaded.model, final)
    assert np.isfinite([*qpos, *qvel]).all()
