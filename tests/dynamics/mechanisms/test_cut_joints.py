"""Test maximal coordinates where joints are cut into rows of a system with one mass matrix.

These are models with flexible bodies, and steps that are implicit in smooth contact.
"""

from itertools import pairwise

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import (
    HHT,
    Box,
    EulerImplicitLinearized,
    EulerImplicitProjected,
    Material,
    ModelBuilder,
    Plane,
    Revolute,
    SmoothCoefficients,
    SmoothLaws,
    Sphere,
    Spherical,
    Status,
    Stop,
    TendonPath,
    difference,
    joint_motion,
    linearise,
    position_servo,
    retract,
    rollout,
)
from jaxccp.ccp import solve
from jaxccp.dynamics import FactoredMassMatrix, accelerations, describe_step, equilibrium
from jaxccp.dynamics.steppers.settings import Coordinates
from jaxccp.model.cut_joints import with_block_diagonal_mass
from tests.families.test_chain import chain

STOP = Stop(1e-11, max_iterations=2000)
H = 2e-3
HINGE = (0, 1, 0)


def crane(rigid: bool):
    """Build two hinged arms with a limit, dry friction and a servo, from whose tip three masses
    on springs hang, the lowest above a box that lies on the ground. As no contact has friction,
    rigid bodies on tendons have the equations of the family."""
    builder, smooth = ModelBuilder(), Material(friction=0.0)
    builder.add_shape(0, Plane(), material=smooth)
    builder.add_solid(Box((0.5, 0.15, 0.1)), 2.0, smooth, position=(0.3, 0, 0.1))
    upper = builder.add_body(0.5, (1e-3, 4e-3, 4e-3), (0.15, 0, 0.6))
    lower = builder.add_body(0.3, (1e-3, 2e-3, 2e-3), (0.4, 0, 0.6))
    limited = Revolute(HINGE, limits=(-1.0, 0.05), damping=0.1, armature=1e-3)
    builder.add_joint(limited, 0, upper, anchor=(0, 0, 0.6), name="shoulder")
    rough = Revolute(HINGE, friction=0.05, stiffness=0.5)
    builder.add_joint(rough, upper, lower, anchor=(0.3, 0, 0.6), name="elbow")
    builder.add_actuator(position_servo(4.0, 0.1, (-0.5, 0.5)), "elbow")
    family = chain((0.5, 0, 0.6), 3, (0, 0, -0.16), damping=2.0)
    if rigid:
        bodies = [builder.add_body(0.2, (1e-4,) * 3, at) for at in np.asarray(family.position)]
        for first, second in pairwise(bodies):
            ends = [(first, (0, 0, 0)), (second, (0, 0, 0))]
            rest = float(family.length)
            builder.add_tendon(TendonPath(ends, stiffness=400.0, damping=2.0, rest=rest))
    else:
        bodies = builder.add_family(family)
    builder.add_shape(bodies[-1], Sphere(0.03), material=smooth)
    builder.add_joint(Spherical(), lower, bodies[0], anchor=(0.5, 0, 0.6))
    return builder.build(max_contacts=6)


@pytest.mark.parametrize("eliminate", [True, False])
def test_a_flexible_body_hangs_on_cut_joints_as_rigid_bodies_on_tendons_do(eliminate):
    ends = []
    for rigid in (False, True):
        model, state = crane(rigid)
        stepper = EulerImplicitLinearized(H, coordinates="maximal", eliminate=eliminate, stop=STOP)
        control = jnp.full((200, 1), -0.2)
        final, path = rollout(model, state, stepper, 200, controls=control)
        assert path.report.contacts.max() >= 5
        assert np.all(path.report.solver.status == Status.CONVERGED)
        ends.append((final, path.report))
    (flexible, report), (reference, reference_report) = ends
    np.testing.assert_allclose(flexible.position, reference.position, atol=1e-8)
    np.testing.assert_allclose(flexible.velocity, reference.velocity, atol=1e-6)
    scale = np.abs(np.asarray(reference_report.reactions)).max()
    np.testing.assert_allclose(report.reactions, reference_report.reactions, atol=1e-6 * scale)


def test_joints_of_a_flexible_body_are_closed_after_projection():
    model, state = crane(rigid=False)
    stepper = EulerImplicitProjected(H, coordinates="maximal", stop=STOP)
    _, path = rollout(model, state, stepper, 200)
    errors = jax.vmap(lambda at: joint_motion(model, at).error)(path.state)
    assert np.abs(path.state.angular_velocity).max() > 1.0
    np.testing.assert_allclose(errors, 0.0, atol=1e-10)
    assert path.state.position[:, -1, 2].min() > 0.2 + 0.03 - 1e-10


