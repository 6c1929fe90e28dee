"""Test the blocks of a step against matrices in numpy, and K/R/M blocks against mechanics."""

from dataclasses import replace
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.spatial.transform import Rotation

from jaxccp.ccp import CG, BodyDelassus, Cones, CoupledDelassus, Problem, Stop, solve
from jaxccp.collision.detect import Contacts, detect
from jaxccp.dynamics import BodyMassMatrix, Descriptor, KRMBlocks, describe, matrices
from jaxccp.dynamics.step import StepSystem, assemble_system
from jaxccp.model import Box, Capsule, Model, Plane, Sphere, State
from jaxccp.model.cut_joints import with_block_diagonal_mass
from jaxccp.scene import ModelBuilder

H = 2e-3


@cache
def step() -> tuple[
    Model, State, Contacts, StepSystem, Descriptor, Problem, np.ndarray, np.ndarray
]:
    """Return the model, state, contacts and systems of a step, and velocities after some
    impulses, computed in two ways. Two free bodies and two fixed ones have made-up contacts, one
    of them soft, and one slot is not in use."""
    rng = np.random.default_rng(0)
    builder = ModelBuilder()
    velocity, spin = (1.0, -0.5, 0.2), (0.3, 0.5, -2.0)
    quaternion = (0.8, 0.0, 0.6, 0.0)
    box = Box((0.1, 0.2, 0.05))
    builder.add_solid(box, 2.0, quaternion=quaternion, velocity=velocity, angular_velocity=spin)
    builder.add_fixed(position=(0.5, 0.0, 0.1), name="post")
    builder.add_solid(Capsule(0.05, 0.3), 0.5, position=(0.6, 0.1, 0.0), quaternion=quaternion)
    model, state = builder.build()
    bodies = np.array([[0, 1], [1, 3], [3, 2], [0, 0]])
    frames = Rotation.random(4, rng).as_matrix()
    frames[3] = 0.0
    soft, none = jnp.asarray([0.0, 1e-4, 0.0, 0.0]), jnp.zeros(4)
    contacts = Contacts(
        live=jnp.asarray([True, True, True, False]),
        gap=jnp.asarray([1e-3, -1e-3, -2e-3, 0.0]),
        position=jnp.asarray(rng.normal(size=(4, 3))),
        frame=jnp.asarray(frames),
        shapes=jnp.zeros((4, 2), jnp.int32),
        bodies=jnp.asarray(bodies),
        friction=none + 0.4,
        impact_friction=none + 0.4,
        restitution=none,
        rolling=jnp.zeros((4, 2)),
        compliance=soft,
        damping=100 * soft,
        feature=jnp.arange(4),
        total=jnp.asarray(3),
        candidates=jnp.zeros((0, 2), jnp.int32),
        position_rate=jnp.zeros((4, 3)),
        normal_rate=jnp.zeros((4, 3)),
        position_acceleration=jnp.zeros((4, 3)),
        normal_acceleration=jnp.zeros((4, 3)),
    )

    @jax.jit
    def run(state: State):
        system, _ = assemble_system(with_block_diagonal_mass(model), state, contacts, H)
        descriptor = describe(model, system)
        assert system.free_bodies is not None and system.free_bodies.delassus is not None
        lam = jnp.sin(jnp.arange(descriptor.cones.rows, dtype=system.problem.r.dtype))
        problem, delassus = descriptor.problem(), system.free_bodies.delassus.dense()
        velocities = jnp.stack([system.after(lam).twist, descriptor.velocities(lam)])
        forms = jnp.stack([delassus, problem.delassus.dense()])
        return system, descriptor, problem, forms, velocities

    return model, state, contacts, *run(state)


