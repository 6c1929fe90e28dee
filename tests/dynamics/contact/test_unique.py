"""Test that motions and derivatives that a law leaves open depend on no solver and no guess."""

from dataclasses import replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.typing import ArrayLike

from jaxccp.ccp import Cones, DenseDelassus, Problem, Status, Stop, solve
from jaxccp.ccp.derivative.implicit import attach
from jaxccp.dynamics import EulerImplicitLinearized, rollout
from jaxccp.model import Box, Material, Model, Plane, State
from jaxccp.scene import ModelBuilder

H, STEPS, MU = 2e-3, 40, 0.3
HALF = (0.1, 0.12, 0.05)
STRICT = EulerImplicitLinearized(H, "ccp", "auto", Stop(atol=1e-12, max_iterations=20_000))


def sliding_box(with_far_body: bool = False) -> tuple[Model, State]:
    builder = ModelBuilder()
    builder.add_shape(0, Plane(), material=Material(friction=1.0))
    surface = Material(friction=MU)
    if with_far_body:
        builder.add_solid(Box((0.1, 0.1, 0.1)), 50.0, surface, position=(9, 0, 0.1))
    box = builder.add_solid(Box(HALF), 1.0, surface, position=(0, 0, HALF[2]), name="box")
    model, state = builder.build(max_contacts=8 if with_far_body else 4)
    return model, replace(
        state,
        velocity=state.velocity.at[box].set(jnp.array([2.0, 0.5, 0.0])),
        angular_velocity=state.angular_velocity.at[box, 2].set(5.0),
    )


def foundation(steps: int) -> np.ndarray:
    """Return (v_x, v_y, ω) of the box on an elastic foundation in the rigid limit: its load is
    linear in place, a + b x + c y, and balances weight and friction, which acts half a box below
    its centre."""
    corners = np.array([(x, y) for x in (-1, 1) for y in (-1, 1)]) * HALF[:2]
    inertia = (HALF[0] ** 2 + HALF[1] ** 2) / 3
    v, angle = np.array([2.0, 0.5, 5.0]), 0.0
    for _ in range(steps):
        c, s = np.cos(angle), np.sin(angle)
        x, y = (corners @ np.array([[c, s], [-s, c]])).T
        linear = np.stack([np.ones(4), x, y], axis=1)
        after = v
        for _ in range(60):
            slide = np.stack([after[0] - after[2] * y, after[1] + after[2] * x])
            fx, fy = -MU * slide / np.linalg.norm(slide, axis=0)
            balance = np.stack([np.ones(4), y + HALF[2] * fy, x + HALF[2] * fx])
            load = linear @ np.linalg.solve(balance @ linear, [9.81 * H, 0.0, 0.0])
            after = v + np.array([fx @ load, fy @ load, (x * fy - y * fx) @ load / inertia])
        v, angle = after, angle + H * after[2]
    return v


def stepper(solver: str = "apgd") -> EulerImplicitLinearized:
    stop = Stop(max_iterations=20_000)
    return EulerImplicitLinearized(H, "ncp", solver, stop, unique=True)


def planar(state: State) -> jax.Array:
    return jnp.append(state.velocity[-1, :2], state.angular_velocity[-1, 2])


@pytest.fixture(scope="module")
def expected() -> np.ndarray:
    return foundation(STEPS)


@pytest.mark.parametrize("solver", ["apgd", "newton", "psor"])
def test_a_box_slides_as_on_an_elastic_foundation(solver: str, expected: np.ndarray) -> None:
    model, state = sliding_box()
    final, path = rollout(model, state, stepper(solver), STEPS)
    np.testing.assert_allclose(planar(final), expected, atol=1e-9)
    assert not np.any(path.report.solver.status)


def test_neither_copies_nor_far_bodies_nor_the_warm_start_matter(expected: np.ndarray) -> None:
    model, state = sliding_box(with_far_body=True)
    cold = stepper()

    def run(speed: jax.Array) -> jax.Array:
        start = replace(state, velocity=state.velocity.at[-1, 0].set(speed))

        def after(current: State, _: None) -> tuple[State, None]:
            return cold.step(model, current)[0], None

        return planar(jax.lax.scan(after, start, None, STEPS)[0])

    both = jax.jit(jax.vmap(run))(jnp.array([2.0, 1.0]))
    np.testing.assert_allclose(both[0], expected, atol=1e-9)


