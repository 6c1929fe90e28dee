"""Test inputs that would otherwise be taken without effect or with another one."""

from dataclasses import replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.tree_util import Partial
from scipy.spatial.transform import Rotation

from jaxccp import (
    HHT,
    Ball,
    Box,
    Compound,
    Coupling,
    EulerImplicitLinearized,
    Hinge,
    Model,
    ModelBuilder,
    Plane,
    Prismatic,
    Revolute,
    RungeKutta4,
    Sphere,
    State,
    Status,
    close_loops,
    equilibrium,
    forward_kinematics,
    inverse_kinematics,
    linearise,
    mean_acceleration,
    modes,
    position_servo,
    rollout,
    with_structure,
)
from jaxccp.ccp import Cones, DenseDelassus, Problem
from jaxccp.ccp.problem import residuals
from jaxccp.ccp.violation import violations
from jaxccp.flexible.ancf import SHAPES, box
from jaxccp.flexible.loads import with_surface_load
from jaxccp.flexible.moduli import isotropic
from jaxccp.model.fluid import Fluid

ORIGIN, UPRIGHT = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0, 0.0)


def test_coordinates_of_hinges_are_found_from_afar() -> None:
    """Three hinges in one point have, wherever the search begins, coordinates with their pose."""
    axes = np.eye(3)
    for seed in range(4):
        angles = np.random.default_rng(seed).uniform([-3, -1.2, -3], [3, 1.2, 3])
        pose = Rotation.from_euler("XYZ", angles).as_quat(scalar_first=True)
        builder = ModelBuilder(gravity=ORIGIN)
        body = builder.add_body(1, (0.1, 0.2, 0.25), ORIGIN, pose)
        joint = Compound(tuple(Hinge(tuple(axis)) for axis in axes))
        builder.add_joint(joint, 0, body, frames=((ORIGIN, UPRIGHT), (ORIGIN, UPRIGHT)))
        model, state = builder.build()
        assert np.all(np.abs(state.joint_positions) <= np.pi + 1e-9)
        again = forward_kinematics(model, state, state.joint_positions).quaternion[body]
        assert abs(float(again @ jnp.asarray(pose))) == pytest.approx(1.0, abs=1e-9)


def test_a_pose_that_is_no_number_is_reported() -> None:
    builder = ModelBuilder()
    builder.add_shape(0, Plane())
    builder.add_solid(Box((0.1, 0.1, 0.1)), 1.0, position=(0, 0, 0.1))
    model, state = builder.build()
    state = replace(state, position=state.position.at[1, 0].set(jnp.nan))
    report = EulerImplicitLinearized(1e-2).step(model, state)[1]
    assert report.solver.status == Status.NON_FINITE


def test_quaternions_of_another_length_are_orientations() -> None:
    """A box falls as one whose orientation is given by the unit quaternion; a unit quaternion stays
    what it is."""
    builder = ModelBuilder()
    builder.add_shape(0, Plane())
    pose = Rotation.from_euler("XYZ", (0.3, 0.2, 0.1)).as_quat(scalar_first=True)
    builder.add_solid(Box((0.1, 0.2, 0.05)), 1.0, position=(0, 0, 0.12), quaternion=tuple(pose))
    model, state = builder.build()
    stepper = EulerImplicitLinearized(1e-2)
    np.testing.assert_array_equal(stepper.init(model, state).state.quaternion, state.quaternion)
    longer = replace(state, quaternion=1.5 * state.quaternion)
    expected, after = (stepper.step(model, start)[0] for start in (state, longer))
    np.testing.assert_allclose(after.position, expected.position, atol=1e-12)
    np.testing.assert_allclose(after.quaternion, expected.quaternion, atol=1e-12)


def test_the_length_of_a_quaternion_has_no_derivative() -> None:
    """The derivative of a spinning body's motion in the four numbers of its orientation is that of
    the motion, which does not change with their length."""
    builder = ModelBuilder(gravity=ORIGIN)
    pose, spin = (0.8, 0.6, 0, 0), (1.0, 2.0, 3.0)
    body = builder.add_body(1.0, (0.1, 0.2, 0.25), quaternion=pose, angular_velocity=spin)
    model, state = builder.build()
    stepper = EulerImplicitLinearized(1e-2)

    @jax.jit
    def after(numbers: jax.Array) -> jax.Array:
        start = replace(state, quaternion=state.quaternion.at[body].set(numbers))
        return stepper.step(model, start)[0].angular_velocity[body]

    numbers = state.quaternion[body]
    assert np.abs(jax.jvp(after, (numbers,), (numbers,))[1]).max() < 1e-12
    slopes = jax.jacrev(after)(numbers)
    for k, change in enumerate(1e-5 * np.eye(4)):
        difference = (after(numbers + change) - after(numbers - change)) / 2e-5
        np.testing.assert_allclose(slopes[:, k], difference, atol=1e-8)