def by_hand() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return H, J of the live contacts and f over the free bodies, from the mechanics alone."""
    model, state, contacts, *_ = (jax.tree.map(np.asarray, x) for x in step())
    free = (1, 3)
    inertia = [Rotation.from_quat(state.quaternion[b], scalar_first=True).as_matrix() for b in free]
    inertia = [r @ model.bodies.inertia[b] @ r.T for r, b in zip(inertia, free, strict=True)]
    masses = [model.bodies.mass[b] * np.eye(3) for b in free]
    h = np.asarray(block_diag(*(m for pair in zip(masses, inertia, strict=True) for m in pair)))
    rows = []
    for c in np.flatnonzero(contacts.live):
        for axis in contacts.frame[c]:
            row = np.zeros(12)
            for sign, body in zip((-1, 1), contacts.bodies[c], strict=True):
                if body in free:
                    arm = contacts.position[c] - state.position[body]
                    at = 6 * free.index(body)
                    row[at : at + 6] += sign * np.concatenate([axis, np.cross(arm, axis)])
            rows.append(row)
    twist = np.concatenate([state.velocity, state.angular_velocity], axis=1)[list(free)]
    gravity = np.tile([0, 0, -9.81, 0, 0, 0], 2)
    return h, np.array(rows), h @ (np.reshape(twist, -1) + H * gravity)


def test_blocks_of_a_step_are_those_of_the_mechanics() -> None:
    _, _, contacts, system, descriptor, *_ = step()
    active = descriptor.active()
    h, j, f = by_hand()
    assert active.cones.rows == 3 * int(contacts.live.sum()) < descriptor.cones.rows
    blocks = matrices(active)
    np.testing.assert_allclose(blocks.h.toarray(), h, atol=1e-12)
    np.testing.assert_allclose(blocks.j.toarray(), j, atol=1e-12)
    np.testing.assert_allclose(blocks.f, f, atol=1e-12)
    live = np.repeat(contacts.live, 3)
    bias = np.asarray(system.problem.r)[live] - j @ np.linalg.solve(h, f)
    np.testing.assert_allclose(blocks.b, bias, atol=1e-12)
    assert np.count_nonzero(blocks.e), "no compliance: the scene tests nothing"


def test_schur_complement_is_the_matrix_free_problem() -> None:
    _, _, _, system, descriptor, problem, forms, velocities = step()
    blocks = matrices(descriptor)
    h, j = blocks.h.toarray(), blocks.j.toarray()
    schur = j @ np.linalg.solve(h, j.T) + np.diag(blocks.e)
    for form in forms:
        np.testing.assert_allclose(form, schur, atol=1e-12)
    np.testing.assert_allclose(problem.r, system.problem.r, atol=1e-12)
    np.testing.assert_allclose(*velocities, atol=1e-10)


def random_descriptor(seed: int, scalars: int, contacts: int) -> Descriptor:
    """Return the descriptor of five bodies, of which the first and the third are fixed, with three
    K/R/M blocks, one of them on the world.

    Args:
        seed: seed of the random numbers
        scalars: number of scalar rows
        contacts: number of contacts, of three rows each
    """
    rng = np.random.default_rng(seed)
    free = (False, True, False, True, True)
    free_components = np.repeat(free, 6)

    def spd(*shape: int) -> np.ndarray:
        half = rng.normal(size=shape)
        return half @ np.swapaxes(half, -1, -2)

    mass = spd(5, 6, 6) + np.eye(6)
    mass[[0, 2]] = np.eye(6)
    pairs = np.array([[1, 3], [0, 4], [4, 3]])
    mask = free_components.reshape(5, 6)[pairs].reshape(3, 12)
    coupling = spd(3, 12, 12) * mask[:, :, None] * mask[:, None, :]
    bodies = np.array([rng.choice(5, 2, replace=False) for _ in range(scalars + contacts)], int)
    bodies = bodies.reshape(-1, 2)
    rows = rng.normal(size=(scalars + 3 * contacts, 2, 6))
    row_bodies = np.concatenate([bodies[:scalars], np.repeat(bodies[scalars:], 3, axis=0)])
    rows *= np.asarray(free)[row_bodies][:, :, None]
    n = len(rows)
    jacobian = BodyDelassus(
        jnp.asarray(rows[:scalars].reshape(-1, 12)),
        jnp.asarray(rows[scalars:].reshape(-1, 3, 12)),
        jnp.asarray(bodies[:scalars]),
        jnp.asarray(bodies[scalars:]),
        jnp.asarray(rng.uniform(0.0, 0.1, n)),
        5,
    )
    force = rng.normal(size=(5, 6)) * np.asarray(free)[:, None]
    cones = Cones(jnp.full(scalars, -jnp.inf), jnp.full(scalars, jnp.inf), jnp.full(contacts, 0.5))
    matrix = BodyMassMatrix(jnp.asarray(mass), jnp.asarray(pairs), jnp.asarray(coupling), free)
    bias = jnp.asarray(rng.normal(size=n))
    return Descriptor(matrix, jacobian, jnp.asarray(force), bias, cones)


def with_coupling(descriptor: Descriptor, factor: float) -> Descriptor:
    """Return the descriptor with its K/R/M blocks multiplied by a factor."""
    mass = descriptor.mass
    assert isinstance(mass, BodyMassMatrix)
    return replace(descriptor, mass=replace(mass, coupling=factor * mass.coupling))


def dense(descriptor: Descriptor[BodyDelassus]) -> tuple[np.ndarray, np.ndarray]:
    """Return Z and d over the free bodies 1, 3 and 4, built row by row in numpy."""
    descriptor = jax.tree.map(np.asarray, descriptor)
    mass = descriptor.mass
    assert isinstance(mass, BodyMassMatrix)
    order = {1: 0, 3: 6, 4: 12}
    n = descriptor.cones.rows
    z = np.zeros((18 + n, 18 + n))
    for body, at in order.items():
        z[at : at + 6, at : at + 6] = mass.bodies[body]
    for pair, block in zip(mass.pairs, mass.coupling, strict=True):
        for p, first in enumerate(pair):
            for q, second in enumerate(pair):
                if first in order and second in order:
                    part = block[6 * p : 6 * p + 6, 6 * q : 6 * q + 6]
                    z[order[first] :, order[second] :][:6, :6] += part
    jacobian = descriptor.jacobian
    s = len(jacobian.scalar_rows)
    for i in range(n):
        c, k = divmod(i - s, 3)
        row = jacobian.scalar_rows[i] if i < s else jacobian.contact_rows[c, k]
        pair = jacobian.scalar_bodies[i] if i < s else jacobian.contact_bodies[c]
        for body, part in zip(pair, row.reshape(2, 6), strict=True):
            if body in order:
                z[18 + i, order[body] :][:6] += part
                z[order[body] :, 18 + i][:6] += part
        z[18 + i, 18 + i] = -jacobian.compliance[i]
    return z, np.concatenate([descriptor.force[[1, 3, 4]].reshape(-1), -descriptor.bias])


@cache
def mixed() -> tuple[Descriptor, np.ndarray, tuple]:
    """Return a descriptor with rows of all kinds, a vector of unknowns x, and the results of the
    descriptor's operations on x."""
    descriptor = random_descriptor(0, 2, 3)
    x = np.random.default_rng(1).normal(size=descriptor.mass.variables + descriptor.cones.rows)

    @jax.jit
    def run(descriptor: Descriptor, x: jax.Array) -> tuple:
        operator = descriptor.problem().delassus
        per_body, per_row = descriptor.split(x)
        forms = operator.dense(), operator.diagonal(), *operator.blocks(2), operator.apply(per_row)
        again = descriptor.join(per_body, per_row)
        assert isinstance(operator, CoupledDelassus)
        return descriptor.product(x), descriptor.project(x), forms, (per_body, per_row, again)

    return descriptor, x, jax.tree.map(np.asarray, run(descriptor, x))