@pytest.mark.long
def test_the_order_of_bodies_does_not_matter() -> None:
    """Four tilted boxes that fall onto each other have the same velocities after the impacts,
    whatever the order of the bodies."""
    random, count = np.random.default_rng(3), 4
    quaternions = np.append(np.ones((count, 1)), 0.01 * random.normal(size=(count, 3)), axis=1)
    side, sunk = 0.02 * random.normal(size=(count, 2)), 1.0 + random.random((count, 1))
    height = 0.101 + 0.2015 * np.arange(count)

    def after(order: list[int]) -> np.ndarray:
        builder = ModelBuilder()
        builder.add_shape(0, Plane(), material=Material(friction=1.0))
        for i in order:
            builder.add_solid(
                Box((0.1, 0.1, 0.1)),
                1.0 + 0.1 * i,
                Material(friction=0.4, restitution=0.3),
                position=(*side[i], height[i]),
                quaternion=quaternions[i] / np.linalg.norm(quaternions[i]),
                velocity=(0, 0, -sunk[i, 0]),
            )
        model, state = builder.build(max_contacts=32)
        final, path = rollout(model, state, STRICT, 10)
        assert path.report.contacts.max() > 12 and not np.any(path.report.solver.status)
        twists = np.concatenate([final.velocity, final.angular_velocity], axis=1)
        return twists[1:][np.argsort(order)]

    np.testing.assert_allclose(after([2, 0, 3, 1]), after([0, 1, 2, 3]), atol=1e-9)


def test_derivatives_of_shared_loads() -> None:
    """Derivatives in velocities and friction, through steps that turn the box, agree with
    central differences."""
    model, state = sliding_box()

    def end(x: jax.Array) -> jax.Array:
        shapes = replace(model.shapes, friction=jnp.stack([jnp.ones_like(x[3]), x[3]]))
        start = replace(
            state,
            velocity=state.velocity.at[-1, :2].set(x[:2]),
            angular_velocity=state.angular_velocity.at[-1, 2].set(x[2]),
        )
        return planar(rollout(replace(model, shapes=shapes), start, stepper(), 8)[0])

    @jax.jit
    def run(x: jax.Array) -> tuple[jax.Array, jax.Array]:
        value, back = jax.vjp(end, x)
        return value, jax.vmap(back)(jnp.eye(3))[0]

    x, step = jnp.array([2.0, 0.5, 5.0, MU]), 1e-4
    steps = step * jnp.eye(4)
    central = np.stack([(run(x + d)[0] - run(x - d)[0]) / (2 * step) for d in steps], axis=1)
    slope = np.asarray(run(x)[1])
    np.testing.assert_allclose(slope, central, atol=1e-6 * np.abs(central).max())


def flat_slide(tilt: ArrayLike = 0.0, compliance: float = 0.0) -> tuple[Problem, np.ndarray]:
    """Return the problem of a box of 1 kg that slides flat at (1.5, 0.5) m/s, tilted about x,
    and the matrix that turns impulses at its four corners into changes of velocity."""
    inertia = (np.sum(np.square(HALF)) - np.square(HALF)) / 3
    rows, down = [], []
    for x, y in ((1, 1), (1, -1), (-1, 1), (-1, -1)):
        arm = np.array([x, y, -1]) * HALF
        for axis in np.eye(3)[[2, 0, 1]]:
            rows.append(np.append(axis, np.cross(arm, axis)))
            down.append(np.cross([1, 0, 0], arm) @ axis / H * (axis[2] > 0))
    jacobian = np.array(rows)
    weighed = jacobian / np.append(np.ones(3), inertia)
    r = jnp.asarray(jacobian @ [1.5, 0.5, -9.81 * H, 0, 0, 0]) + tilt * jnp.array(down)
    bare = DenseDelassus(jnp.asarray(weighed @ jacobian.T + compliance * np.eye(12)))
    return Problem(bare, r, Cones(jnp.zeros(0), jnp.zeros(0), jnp.full(4, 0.2))), weighed.T


TIGHT = Stop(atol=1e-14, max_iterations=5000)


def test_the_convex_law_has_one_derivative_where_loads_are_shared() -> None:
    """The derivative of the motion is that of hardly compliant contacts, whatever the solver."""

    def twist(solver: str, compliance: float, unique: bool, tilt: ArrayLike) -> jax.Array:
        problem, weighed = flat_slide(tilt, compliance)
        return jnp.asarray(weighed) @ solve(problem, solver, stop=TIGHT, unique=unique).lam

    step = 1e-7
    soft = jax.jit(partial(twist, "newton", 1e-5, False))
    central = np.asarray(soft(step) - soft(-step)) / (2 * step)
    for solver in ("newton", "apgd"):
        shared = partial(twist, solver, 0.0, True)
        slope = np.asarray(jax.jit(jax.jacfwd(shared))(0.0))
        np.testing.assert_allclose(slope, central, atol=1e-5 * np.abs(central).max())


