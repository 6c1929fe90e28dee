"""Test the blocks of a step with flexible bodies: their matrices and their solutions."""

from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp import (
    EulerImplicitLinearized,
    Material,
    Model,
    ModelBuilder,
    Plane,
    Revolute,
    SmoothCoefficients,
    SmoothLaws,
    Sphere,
    Spherical,
    State,
    Stop,
)
from jaxccp.ccp import ADMM, MINRES, Status
from jaxccp.collision.detect import detect
from jaxccp.dynamics import (
    Descriptor,
    FactoredMassMatrix,
    StepSystem,
    assemble_system,
    describe,
    describe_step,
    matrices,
)
from jaxccp.flexible import NodalFamily
from jaxccp.io import read_problem, write_system
from tests.ccp.compiled import solve

H = 2e-3


@cache
def scene(touches: bool) -> tuple[Model, State, StepSystem, Descriptor]:
    """Build a cable whose nodes carry balls, one of them on the floor where it ``touches``, and
    a bob that hangs on its end; return its step and blocks, too."""
    builder = ModelBuilder(gravity=(0.5, 0, -9.81))
    nodes = np.linspace([0, 0, 0.0], [0.3, 0, 0.1], 4)
    cable = builder.add_cable(nodes, 0.01, 2e6, 1000.0, 0.01, pinned=() if touches else (0,))
    if touches:
        builder.add_shape(0, Plane(), (0, 0, -0.0099), material=Material(friction=0.3))
        for node in cable:
            builder.add_shape(node, Sphere(0.01), material=Material(friction=0.3))
    bob = builder.add_body(0.2, (1e-3,) * 3, (0.35, 0, 0.1), velocity=(0, 0.2, -1.0))
    builder.add_joint(Spherical(), cable[-1], bob, (0.3, 0, 0.1))
    model, state = builder.build(max_contacts=3)

    @jax.jit
    def system(state: State):
        assembled, _ = assemble_system(model, state, detect(model, state), H)
        return assembled, describe(model, assembled)

    return model, state, *system(state)


def test_h_is_that_of_the_trees_and_of_each_family() -> None:
    model, state, _system, blocks = scene(True)
    (family,) = model.families
    assert isinstance(family, NodalFamily)
    assert isinstance(blocks.mass, FactoredMassMatrix)
    first, second = blocks.mass.sizes

    @jax.jit
    def parts(blocks: Descriptor, state: State):
        (at,) = state.families
        momentum = family.momentum(at.q, at.v, model.gravity, H)
        return blocks.mass.matrix(), family.mass_matrix(at.q, H), momentum

    matrix, family_matrix, momentum = jax.device_get(parts(blocks, state))
    np.testing.assert_allclose(
        matrix[first:, first:], family_matrix, atol=1e-11 * np.abs(family_matrix).max()
    )
    np.testing.assert_allclose(np.diag(matrix)[:6], [0.2] * 3 + [1e-3] * 3, rtol=1e-12)
    assert second == len(family_matrix) and not matrix[:first, first:].any()
    np.testing.assert_allclose(blocks.force[first:], momentum, atol=1e-12)
    fall = 0.2 * (np.array([0, 0.2, -1.0]) + H * np.array([0.5, 0, -9.81]))
    np.testing.assert_allclose(blocks.force[:3], fall, rtol=1e-12)


def test_minres_on_z_closes_a_flexible_loop_as_the_step_does() -> None:
    """The saddle system of H, J and E, with equality rows alone, gives the velocities of the
    step."""
    _model, _state, system, blocks = scene(False)
    solution = solve(blocks.problem(), MINRES(), stop=Stop(1e-12, max_iterations=500))
    assert solution.statistics.status == Status.CONVERGED
    v = blocks.velocities(solution.lam)
    np.testing.assert_allclose(v, system.velocities_without_impulses(), atol=1e-10)
    zero = blocks.product(jnp.concatenate([v, -solution.lam])) - blocks.right_hand_side()
    np.testing.assert_allclose(zero, 0.0, atol=1e-10)
    sparse = matrices(blocks)
    dense = np.linalg.lstsq(sparse.z.toarray(), sparse.rhs, rcond=None)[0]
    np.testing.assert_allclose(dense[: len(v)], v, atol=1e-9)


def test_admm_with_its_factor_gives_the_contacts_of_the_step(tmp_path) -> None:
    """ADMM on the blocks gives the step's hard contact and friction of a flexible body with a
    joint on it, and the problem is the same when read back from disk."""
    model, state, _system, blocks = scene(True)
    stop = Stop(1e-10, max_iterations=20_000)
    problem = blocks.problem()
    solution = jax.jit(lambda problem: solve(problem, ADMM(), law="ncp", stop=stop))(problem)
    assert solution.statistics.status == Status.CONVERGED
    step = EulerImplicitLinearized(H, law="ncp", stop=Stop(1e-12))
    after, report = jax.jit(lambda state: step.step(model, state))(state)
    assert report.solver.status == Status.CONVERGED and report.contacts == 1
    v = blocks.velocities(solution.lam)[6:]
    np.testing.assert_allclose(v, after.families[0].v, atol=1e-8)
    assert np.abs(solution.lam[-9:]).max() > 1e-3
    again = read_problem(write_system(tmp_path, blocks)).problem
    np.testing.assert_allclose(again.r, problem.r, atol=1e-12)
    np.testing.assert_allclose(again.delassus.dense(), problem.delassus.dense(), rtol=1e-9)