def test_the_assembled_system_and_its_product() -> None:
    descriptor, x, (product, *_) = mixed()
    z, d = dense(descriptor)
    blocks = matrices(descriptor)
    np.testing.assert_allclose(blocks.z.toarray(), z, atol=1e-13)
    np.testing.assert_allclose(blocks.z.to_scipy().toarray(), z, atol=1e-13)
    np.testing.assert_array_equal(blocks.rhs, d)
    np.testing.assert_array_equal(descriptor.right_hand_side(), d)
    np.testing.assert_allclose(product, z @ x, atol=1e-12)


def test_equalities_solved_as_one_linear_system() -> None:
    """Solving Z x = d by numpy gives what CG finds by the Schur complement, with bodies coupled
    or not."""
    descriptor = random_descriptor(2, 7, 0)

    @jax.jit
    def run(case: Descriptor) -> tuple[jax.Array, jax.Array]:
        lam = solve(case.problem(), CG(), stop=Stop(atol=1e-12)).lam
        return case.velocities(lam), lam

    for coupled in (1.0, 0.0):
        case = with_coupling(descriptor, coupled)
        x = np.linalg.solve(*dense(case))
        v, lam = run(case)
        np.testing.assert_allclose(lam, -x[18:], atol=1e-9)
        np.testing.assert_allclose(v[np.array([1, 3, 4])].reshape(-1), x[:18], atol=1e-9)


