"""Check that connections and welds of a file hold, and that bodies keep the coordinates of the
file."""

import json
from importlib.util import find_spec
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

from jaxccp import EulerImplicitLinearized, RungeKutta4, State, load, rollout
from jaxccp.cli import app
from jaxccp.dynamics.steppers import SolvedStepper
from jaxccp.io import Loaded
from tests.io.smooth_accelerations import smooth_accelerations

mujoco = pytest.importorskip("mujoco")
from experiments.mjcf import reference  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
BOX = '<geom type="box" size="0.05 0.1 0.02" mass="1" pos="0.01 0.02 0"/>'
BAR = '<geom type="capsule" size="0.02" fromto="0 0 0 0.4 0 0" mass="0.7"/>'

TIED = f"""
<mujoco>
  <option><flag contact="disable"/></option>
  <worldbody>
    <body name="pinned" pos="0 0 1"><freejoint/>{BOX}</body>
    <body name="second" pos="0 0 0.7"><freejoint/>{BOX}</body>
    <body name="third" pos="0 0 0.4"><freejoint/>{BOX}<site name="end" pos="0 0 -0.1"/>
      <body name="tail" pos="0 0.1 0"><joint axis="1 0 0"/>{BOX}</body></body>
    <body name="arm" pos="1 0 1"><joint axis="0 1 0"/>{BAR}</body>
    <body name="load" pos="1.5 0 1" euler="10 20 30"><joint type="free" damping="0.3"/>{BOX}</body>
    <body name="glued" pos="1.2 0.2 1" euler="30 0 0"><freejoint/>{BOX}</body>
    <body name="ship" pos="0 2 1"><freejoint/>{BOX}
      <body name="crane" pos="0 0.1 0"><joint axis="0 1 0" pos="0 0 0.1"/>{BAR}</body></body>
    <body name="hand" mocap="true" pos="0 3 1"/>
    <body name="led" pos="0 3 1.2"><freejoint/>{BOX}<site name="grip" pos="0 0 0.1"/></body>
    <site name="rail" pos="0 3 1.3" euler="0 0 20"/>
  </worldbody>
  <equality>
    <connect name="hook" body1="pinned" anchor="0 0 0.3"/>
    <connect body1="pinned" body2="second" anchor="0.1 0 -0.15"/>
    <connect body1="third" body2="second" anchor="0 0.1 0.15"/>
    <weld body1="arm" body2="load" torquescale="0" anchor="-0.1 0 0.02"/>
    <weld body1="glued" body2="arm" torquescale="3"/>
    <connect body1="crane" anchor="0.4 0 0"/>
    <weld body1="hand" body2="led" torquescale="0" anchor="0 0 -0.2"/>
  </equality>
</mujoco>
"""
"""Free bodies tied to the world, to a link, to another free body and to motion capture, chains of
them, and one whose link is tied."""


@pytest.fixture(scope="module")
def tied(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Loaded]:
    path = tmp_path_factory.mktemp("tied") / "tied.xml"
    path.write_text(TIED)
    return path, load(path)


def quaternions(m) -> list[slice]:
    """Return the slices of a model's coordinates that hold quaternions."""
    free = int(mujoco.mjtJoint.mjJNT_FREE), 3
    ball = int(mujoco.mjtJoint.mjJNT_BALL), 0
    shift = dict([free, ball])
    pairs = zip(m.jnt_type, m.jnt_qposadr, strict=True)
    starts = [int(at) + shift[int(kind)] for kind, at in pairs if int(kind) in shift]
    return [slice(start, start + 4) for start in starts]


