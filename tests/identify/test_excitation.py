"""Check planned motions against a regressor derived by hand, central differences and MuJoCo's
torques."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import jaxccp
from jaxccp import Material, SmoothMaterial
from jaxccp.identify import (
    Design,
    InverseDynamics,
    Limits,
    Method,
    Parameter,
    Problem,
    excite,
    read,
    recording,
)
from jaxccp.identify.excitation.basis import Basis
from jaxccp.identify.excitation.excite import Known, known_of, search_of
from jaxccp.identify.excitation.limits import distances, joint_limits
from jaxccp.identify.excitation.program import Program
from jaxccp.io import InputError
from tests.identify.planar_arm import CENTRES, JOINTS, LENGTHS, XML, regressor

mujoco = pytest.importorskip("mujoco")
MOTORS = """<actuator><motor name="m2" joint="knee" gear="2" ctrlrange="-2 2"/>
<motor name="m1" joint="hip" forcerange="-9 9"/></actuator></mujoco>"""
ARM = XML.replace("</mujoco>", MOTORS)
PARAMETERS = ("axes[*].damping", "axes[*].armature", 'bodies["lower"].mass')
LIMITS = Limits(rate={"hip": 2.5, "*nee": 3.0}, acceleration=12.0, position={"knee": (-1.0, 2.0)})
DESIGN = Design(duration=3.0, terms=3, noise=0.2, starts=4, iterations=25, moving=1e-9)
SCALED = Parameter('channels["torque["hip"]"].scale', initial=1.5, scale=0.1)
PRIOR = 0.05
"""Standard deviation of the mass by an earlier recording [kg]."""


def by_hand(q, rate, gain):
    """Return the derivatives of the torques with respect to the parameters [2 5].

    Args:
        q: angles of the joints [rad].
        rate: their rates [rad/s].
        gain: their accelerations [rad/s²].
    """
    full, (length, centre) = regressor(q, rate, gain), (LENGTHS[0], CENTRES[1])
    mass = full @ np.array([length, 0, length**2, centre, 0, centre**2])
    return np.column_stack([np.diag(rate), np.diag(gain), mass])


@pytest.fixture(scope="module")
def arm():
    return jaxccp.load(ARM)


@pytest.fixture(scope="module")
def known():
    return Known(information=np.array([[PRIOR**-2.0]]), names=('bodies["lower"].mass',))


@pytest.fixture(scope="module")
def search(arm, known):
    return search_of(arm, PARAMETERS, LIMITS, DESIGN, known)


@pytest.mark.parametrize("series", ["fourier", "spline"])
def test_motions_of_the_basis_begin_and_end_at_rest(series):
    basis, time = Basis(series, 4.0, 5), np.linspace(0.0, 4.0, 4001)
    values = basis.at(time)
    np.testing.assert_allclose(values[1:3, [0, -1]], 0.0, atol=1e-10)
    for k, tolerance in enumerate((2e-4, 2e-4, 2e-3)):
        slope = np.gradient(values[k], time, axis=0)[1:-1]
        np.testing.assert_allclose(slope, values[k + 1, 1:-1], atol=tolerance)
    assert np.linalg.matrix_rank(values[0]) == len(basis)
    np.testing.assert_allclose(np.abs(values[1, :, 1:]).max(axis=0), 1.0, rtol=0.01)


def test_criterion_is_that_of_a_regressor_made_by_hand(search):
    x = 0.3 * np.random.default_rng(0).normal(size=search.unit.size)
    samples = search.samples(x, search.grid)
    # The first sample is at rest, and is left out.
    rows = np.concatenate([by_hand(*sample.T) for sample in samples.motion[1:]])
    information = rows.T @ rows / DESIGN.noise**2 * search.recorded / search.count
    scale = search.program.scale
    information[4, 4] += PRIOR**-2.0
    expected = -np.linalg.slogdet(information * np.outer(scale, scale))[1] / 5
    value, slope = search.loss(x)
    assert value == pytest.approx(expected, rel=1e-6)
    step = 1e-6
    for k in (0, 2, 7):
        change = step * np.eye(len(x))[k]
        difference = (search.loss(x + change)[0] - search.loss(x - change)[0]) / (2 * step)
        assert slope[k] == pytest.approx(difference, rel=1e-5, abs=1e-7)


def test_scales_and_delays_of_torques_are_determined_by_the_torque_and_its_rate(arm):
    """A recorded torque s τ(t + d) + o misses τ by τ/s for each unit of the scale s, and by the
    rate of τ for each second of the delay d."""
    late = Parameter('channels["torque["hip"]"].delay', initial=0.02, scale=0.01)
    search = search_of(arm, (SCALED, late), LIMITS, DESIGN)
    x, step = 0.3 * np.random.default_rng(0).normal(size=search.unit.size), 1e-4
    here, before, after = (search.samples(x, search.grid + s).torque for s in (0, -step, step))
    rate = (after - before) / (2 * step)
    columns = np.stack([here[1:, 0] / 1.5 * 0.1, rate[1:, 0] * 0.01])  # the first is at rest
    expected = columns @ columns.T / DESIGN.noise**2 * search.recorded / search.count
    np.testing.assert_allclose(search.information(x), expected, rtol=1e-5)


def test_the_criterion_has_its_slope_where_scales_of_torques_are_planned_for(arm):
    search = search_of(arm, (SCALED,), LIMITS, DESIGN)
    x = 0.3 * np.random.default_rng(0).normal(size=search.unit.size)
    _, slope = search.loss(x)
    for k in (0, 2, 7):
        change = 1e-6 * np.eye(len(x))[k]
        difference = (search.loss(x + change)[0] - search.loss(x - change)[0]) / 2e-6
        assert slope[k] == pytest.approx(difference, rel=1e-5, abs=1e-7)


def test_priors_count_where_nothing_is_known(arm):
    """An earlier fit that did not determine a parameter, or of which only names are left, is no
    reason to drop its prior."""
    priors = [Parameter(path, prior=0.1) for path in ("axes[*].damping", "axes[*].armature")]
    names = search_of(arm, priors, LIMITS, DESIGN).program.names
    information = np.diag([0.0, 25.0, 0.0, 0.0])
    for known, expected in (
        (Known(names=names), [100.0] * 4),
        (Known(information=information, names=names), [100.0, 25.0, 100.0, 100.0]),
    ):
        planned = search_of(arm, priors, LIMITS, DESIGN, known)
        scale = planned.program.scale
        np.testing.assert_allclose(planned.before / np.outer(scale, scale), np.diag(expected))


def test_optimal_motion_keeps_its_limits_and_tells_more(arm, known, tmp_path):
    motion = excite(arm, PARAMETERS, LIMITS, DESIGN, known)
    assert motion.within_limits
    assert motion.scores[1] < motion.scores[0] - 0.1
    assert (motion.after < motion.before).all()
    lines = str(motion)
    assert "greatest use of limits" in lines and "EXCEEDED" not in lines

    model = mujoco.MjModel.from_xml_string(ARM.replace('range="-2.5 2.5"', ""))
    data = mujoco.MjData(model)
    for k in range(0, len(motion.time), 10):
        data.qpos[:], data.qvel[:] = motion.position[k], motion.rate[k]
        data.qacc[:] = motion.acceleration[k]
        mujoco.mj_inverse(model, data)
        np.testing.assert_allclose(data.qfrc_inverse, motion.torque[k], atol=1e-8)
    assert (np.abs(motion.torque) <= [9, 4]).all()
    assert (np.abs(motion.rate) <= [2.5, 3.0]).all()
    assert (np.abs(motion.acceleration) <= 12).all()
    assert motion.position[:, 1].min() >= -1 and motion.position[:, 1].max() <= 2

    rows = np.concatenate(
        [
            by_hand(*sample)
            for sample in zip(
                motion.position[:-1], motion.rate[:-1], motion.acceleration[:-1], strict=True
            )
        ]
    )
    information = rows.T @ rows / DESIGN.noise**2
    information[4, 4] += PRIOR**-2.0
    np.testing.assert_allclose(
        motion.after, np.sqrt(np.diag(np.linalg.inv(information))), rtol=0.02
    )

    for name in ("plan.npz", "plan.csv"):
        (back,) = read(motion.save(tmp_path / name), arm)
        np.testing.assert_allclose(back.time, motion.time)
        for kind, values in (("position", motion.position), ("torque", motion.torque)):
            for joint, column in zip(JOINTS, values.T, strict=True):
                np.testing.assert_allclose(back[f'{kind}["{joint}"]'].values[:, 0], column)
    with np.load(tmp_path / "plan.npz") as file:
        mean = 0.5 * (motion.torque[:-1] + motion.torque[1:])
        np.testing.assert_allclose(file["ctrl"] * [2, 1], mean[:, ::-1])
        np.testing.assert_allclose(file["qpos"], motion.position[0])
    with pytest.raises(InputError, match="npz or"):
        motion.save(tmp_path / "plan.txt")


def test_known_noise_is_that_of_the_fit(arm):
    """A later fit that ends far from the minimum has larger errors, and leaves the earlier one as
    it is."""
    time = np.arange(0.0, 2.0, 5e-3)
    position = {name: np.sin(5 * time + k) for k, name in enumerate(JOINTS)}
    torque = {name: np.cos(7 * time) for name in JOINTS}
    log = recording(time, position=position, torque=torque)
    problem = Problem(arm, [log], [PARAMETERS[0]], InverseDynamics())
    fit = problem.fit()
    noise = known_of(fit).noise
    problem.method = Method(iterations=0)
    poor = problem.fit(initial=dict.fromkeys(problem.names, 100.0))
    assert known_of(fit).noise == noise
    assert all(known_of(poor).noise[name] > 10.0 * noise[name] for name in JOINTS)


def test_limits_are_read_and_wrong_ones_refused(arm):
    limits = Limits.read("rate=2, torque.hip=5,position.knee=-1:1.5,clearance=.02")
    assert limits.clearance == 0.02
    ends = joint_limits(limits, arm, JOINTS)
    np.testing.assert_allclose(ends[0], [[-2, -1], [2, 1.5]])
    np.testing.assert_allclose(ends[1], [[-2, -2], [2, 2]])
    np.testing.assert_allclose(ends[3], [[-5, -4], [5, 4]])
    for text in ("rate.hip=3,rate=2", "rate=2,rate.hip=3"):
        single = joint_limits(Limits.read(text), arm, JOINTS)
        np.testing.assert_allclose(single[1], [[-3, -2], [3, 2]])
    leg = jaxccp.load(ARM.replace("knee", "leg[1]"))
    for name in ("leg[1]", "leg[*"):  # brackets are letters
        both = joint_limits(Limits(rate={"hip": 2.0, name: 3.0}), leg, ("hip", "leg[1]"))
        np.testing.assert_allclose(both[1], [[-2, -3], [2, 3]])
    for text, match in (
        ("speed=2", "cannot limit 'speed'"),
        ("rate=fast", "no limit"),
        ("rate.ankle=2", "no joint 'ankle'"),
        ("clearance=0.1:0.2", r"'clearance=0\.1:0\.2': clearance takes one number"),
        ("clearance.knee=0.1", "and no joint"),
        ("position.hip=1:-1", "not below"),
        ("torque.hip=0:inf", "torque of hip: 0 … inf has one end only"),
    ):
        with pytest.raises(ValueError, match=match):
            joint_limits(Limits.read(text), arm, JOINTS)
    with pytest.raises(ValueError, match="no limit of rate"):
        joint_limits(Limits(), jaxccp.load(XML), JOINTS)
    with pytest.raises(ValueError, match="criterion"):
        Design(criterion="E")


def test_coupled_joints_are_refused():
    """A follower cannot be moved alone, as the joints of a planned motion are."""
    mimic = '<equality><joint joint1="knee" joint2="hip" polycoef="0 1 0 0 0"/></equality>'
    gripper = jaxccp.load(XML.replace("</mujoco>", f"{mimic}</mujoco>"))
    with pytest.raises(ValueError, match="coupled to other joints"):
        excite(gripper, PARAMETERS, Limits(rate=2.0))


def test_shapes_that_would_touch_stay_apart():
    """A slide whose end could reach a wall keeps its distance."""
    slide = jaxccp.load(
        """<mujoco><worldbody><geom type="plane" size="1 1 .1" pos="1 0 0" zaxis="-1 0 0"/>
        <body name="cart"><joint name="x" type="slide" axis="1 0 0" range="-2 2"/>
        <geom type="sphere" size=".1" mass="1"/></body></worldbody></mujoco>"""
    )
    design = Design(duration=4.0, terms=3, starts=2, iterations=15)
    motion = excite(slide, ['axes["x"].damping'], Limits(rate=5.0, clearance=0.2), design)
    assert motion.within_limits
    assert motion.position.max() <= 0.7 + 1e-6
    assert motion.position.max() > 0.6
    closest = motion.limited_quantities[-1]
    assert "cart" in closest.what
    assert closest.value == pytest.approx(0.9 - motion.position.max(), abs=1e-4)


def test_distances_of_smooth_surfaces_are_limited():
    """Whether contact is hard or smooth, and for how much a run had room, does not matter."""
    walls = ((1.0, Material()), (-1.5, Material(smooth=SmoothMaterial())))
    builder = jaxccp.ModelBuilder(broad_phase="overlaps")
    for place, material in walls:
        facing = (np.sqrt(0.5), 0, -np.sign(place) * np.sqrt(0.5), 0)
        builder.add_shape(0, jaxccp.Plane(), (place, 0, 0), facing, material)
    builder.add_solid(jaxccp.Sphere(0.1), 1.0, position=(0.3, 0.2, 0.1), name="ball")
    builder.add_solid(jaxccp.Sphere(0.1), 1.0, position=(0.3, 0.2, 1.1))
    model, state = builder.build()
    topology = model.topology
    tight = replace(topology, pairs=tuple(replace(group, room=(0, 0)) for group in topology.pairs))
    for given in (model, replace(model, topology=tight)):
        gap, shapes = distances(given, state)
        pairs = zip(shapes.tolist(), gap.tolist(), strict=True)
        found = {tuple(sorted(pair)): value for pair, value in pairs}
        expected = {(0, 2): 0.6, (0, 3): 0.6, (1, 2): 1.7, (1, 3): 1.7, (2, 3): 0.8}
        assert found == pytest.approx(expected)


def test_a_smooth_wall_is_kept_clear():
    """The search has a limit of the distance from a wall of rubber, as from a hard one."""
    builder = jaxccp.ModelBuilder()
    builder.add_shape(0, jaxccp.Plane(), material=Material(smooth=SmoothMaterial()))
    builder.add_solid(jaxccp.Sphere(0.1), 1.0, position=(0, 0, 0.5), name="cart")
    slide = jaxccp.Prismatic(axis=(0, 0, 1), limits=(-1.0, 1.0))
    builder.add_joint(slide, 0, "cart", name="z", collide=True)
    model, state = builder.build()
    cart: Any = SimpleNamespace(model=model, state=state, layout=jaxccp.mujoco_coordinates(model))
    assert Program(cart, [Parameter('axes["z"].damping')], Design()).touching