def test_the_slope_of_hard_contacts_that_slide_under_the_convex_law() -> None:
    """The slope is the derivative for one way of sharing the load: that with one corner
    unloaded, while the others are those that a turn of the box makes slide fastest."""
    unit = np.array([1.0, *(-0.2 * np.array([1.5, 0.5]) / np.hypot(1.5, 0.5))])
    shift = np.concatenate([unit, -unit, -unit, unit])

    @jax.jit
    def slopes(part: jax.Array) -> jax.Array:
        problem, weighed = flat_slide()
        lam = solve(problem, "newton", stop=TIGHT).lam
        loads = lam[::3]
        lowest, most = -jnp.minimum(loads[0], loads[3]), jnp.minimum(loads[1], loads[2])
        shared = lam + (lowest + part * (most - lowest)) * shift
        slope = jax.jacfwd(lambda tilt: attach("ccp", flat_slide(tilt)[0], shared))(0.0)
        return jnp.asarray(weighed) @ slope

    def twist(tilt: float) -> np.ndarray:
        problem, weighed = flat_slide(tilt)
        return weighed @ np.asarray(solve(problem, "newton", stop=TIGHT).lam)

    central = (twist(1e-4) - twist(-1e-4)) / 2e-4
    scale = np.abs(central).max()
    np.testing.assert_allclose(slopes(jnp.array(1.0)), central, atol=1e-6 * scale)
    assert np.abs(slopes(jnp.array(0.0)) - central).max() > 1e-3 * scale


def test_single_precision_shares_the_same_loads() -> None:
    """Four contacts in a line below a block that slides across it share the load of two
    freedoms. Springs in place of the contacts share the weight and its moment alike. A contact at a
    distance, which the block would meet when it stops, takes no part."""
    arm = np.array([-0.3, -0.1, 0.1, 0.3])
    stiffness = 3.0 / (2.0 + arm**2)  # that of a contact with these rows: ρ
    linear = np.stack([np.ones(4), arm])
    load = stiffness * (np.linalg.solve(linear * stiffness @ linear.T, [1.0, 0.1]) @ linear)
    rows = np.zeros((5, 3, 3))
    rows[:4, 0, 0], rows[:4, 0, 1], rows[:4, 1, 2], rows[4, 0, 0] = 1.0, arm, 1.0, -2.0
    rows = rows.reshape(15, 3)
    velocity = rows @ [-1.0, -0.1, 2.0]
    for dtype, tolerance in ((jnp.float64, 1e-9), (jnp.float32, 1e-4)):
        none, bare = jnp.zeros(0, dtype), jnp.asarray(rows @ rows.T, dtype)
        cones = Cones(none, none, jnp.full(5, 0.2, dtype))
        problem = Problem(DenseDelassus(bare), jnp.asarray(velocity, dtype), cones)
        distant = np.arange(5) == 4
        run = jax.jit(partial(solve, problem, "apgd", law="ncp", distant=distant, unique=True))
        for share in ([0.0] * 4, [0.4, 0.0, 0.6, 0.0]):
            guess = jnp.zeros((5, 3), dtype).at[:4, 0].set(jnp.asarray(share, dtype)).reshape(-1)
            solution = run(guess)
            assert solution.statistics.status == Status.CONVERGED
            np.testing.assert_allclose(solution.lam[::3], [*load, 0.0], atol=tolerance)


def test_painleve() -> None:
    """A rod that slides on its tip, at 1 rad to the ground with μ = 2, and would lift off may do
    so, or jam. A load that keeps it down has a status that says that it is not unique."""
    c, s = np.cos(1.0), np.sin(1.0)
    matrix = jnp.array([[1 + 3 * c * c, 3 * s * c, 0], [3 * s * c, 1 + 3 * s * s, 0], [0, 0, 1.0]])
    none, r = jnp.zeros(0), jnp.array([0.1, 1.0, 0.0])
    problem = Problem(DenseDelassus(matrix), r, Cones(none, none, jnp.array([2.0])))
    run = jax.jit(lambda guess: solve(problem, "apgd", guess, law="ncp"))
    free, jammed = run(jnp.zeros(3)), run(-jnp.linalg.solve(matrix, r))
    assert free.statistics.status == Status.CONVERGED and not np.any(free.lam)
    assert jammed.statistics.status == Status.NOT_UNIQUE and jammed.lam[0] > 0.2
    np.testing.assert_allclose(jammed.u, 0.0, atol=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("restitution", [0.0, 0.5])
def test_the_order_of_boxes_that_land_on_each_other_does_not_matter(restitution: float) -> None:
    """Three level boxes that meet at several faces at once move alike in any order of the
    bodies."""
    surface = Material(friction=0.4, restitution=restitution)
    falls = (((0, 0, 0.05), (0, 0, 0)), ((0.03, 0.02, 0.17), (0.3, 0, -1)))
    falls = (*falls, ((-0.02, 0.01, 0.29), (0, 0.2, -1.5)))
    run = jax.jit(lambda model, state: rollout(model, state, STRICT, 30)[0])
    ends = []
    for order in ([0, 1, 2], [2, 0, 1]):
        builder = ModelBuilder()
        builder.add_shape(0, Plane(), material=surface)
        for box in order:
            place, velocity = falls[box]
            mass = 1.0 + 0.5 * box
            builder.add_solid(Box(HALF), mass, surface, position=place, velocity=velocity)
        end = run(*builder.build(max_contacts=24))
        motion = jnp.concatenate([end.position, end.velocity, end.angular_velocity], axis=1)
        ends.append(np.asarray(motion)[1:][np.argsort(order)])
    np.testing.assert_allclose(*ends, atol=1e-9)