def check_round_trip(path: Path, loaded: Loaded) -> None:
    """Check that coordinates and rates survive the conversion to a state and back.

    They are random, whatever loops they open, and so are the directions in which derivatives are
    compared; a quaternion and its negative are one rotation.
    """
    m, rng, draws = mujoco.MjModel.from_xml_path(str(path)), np.random.default_rng(4), 3
    qpos, direction = rng.normal(size=(2, draws, m.nq))
    qvel, rate_direction = rng.normal(size=(2, draws, m.nv))
    for part in quaternions(m):
        qpos[:, part] /= np.linalg.norm(qpos[:, part], axis=1, keepdims=True)
        radial = np.sum(qpos[:, part] * direction[:, part], axis=1, keepdims=True)
        direction[:, part] -= radial * qpos[:, part]

    def trip(qpos: jax.Array, qvel: jax.Array) -> tuple[jax.Array, jax.Array]:
        state = loaded.layout.state(loaded.model, loaded.state, qpos, qvel)
        return loaded.layout.coordinates(loaded.model, state)

    @jax.jit
    @jax.vmap
    def both(qpos: jax.Array, qvel: jax.Array, direction: jax.Array, rate_direction: jax.Array):
        return jax.jvp(trip, (qpos, qvel), (direction, rate_direction))

    (q, v), (dq, dv) = both(*map(jnp.asarray, (qpos, qvel, direction, rate_direction)))
    q, dq = np.array(q), np.array(dq)
    for part in quaternions(m):
        sign = np.sign(np.sum(q[:, part] * qpos[:, part], axis=1, keepdims=True))
        q[:, part], dq[:, part] = sign * q[:, part], sign * dq[:, part]
    for value, expected in ((q, qpos), (v, qvel), (dq, direction), (dv, rate_direction)):
        np.testing.assert_allclose(value, expected, atol=1e-12)


def test_tied_bodies_keep_their_coordinates(tied: tuple[Path, Loaded]) -> None:
    check_round_trip(*tied)


def files() -> list[Path]:
    """Return the model files of this repository and of the packages that are installed."""
    folders = ROOT / "examples" / "models", ROOT / "jaxccp" / "envs" / "tasks"
    paths = [path for folder in folders for path in sorted(folder.glob("*.xml"))]
    for package in ("mujoco", "brax", "gymnasium"):
        spec = find_spec(package)
        for folder in (spec and spec.submodule_search_locations) or ():
            paths += sorted(Path(folder).rglob("*.xml"))
    return paths