def test_coupled_operator_is_one_matrix_in_every_form() -> None:
    descriptor, x, (_, _, forms, _) = mixed()
    z, _ = dense(descriptor)
    h, j, e = z[:18, :18], z[18:, :18], -z[18:, 18:]
    n = j @ np.linalg.solve(h, j.T) + e
    matrix, diagonal, scalars, blocks, applied = forms
    np.testing.assert_allclose(matrix, n, atol=1e-12)
    np.testing.assert_allclose(diagonal, np.diag(n), atol=1e-12)
    np.testing.assert_allclose(scalars, np.diag(n)[:2], atol=1e-12)
    for c in range(3):
        indices = slice(2 + 3 * c, 5 + 3 * c)
        np.testing.assert_allclose(blocks[c], n[indices, indices], atol=1e-12)
    np.testing.assert_allclose(applied, n @ x[18:], atol=1e-12)


def test_gather_and_scatter_are_inverse_and_projection_moves_multipliers_only() -> None:
    descriptor, x, (_, projected, _, (per_body, per_row, again)) = mixed()
    assert isinstance(descriptor.mass, BodyMassMatrix)
    np.testing.assert_array_equal(descriptor.mass.first_variable, [-1, 0, -1, 6, 12])
    np.testing.assert_array_equal(per_body[3], x[6:12])
    np.testing.assert_array_equal(per_body[[0, 2]], 0)
    np.testing.assert_array_equal(per_row, x[18:])
    np.testing.assert_array_equal(again, x)
    np.testing.assert_array_equal(projected[:20], x[:20])  # velocities and equality rows
    for impulse, before in zip(-projected[20:].reshape(3, 3), -x[20:].reshape(3, 3), strict=True):
        slack = 0.5 * impulse[0] - np.hypot(*impulse[1:])
        assert slack > -1e-12
        # The nearest point: what was taken away is at a right angle to what is left.
        assert abs(impulse @ (before - impulse)) < 1e-12


STIFFNESS, DAMPING, STRETCH = 4e3, 30.0, -0.002
LOWER, UPPER = 3.0, 2.0


def bushing(stiffness: jax.Array | float) -> KRMBlocks:
    """Return a spring and a damper between the two balls, along all three axes."""
    axes = np.zeros((12, 12))
    axes[:3, :3] = axes[6:9, 6:9] = np.eye(3)
    axes[:3, 6:9] = axes[6:9, :3] = -np.eye(3)
    unit = jnp.asarray(axes)[None]
    return KRMBlocks(jnp.asarray([[1, 2]]), stiffness * unit, DAMPING * unit, 0.0 * unit)