def test_contacts_that_do_not_touch_are_left_out() -> None:
    """Two slots without a contact are dropped, the third is kept, and velocities and impulse
    stay the same."""
    *_, blocks = scene(True)
    active = blocks.active()
    loops = len(blocks.cones.lo)
    assert len(active.cones.mu) == 1 and len(blocks.cones.mu) == 3 and loops
    stop = Stop(1e-11, max_iterations=20_000)
    every, fewer = (solve(b.problem(), ADMM(), stop=stop).lam for b in (blocks, active))
    np.testing.assert_allclose(active.velocities(fewer), blocks.velocities(every), atol=1e-8)
    impulses = every[loops:].reshape(3, 3)
    pressed = np.flatnonzero(impulses[:, 0] > 1e-3)
    np.testing.assert_allclose(fewer[loops:], impulses[pressed].reshape(-1), atol=1e-8)
    assert active.active().cones.rows == active.cones.rows


def test_without_slots_there_is_nothing_to_leave_out() -> None:
    """Two rods in a row without a shape keep all rows, over twists of bodies and over
    generalised velocities."""
    builder = ModelBuilder()
    for parent in (0, 1):
        body = builder.add_body(1.0, (0.1,) * 3, (parent + 0.5, 0, 0))
        builder.add_joint(Revolute((0, 1, 0)), parent, body, (parent, 0, 0))
    model, state = builder.build()
    for stepper in (EulerImplicitLinearized(H), EulerImplicitLinearized(H, eliminate=False)):
        blocks = describe_step(stepper, model, stepper.init(model, state))
        assert not len(blocks.cones.mu)
        assert blocks.active().cones.rows == blocks.cones.rows == len(blocks.bias)


def test_implicit_smooth_contact_is_in_h() -> None:
    """Dense algebra on the blocks gives the velocities of the step. A cable that sticks and a
    ball that slides are sunk in a plane, beside a ball in hard contact."""
    builder = ModelBuilder(gravity=(2.0, 0, -9.81), smooth_laws=SmoothLaws("hooke"))
    builder.add_shape(0, Plane(), material=Material(friction=0.3))
    stiffness = 1e5
    smooth = SmoothCoefficients(stiffness, 10.0, stiffness, 10.0)
    give = Material(friction=0.3, smooth=smooth)
    for node in builder.add_cable([(0, 0, 0.0095), (0.1, 0, 0.0098)], 0.01, 2e6, 1000.0, 0.01):
        builder.add_shape(node, Sphere(0.01), material=give)
    builder.add_solid(Sphere(0.05), 0.5, give, position=(0.3, 0, 0.0499), velocity=(0.3, 0, -0.2))
    builder.add_solid(Sphere(0.05), 0.5, position=(-0.5, 0, 0.05), velocity=(0, 0, -0.1))
    model, state = builder.build(max_contacts=4)
    stepper = EulerImplicitLinearized(H, "ccp", "apgd", Stop(1e-13), smooth_contact="implicit")

    @jax.jit
    def both(state: State):
        blocks = describe_step(stepper, model, stepper.init(model, state))
        assert isinstance(blocks.mass, FactoredMassMatrix)
        lam = solve(blocks.problem(), "apgd", stop=stepper.stop).lam
        return blocks, lam, stepper.step(model, state)

    blocks, lam, (after, report) = both(state)
    assert report.smooth_contacts == 3 and report.contacts == 1
    expected = np.concatenate([np.ravel(after.twist[3:]), after.families[0].v])
    sparse = matrices(blocks)
    force = sparse.f + lam @ sparse.j.toarray()
    found = np.linalg.solve(sparse.h.toarray(), force)
    np.testing.assert_allclose(found, expected, atol=1e-10)
    assert np.abs(lam).max() > 0.01
    # Mass, h² K and some damping of the ball; of that which slides nothing across.
    assert 0.5 + H * H * stiffness < blocks.mass.matrix()[2, 2] < 0.52 + H * H * stiffness
    np.testing.assert_allclose(blocks.mass.matrix()[0, 0], 0.5, rtol=1e-12)
    assert np.diag(blocks.mass.matrix())[12::6].min() > H * H * stiffness


def test_late_impacts_are_refused() -> None:
    builder = ModelBuilder()
    cable = builder.add_cable([(0, 0, 1), (1, 0, 1)], 0.01, 1e6, 1000.0)
    builder.add_shape(cable[0], Sphere(0.1), material=Material(restitution=0.5))
    model, state = builder.build()

    def described(state: State) -> Descriptor:
        return describe(model, assemble_system(model, state, detect(model, state), H)[0])

    with pytest.raises(ValueError, match="impact_times 'bounces' and without restitution"):
        jax.eval_shape(described, state)