@pytest.mark.long
@pytest.mark.parametrize("path", files(), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_model_keeps_its_coordinates(path: Path) -> None:
    try:
        loaded = load(path, allow_unsupported=True)
    except ValueError as error:
        pytest.skip(f"is refused: {error}")
    check_round_trip(path, loaded)


def test_accelerations_of_tied_bodies_are_mujocos(tied: tuple[Path, Loaded]) -> None:
    """Accelerations of tied bodies agree with MuJoCo's, also for welds without torque."""
    path, loaded = tied
    theirs, rng = reference.smooth(path), np.random.default_rng(2)
    qacc = smooth_accelerations(loaded)
    for _ in range(3):
        drawn = reference.random_state(theirs, rng, spread=0.3)
        expected = reference.accelerations(theirs, *drawn)
        np.testing.assert_allclose(qacc(*drawn[:2]), expected, atol=1e-8 * np.abs(expected).max())


HANGING = f"""
<mujoco>
  <option><flag contact="disable"/></option>
  <worldbody>
    <body name="upper" pos="0 0 1"><freejoint/>{BOX}</body>
    <body name="lower" pos="0 0 0.7"><freejoint/>{BOX}</body>
  </worldbody>
  <equality>
    <connect body1="upper" anchor="0 0 0.3"/>
    <weld body1="lower" body2="upper" torquescale="0" anchor="0 0.1 -0.1"/>
  </equality>
  <keyframe>
    <key name="closed" qpos="0 0 1 0.8 0 0 0.6  -0.096 0.128 0.7 0 0 0 1"
      qvel="0 0 0 0 0 5  -0.14 -0.48 0 0 0 0"/>
    <key name="open" qpos="0.2 0 1 1 0 0 0  0 0 0.7 0.6 0.8 0 0"/>
  </keyframe>
</mujoco>
"""
"""A double pendulum of free bodies. In the keyframe "closed" the upper one has turned about the
axis through its hook, and has carried the lower one's pivot with it."""
JOINTED = f"""
<mujoco>
  <option timestep="1e-4" integrator="RK4"><flag contact="disable"/></option>
  <worldbody>
    <body name="upper" pos="0 0 1"><joint type="ball" pos="0 0 0.3"/>{BOX}
      <body name="lower" pos="0 0 -0.3"><joint type="ball" pos="0 0.1 0.2"/>{BOX}</body></body>
  </worldbody>
</mujoco>
"""


@pytest.fixture(scope="module")
def hanging(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Loaded]:
    path = tmp_path_factory.mktemp("hung") / "hung.xml"
    path.write_text(HANGING)
    return path, load(path)


H = 1e-3
MAXIMAL = EulerImplicitLinearized(H, coordinates="maximal")


@pytest.mark.parametrize(("stepper", "tolerance"), [(RungeKutta4(H), 1e-8), (MAXIMAL, 0.2 * H)])
def test_hung_bodies_swing_as_on_joints(
    hanging: tuple[Path, Loaded], stepper: SolvedStepper, tolerance: float
) -> None:
    """Bodies tied by connections move as MuJoCo's bodies on ball joints, to the order of the
    stepper.

    Args:
        hanging: the file of the pendulum and what was loaded from it.
        stepper: the stepper.
        tolerance: largest difference in position [m].
    """
    m = mujoco.MjModel.from_xml_string(JOINTED)
    data, steps = mujoco.MjData(m), 200
    data.qvel[:] = [1.0, -2.0, 1.5, 0.5, 1.0, -3.0]
    mujoco.mj_forward(m, data)
    twists = np.zeros((2, 6))
    for body in (1, 2):
        mujoco.mj_objectVelocity(m, data, mujoco.mjtObj.mjOBJ_XBODY, body, twists[body - 1], 0)
        twists[body - 1, :3] = data.xmat[body].reshape(3, 3).T @ twists[body - 1, :3]
    _, loaded = hanging
    qvel = np.roll(twists, 3, axis=1).ravel()

    @jax.jit
    def run(qvel: jax.Array) -> State:
        qpos = loaded.layout.coordinates(loaded.model, loaded.state)[0]
        start = loaded.layout.state(loaded.model, loaded.state, qpos, qvel)
        return rollout(loaded.model, start, stepper, steps)[0]

    end = run(jnp.asarray(qvel))
    mujoco.mj_step(m, data, round(steps * H / m.opt.timestep))
    mujoco.mj_kinematics(m, data)
    assert np.abs(data.qpos[:4] - [1, 0, 0, 0]).max() > 0.1
    np.testing.assert_allclose(end.position[1:], data.xipos[1:], atol=tolerance)


def test_coordinates_that_leave_loops_open_are_said(
    hanging: tuple[Path, Loaded], tmp_path: Path
) -> None:
    """Coordinates of a keyframe and of ``--init`` that leave loops open are reported; others are
    used unchanged, to rounding."""
    path, loaded = hanging
    layout = jax.jit(loaded.layout.coordinates)
    closed_key, open_key = loaded.keyframes["closed"], loaded.keyframes["open"]
    coordinates = layout(loaded.model, loaded.keyframe("closed"))
    np.testing.assert_allclose(coordinates[0], closed_key.qpos, atol=1e-12)
    np.testing.assert_allclose(coordinates[1], closed_key.qvel, atol=1e-12)
    assert ["'open'" in line and "0.32 m or rad" in line for line in loaded.approximated] == [True]
    m = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(m)
    data.qpos[:] = layout(loaded.model, loaded.keyframe("open"))[0]
    mujoco.mj_fwdPosition(m, data)
    assert np.abs(data.efc_pos).max() < 1e-9

    command = ["simulate", str(path), "--dt", "1e-3", "--duration", "2e-3", "--precision", "64"]
    for key, count in ((closed_key, 1), (open_key, 2)):
        np.savez(tmp_path / "init.npz", qpos=key.qpos, qvel=key.qvel)
        options = ["--init", f"{tmp_path}/init.npz", "--out", str(tmp_path), "--json"]
        result = CliRunner().invoke(app, [*command, *options])
        assert result.exit_code == 0, result.output
        lines = json.loads(result.stdout.splitlines()[-1])["approximated"]
        assert len(lines) == count and ("init.npz" in lines[-1]) == (count == 2)
        with np.load(tmp_path / "hung.npz") as motion:
            if key is closed_key:
                np.testing.assert_allclose(motion["qpos"][0], key.qpos, atol=1e-12)
                np.testing.assert_allclose(motion["qvel"][0], key.qvel, atol=1e-12)


def test_bodies_that_cannot_turn_may_be_welded_without_torque() -> None:
    """Two fixed bodies may be welded without torque, although their rotations contradict a rigid
    weld."""
    loaded = load(
        f"""<mujoco><worldbody><body name="a"/><body name="b" pos="0 0 1"/>
        <body><freejoint/>{BOX}</body></worldbody><equality>
        <weld body1="a" body2="b" torquescale="0" relpose="0 0 1 0 1 0 0"/></equality></mujoco>"""
    )
    assert loaded.model.topology.linkage.joints == ()