def test_twists_and_accelerations_of_many_states() -> None:
    builder = ModelBuilder()
    builder.add_body(1.0, (0.1, 0.2, 0.25), velocity=(1.0, 2.0, 3.0), angular_velocity=(4, 5, 6))
    model, state = builder.build()
    state = replace(state, time=state.time + 1e12)  # a clock that is rounded to 1e-4 s
    path = rollout(model, state, EulerImplicitLinearized(1e-2), 6)[1].state
    assert path.twist.shape == (6, 2, 6)

    def part(begin: int, end: int) -> State:
        return jax.tree.map(lambda leaf: leaf[begin:end], path)

    pairs = part(0, 5), part(1, 6), 1e-2
    together = mean_acceleration(*pairs)
    np.testing.assert_allclose(together[:, 1, 2], -9.81, rtol=1e-6)
    np.testing.assert_allclose(together, jax.vmap(mean_acceleration, (0, 0, None))(*pairs))


def test_a_still_fluid_does_not_disturb_a_rest() -> None:
    builder = ModelBuilder()
    body = builder.add_body(1.0, (0.1, 0.1, 0.1), position=(0.3, 0, -0.4))
    builder.add_joint(Revolute((0, 1, 0)), 0, body, ORIGIN)
    model, state = builder.build()
    still = Fluid(
        density=jnp.array(1.2),
        viscosity=jnp.array(2e-5),
        wind=jnp.zeros(3),
        position=jnp.zeros((1, 3)),
        quaternion=jnp.array([UPRIGHT]),
        half_extents=jnp.full((1, 3), 0.05),
        bodies=(body,),
    )
    wet = replace(model, fluid=still)
    rest = equilibrium(wet, state)
    np.testing.assert_allclose(rest.state.position[body], [0, 0, -0.5], atol=1e-6)
    assert modes(wet, rest.state).frequency.shape == (1,)
    windy = replace(wet, fluid=replace(still, wind=jnp.array([1.0, 0, 0])))
    for function in (equilibrium, modes):
        with pytest.raises(ValueError, match="a fluid with wind"):
            function(windy, state)


def arm(joint: Revolute | Compound, more: bool = False) -> tuple[Model, State]:
    builder = ModelBuilder()
    first = builder.add_body(1.0, (0.1, 0.1, 0.1), position=(0.5, 0, 0), name="upper")
    builder.add_joint(joint, 0, first, ORIGIN, name="shoulder")
    if more:
        second = builder.add_body(1.0, (0.1, 0.1, 0.1), position=(1.5, 0, 0), name="lower")
        builder.add_joint(Revolute((0, 1, 0)), first, second, (1.0, 0, 0), name="elbow")
        builder.add_tendon(Coupling({"shoulder": 1.0, "elbow": -1.0}, length=0.0))
    return builder.build()


def test_inverse_kinematics_keeps_or_refuses_what_holds_axes() -> None:
    with pytest.raises(ValueError, match="not with couplings or tendons of given length"):
        inverse_kinematics(*arm(Revolute((0, 1, 0)), more=True), {"lower": (1.0, 0, 0.5)})
    model, state = arm(Compound((Ball(limits=(0.0, 0.5)),)))
    for angle, reached in ((0.4, True), (1.0, False)):
        target = (0.5 * np.cos(angle), 0.5 * np.sin(angle), 0.0)
        assert bool(inverse_kinematics(model, state, {"upper": target}).converged) == reached
    with pytest.raises(ValueError, match="at least one site or joint"):
        inverse_kinematics(model, state, {})
    with pytest.raises(ValueError, match="iterations must be at least 1"):
        close_loops(model, state, 0)


def test_misspelt_laws_are_refused() -> None:
    cones = Cones(jnp.zeros(0), jnp.zeros(0), jnp.ones(1))
    problem = Problem(DenseDelassus(jnp.eye(3)), jnp.ones(3), cones)
    for use in (
        lambda law: residuals(problem, jnp.zeros(3), law),
        lambda law: violations(problem, jnp.zeros(3), law),
        lambda law: EulerImplicitLinearized(law=law),
        lambda law: HHT(law=law),
        lambda law: RungeKutta4(law=law),
    ):
        with pytest.raises(ValueError, match='law must be "ccp" or "ncp", not \'coulomb\''):
            use("coulomb")


def test_masks_and_indices_of_structure() -> None:
    builder = ModelBuilder()
    last = 0
    for k in range(3):
        body = builder.add_solid(Sphere(0.1), 1.0, position=(k + 1.0, 0, 0))
        builder.add_joint(Revolute((0, 1, 0)), last, body, (k + 0.5, 0, 0))
        last = body
    model, _ = builder.build()
    mask = np.array([False, False, True])
    masked, indexed = (
        with_structure(model, {"axes.damping": chosen}).topology.linkage.compliant
        for chosen in (mask, [2])
    )
    assert masked.tolist() == indexed.tolist() == [2]
    wrong: Any
    for wrong, message in (([1.9], "whole numbers"), (mask[:2], "3 entries, but the mask 2")):
        with pytest.raises(ValueError, match=message):
            with_structure(model, {"axes.damping": wrong})