STIFFNESS, WEIGHT = 1e6, 9.81 * (2.0 + 1.0)


def seesaw(spin: float = 0.0):
    """Build a ball in smooth contact with a plane, and a bar that is hinged at the ball's
    centre."""
    builder = ModelBuilder(smooth_laws=SmoothLaws("hooke"))
    material = Material(friction=0.3, smooth=SmoothCoefficients(STIFFNESS, 20.0, STIFFNESS, 20.0))
    builder.add_shape(0, Plane(), material=material)
    ball = builder.add_solid(Sphere(0.1), 2.0, material, position=(0, 0, 0.12))
    bar = builder.add_body(1.0, (1e-3, 8e-3, 8e-3), (0.15, 0, 0.12), angular_velocity=(0, spin, 0))
    builder.add_joint(Revolute(HINGE, damping=0.01), ball, bar, anchor=(0, 0, 0.12))
    return builder.build()


def implicit(h: float, coordinates: Coordinates, **settings) -> EulerImplicitLinearized:
    return EulerImplicitLinearized(
        h, coordinates=coordinates, smooth_contact="implicit", stop=STOP, **settings
    )


def test_steps_implicit_in_smooth_contact_are_of_first_order_in_either_coordinates():
    """The two coordinates differ by the error of the step, for steps far longer than a vibration
    on the ground."""
    model, state = seesaw(spin=3.0)
    differences = []
    for h in (4e-3, 2e-3, 1e-3):
        ends = [
            rollout(model, state, implicit(h, coordinates), round(0.2 / h))[0]
            for coordinates in ("reduced", "maximal")
        ]
        differences.append(np.abs(ends[0].position - ends[1].position).max())
    assert differences[2] < 1e-4
    assert differences[0] / differences[1] > 1.6 and differences[1] / differences[2] > 1.6
    iterated, _ = rollout(model, state, implicit(1e-3, "maximal", eliminate=False), 200)
    np.testing.assert_allclose(iterated.position, ends[1].position, atol=1e-8)


def test_a_linearised_step_on_cut_joints_has_the_derivative_of_differences():
    model, state = crane(rigid=False)
    stepper = EulerImplicitLinearized(H, coordinates="maximal", stop=STOP)
    linearisation = linearise(model, state, stepper=stepper)
    count, step = linearisation.A.shape[1], 1e-6

    @jax.jit
    @jax.vmap
    def after(change):
        stepped, _ = stepper.step(model, retract(model, state, change))
        return difference(model, linearisation.after, stepped)

    ends = after(np.concatenate([np.eye(count), -np.eye(count)]) * step)
    central = (ends[:count] - ends[count:]).T / (2 * step)
    np.testing.assert_allclose(linearisation.A, central, atol=1e-5 * np.abs(central).max())


def test_the_descriptor_of_cut_joints_has_their_rows_and_gives_the_velocities_of_the_step():
    model, state = crane(rigid=False)
    stepper = EulerImplicitLinearized(H, coordinates="maximal", eliminate=False, stop=STOP)
    carry = stepper.init(model, state)
    blocks = describe_step(stepper, model, carry)
    assert isinstance(blocks.mass, FactoredMassMatrix) and blocks.mass.sizes == (18, 9)
    np.testing.assert_allclose(blocks.mass.matrix()[:3, :3], 2.0 * np.eye(3), atol=1e-12)
    bilateral = np.isneginf(blocks.cones.lo) & np.isposinf(blocks.cones.hi)
    np.testing.assert_array_equal(np.flatnonzero(bilateral), np.arange(5 + 5 + 3))
    v = blocks.velocities(solve(blocks.problem(), "gradient-newton", stop=STOP).lam)
    after = stepper.advance(model, carry)[0].state
    np.testing.assert_allclose(v[:18].reshape(3, 6)[:, :3], after.velocity[1:4], atol=1e-9)
    np.testing.assert_allclose(v[18:].reshape(3, 3), after.velocity[4:], atol=1e-9)


def test_a_block_diagonal_mass_matrix_is_refused_where_joints_are_degrees_of_freedom():
    builder = ModelBuilder()
    body = builder.add_body(1.0, (0.1,) * 3, (0.5, 0, 0))
    builder.add_joint(Revolute(HINGE), 0, body)
    model, state = builder.build()
    block_diagonal = with_block_diagonal_mass(model)
    assert with_block_diagonal_mass(block_diagonal) is block_diagonal
    for call in (
        lambda: HHT(H).step(block_diagonal, state),
        lambda: accelerations(block_diagonal, state),
        lambda: equilibrium(block_diagonal, state),
    ):
        with pytest.raises(ValueError, match="block-diagonal mass matrix"):
            call()