def test_a_bushing_between_bodies_is_implicit_and_differentiable() -> None:
    """A ball on the floor carries another by a damper and a spring, which is 2 mm too short at the
    start. The upper ball takes an implicit Euler step of its spring.

    (m + h r + h² k) v⁺ = m (v − h g) − h k x, and the floor carries the rest of the momentum.
    """
    builder = ModelBuilder()
    builder.add_shape(0, Plane())
    builder.add_solid(Sphere(0.1), LOWER, position=(0, 0, 0.1))
    builder.add_solid(Sphere(0.1), UPPER, position=(0, 0, 0.5), velocity=(0, 0, -0.3))
    model, state = builder.build(max_contacts=1)
    block_diagonal, spring_force = with_block_diagonal_mass(model), STIFFNESS * STRETCH
    force = np.zeros((3, 6))
    force[1:, 2] = spring_force, -spring_force

    @jax.jit
    @partial(jax.value_and_grad, has_aux=True)
    def run(stiffness: jax.Array) -> tuple[jax.Array, tuple[jax.Array, jax.Array]]:
        contacts = detect(model, state)
        system, _ = assemble_system(block_diagonal, state, contacts, H, jnp.asarray(force))
        descriptor = describe(model, system, bushing(stiffness))
        lam = solve(descriptor.problem(), stop=Stop(atol=1e-12)).lam
        after = descriptor.velocities(lam)
        return after[2, 2], (lam, after)

    def expected(stiffness: float) -> float:
        momentum = UPPER * (-0.3 - H * 9.81) - H * STIFFNESS * STRETCH
        return momentum / (UPPER + H * DAMPING + H * H * stiffness)

    (value, (lam, after)), slope = run(jnp.asarray(STIFFNESS))
    assert value == pytest.approx(expected(STIFFNESS), rel=1e-9)
    change = (expected(STIFFNESS + 1.0) - expected(STIFFNESS - 1.0)) / 2
    assert slope == pytest.approx(change, rel=1e-6)
    assert abs(float(after[1, 2])) < 1e-9
    gained = UPPER * (value + 0.3) + H * 9.81 * (LOWER + UPPER)
    assert float(lam[0]) == pytest.approx(float(gained), rel=1e-8)


def test_blocks_are_weighted_by_the_length_of_the_step() -> None:
    """Without weights h² K + h R + M is added between the two bodies; with weights, their sum."""
    model, _, _, system, *_ = step()
    rng = np.random.default_rng(3)
    halves = rng.normal(size=(3, 1, 12, 12))
    parts = halves @ np.swapaxes(halves, -1, -2)
    blocks, free = KRMBlocks(np.array([[1, 3]]), *parts), by_hand()[0]  # type: ignore[arg-type]
    for weights, factors in ((None, (H * H, H, 1.0)), ((0.5, 0.0, 2.0), (0.5, 0.0, 2.0))):
        added = matrices(describe(model, system, blocks, weights)).h.toarray() - free
        expected = sum(c * part[0] for c, part in zip(factors, parts, strict=True))
        np.testing.assert_allclose(added, expected, atol=1e-11)


@pytest.mark.parametrize(
    ("bodies", "message"),
    [
        ([[1, 4]], r"two different bodies, by their indices 0 to 3 .*, not \[\[1 4\]\]"),
        ([[1, -1]], "indices 0 to 3"),
        ([[3, 3]], "two different bodies"),
        ([[1.0, 3.0]], "two different bodies"),
        ([1, 3], r"blocks.bodies must have shape \(blocks, 2\) = \(1, 2\), not \(2,\)"),
        ([[1, 3], [1, 0]], r"blocks.stiffness must .* = \(2, 12, 12\), not \(1, 12, 12\)"),
    ],
)
def test_blocks_are_between_two_bodies_of_the_model(bodies: list, message: str) -> None:
    model, _, _, system, *_ = step()
    unit = jnp.eye(12)[None]
    with pytest.raises(ValueError, match=message):
        describe(model, system, KRMBlocks(jnp.asarray(bodies), unit, unit, unit))