def test_parameters_of_a_law_may_be_arrays_and_whole_numbers() -> None:
    def law(c, length, rate, time):
        return -jnp.sum(c) * length

    for parameter in (np.array([2.0, 3.0]), 5):
        builder = ModelBuilder(gravity=ORIGIN)
        body = builder.add_body(1.0, (0.1, 0.1, 0.1), position=(1.0, 0, 0))
        builder.add_joint(Revolute((0, 1, 0)), 0, body, ORIGIN, name="hinge")
        builder.add_tendon(Coupling({"hinge": 1.0}, law=Partial(law, parameter)))
        (leaf,) = jax.tree.leaves(builder.build()[0].tendons.laws)
        assert jnp.issubdtype(leaf.dtype, jnp.floating)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"clamped": ("x2",)}, "not on 'x2'"),
        ({"pinned": ("z0",)}, "x0, x1, y0, y1, not on 'z0'"),
        ({"layers": (0.004, 0.006)}, "add up to 1"),
        ({"moduli": isotropic(1e6, 0.3)}, r"shape \(1, 6, 6\)"),
        ({"counts": (2, 2, 3)}, "a single node along z, so 3 elements .* take 1, and layers"),
        ({"counts": (2, 0, 1)}, "whole numbers ≥ 1, not 0 along y"),
        ({"counts": (1.5, 2, 1)}, "whole numbers ≥ 1, not 1.5 along x"),
    ],
)
def test_settings_of_elements_that_would_do_nothing(settings: dict, message: str) -> None:
    numbers = {"counts": (2, 2, 1), "moduli": isotropic(1e6, 0.3)[None], "density": 1e3}
    with pytest.raises(ValueError, match=message):
        box(SHAPES["shell_3423"], jnp.array([1.0, 1.0, 0.01]), **(numbers | settings))


@pytest.mark.parametrize(("axis", "side"), [(2, 0), (2, 2), (3, 1), (-1, 1)])
def test_surface_loads_are_on_a_face(axis: int, side: int) -> None:
    numbers = jnp.array([1.0, 1.0, 0.01]), (1, 1, 1), isotropic(1e6, 0.3)[None], 1e3
    plate = box(SHAPES["shell_3423"], *numbers)
    with pytest.raises(ValueError, match="axis must be 0, 1 or 2, and side -1 or 1"):
        with_surface_load(plate, np.array([0]), axis, side, jnp.ones(3))


@pytest.mark.parametrize("h", [-1e-2, 0.0, float("nan")])
def test_a_linearised_step_takes_time(h: float) -> None:
    builder = ModelBuilder()
    builder.add_body(1.0, (0.1, 0.1, 0.1))
    with pytest.raises(ValueError, match="h must be a positive time"):
        linearise(*builder.build(), stepper=EulerImplicitLinearized(1e-2), h=h)


@pytest.mark.parametrize("what", ["friction", "upper", "force_limits"])
def test_bounds_that_are_no_numbers_are_reported(what: str) -> None:
    """A friction, a limit of an axis or of a servo's force that is no number is no bound of its
    own: the step says so."""
    builder = ModelBuilder()
    cart = builder.add_body(1.0, (0.1, 0.1, 0.1))
    builder.add_joint(Prismatic((1, 0, 0), limits=(-1, 1), friction=0.1), 0, cart, name="rail")
    builder.add_actuator(position_servo(10.0, force_limits=(-1, 1)), "rail")
    model, state = builder.build()
    part = "actuators" if what == "force_limits" else "axes"
    table = getattr(model, part)
    spoilt = replace(table, **{what: jnp.full_like(getattr(table, what), jnp.nan)})
    step = jax.jit(EulerImplicitLinearized(0.01).step)
    statuses = [
        Status(int(step(m, state)[1].solver.status))
        for m in (model, replace(model, **{part: spoilt}))
    ]
    assert statuses == [Status.CONVERGED, Status.NON_FINITE]


@pytest.mark.parametrize("stepper", [EulerImplicitLinearized(), HHT(), RungeKutta4()])
def test_a_stepper_says_that_it_cannot_continue_from_anothers_carry(stepper: Any) -> None:
    builder = ModelBuilder()
    builder.add_body(1.0, (0.1, 0.1, 0.1))
    model, state = builder.build()
    other: Any = EulerImplicitLinearized() if isinstance(stepper, HHT) else HHT()
    carry = other.init(model, state)
    for start in (stepper.init, lambda model, start: rollout(model, start, stepper, 1)):
        with pytest.raises(ValueError, match=r"not from \w+Carry: pass its attribute state"):
            start(model, carry)
        start(model, carry.state)
    own = type(stepper.init(model, state)).__name__
    wrong: Any
    for wrong in (state, carry):
        message = rf"own {own}, not from {type(wrong).__name__}: start with stepper\.init\(model"
        with pytest.raises(TypeError, match=message):
            stepper.advance(model, wrong)
