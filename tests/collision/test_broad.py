"""Test that broad phases find the contacts that all pairs have, in the room that they need."""

import logging
from dataclasses import replace
from functools import cache
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jaxccp.ccp import Stop
from jaxccp.collision.broad import BROAD, CELLS_MIN_POINTS, Candidates
from jaxccp.collision.detect import Contacts, detect
from jaxccp.collision.shape_placement import place_shapes
from jaxccp.dynamics import EulerImplicitLinearized, fit_capacity, rollout
from jaxccp.model import Box, Capsule, Cylinder, Ellipsoid, Material, Model, Plane, Sphere, State
from jaxccp.scene import ModelBuilder
from tests.collision.shape_pairs import MESHES

STEPPER = EulerImplicitLinearized(5e-3, stop=Stop(1e-10, 0.0, 4000))
SHAPES = (
    *(Sphere(0.1), Capsule(0.05, 0.1), Box((0.1, 0.06, 0.08))),
    *(Cylinder(0.08, 0.06), Ellipsoid((0.1, 0.06, 0.08)), MESHES[1]),
)


def with_room(model: Model, tested: int, kept: int) -> Model:
    """Return the model with the given room for pairs in every group that has a broad phase.

    Args:
        model: the model.
        tested: room for pairs whose bounds are tested.
        kept: room for pairs that are kept.
    """
    groups = tuple(
        replace(group, room=(tested, kept)) if group.broad != "all-pairs" else group
        for group in model.topology.pairs
    )
    return replace(model, topology=replace(model.topology, pairs=groups))


def contacts_by_name(contacts: Contacts) -> dict[tuple[int, ...], np.ndarray]:
    """Return gap, position, normal and friction of live contacts by shapes and feature."""
    at = [
        *(contacts.gap[:, None], contacts.position, contacts.frame[:, 0]),
        *(contacts.friction[:, None], contacts.rolling),
    ]
    names = np.concatenate([contacts.shapes, np.asarray(contacts.feature)[:, None]], axis=1)
    values = np.concatenate([np.asarray(part) for part in at], axis=1)
    live = np.asarray(contacts.live)
    return {
        tuple(name): value for name, value in zip(names[live].tolist(), values[live], strict=True)
    }


@cache
def crowd(broad_phase: str) -> tuple[Model, State]:
    """Return a heap of four of each kind of convex shape.

    Some are on fixed bodies, some pass through one another and some have coefficients of their own.
    """
    random = np.random.default_rng(5)
    builder = ModelBuilder(margin=0.03, broad_phase=broad_phase)
    builder.add_shape(0, Plane())
    for i, shape in enumerate(4 * SHAPES):
        orientation = Rotation.random(None, random).as_quat(scalar_first=True)
        position = random.uniform(-0.3, 0.3, 3)
        if i % 7 == 6:
            fixed = builder.add_fixed(position=position, quaternion=orientation)
            builder.add_shape(fixed, shape)
        else:
            builder.add_solid(shape, 1.0, position=position, quaternion=orientation)
    for i in range(1, 9):
        builder.exclude(i, i + 2)
    for second in range(2, len(4 * SHAPES)):
        builder.set_pair_friction(1, second, 0.11, 0.01, 0.02)
    return builder.build()


def searched_crowd(method: str) -> Model:
    """Return the model of ``crowd`` with less room than there are pairs, so that there is something
    to search."""
    sought, _ = crowd(method)
    groups = tuple(
        replace(group, room=(1000, len(group.first) - 1)) if group.broad == method else group
        for group in sought.topology.pairs
    )
    return replace(sought, topology=replace(sought.topology, pairs=groups))


@pytest.mark.parametrize("method", ["overlaps", "cells"])
def test_all_kinds_of_moving_pairs_are_searched(method: str) -> None:
    (model, _), (sought, _) = crowd("all-pairs"), crowd(method)
    kinds = {group.kinds for group in sought.topology.searched}
    assert len(kinds) == len({group.kinds for group in model.topology.pairs}) - 6 >= 8
    for group in sought.topology.searched:
        movable = sought.topology.free[sought.topology.shape_body]
        assert movable[group.first].all() and movable[group.second].all()


def test_contacts_of_all_kinds_of_pairs_are_found() -> None:
    model, state = crowd("all-pairs")
    every = jax.device_get(jax.jit(detect)(model, state))
    fitted = searched_crowd("overlaps")
    searched = jax.device_get(jax.jit(detect)(fitted, state))
    kept = [len(group.first) - 1 for group in fitted.topology.searched]
    assert not searched.candidates[:, 0].any()
    assert searched.candidates[:, 1].any() and (searched.candidates[:, 1] <= kept).all()
    expected, got = contacts_by_name(every), contacts_by_name(searched)
    assert searched.total == every.total > 40 and set(got) == set(expected)
    for name, value in expected.items():
        np.testing.assert_allclose(got[name], value, atol=1e-12)
    assert {0.11, 0.6} == {float(value[7]) for value in got.values()}


def test_cells_find_the_pairs_of_all_kinds_whose_boxes_overlap() -> None:
    """Cells pass the same pairs to the kernels as the comparison of all boxes does."""
    _, state = crowd("all-pairs")

    @jax.jit
    def both(state: State) -> list[list[Candidates]]:
        results = []
        for method in ("overlaps", "cells"):
            model = searched_crowd(method)
            placed = place_shapes(model, state)
            groups = model.topology.searched
            results.append([BROAD[method](model, placed, group) for group in groups])
        return results

    compared, sorted_ = jax.device_get(both(state))
    groups = [searched_crowd(method).topology.searched for method in ("overlaps", "cells")]
    found = 0
    for boxes, cells, by_boxes, by_cells in zip(compared, sorted_, *groups, strict=True):
        np.testing.assert_array_equal(by_boxes.first, by_cells.first)
        np.testing.assert_array_equal(by_boxes.second, by_cells.second)
        tested, kept = cells.needed
        assert kept == boxes.needed[1] <= min(tested, len(by_cells.first) - 1) and tested <= 1000
        np.testing.assert_array_equal(
            np.sort(cells.row[cells.real]), np.sort(boxes.row[boxes.real])
        )
        assert np.sum(cells.real) == kept
        found += kept
    assert found > 40


def balls(count: int, broad_phase: str = "cells") -> tuple[Model, State]:
    builder = ModelBuilder(margin=0.05, broad_phase=broad_phase)
    radii = np.random.default_rng(0).uniform(0.05, 0.1, count)
    for radius in radii:
        builder.add_solid(Sphere(radius), 1.0)
    return builder.build()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_as_many_as_by_brute_force(dtype: type) -> None:
    """Broad phases find as many pairs as brute force does.

    Clouds of all sizes, along lines, far from the origin and with balls that have left it by far,
    one of them into cells that share their numbers with others.
    """
    count, random = 60, np.random.default_rng(2)
    clouds = [
        random.normal(size=(count, 3)) * spread + shift
        for spread, shift in (
            *(
                (0.1, 0.0),
                (0.3, 0.0),
                (5.0, 0.0),
                ((0.01, 0.01, 3.0), 0.0),
                ((3.0, 0.01, 0.01), 0.0),
            ),
            *((0.3, (500.0, -800.0, 300.0)), (0.3, (-1e3, 0.0, -1e3))),
        )
    ]
    left = clouds[1].copy()
    left[:5] += np.array([[1e5, 0, 0], [0, -1e6, 0], [0, 0, 1e7], [0, 0, -1e7], [1e7, 1e7, 1e7]])
    edge = 2.001 * (0.1 + 0.025)
    seam = clouds[1].copy()
    seam[::2, 0] += 1024 * edge
    lower = clouds[1].copy()
    lower[::2, 2] -= 511 * edge
    position = np.array([*clouds, left, seam, lower]).astype(dtype)
    model, state = balls(count)
    model = jax.tree.map(lambda x: x.astype(dtype) if x.dtype.kind == "f" else x, model)
    model = with_room(model, 2000, 1769)
    assert len(model.topology.searched[0].first) == 1770

    def look(at: jax.Array) -> Contacts:
        origin = jnp.zeros((1, 3), at.dtype)
        poses = {"position": jnp.concatenate([origin, at])}
        poses |= {
            name: getattr(state, name).astype(at.dtype)
            for name in ("quaternion", "velocity", "angular_velocity")
        }
        return detect(model, replace(state, **poses))

    batch = jax.device_get(jax.jit(jax.vmap(look))(jnp.asarray(position)))
    assert batch.gap.dtype == dtype
    radius, margin = np.asarray(model.shapes.radius), float(model.contact.margin)
    for i, at in enumerate(position):
        expected = {
            (a, b): gap
            for a, b in combinations(range(count), 2)
            if (gap := np.linalg.norm(at[a] - at[b]) - radius[a] - radius[b]) < margin
        }
        member = jax.tree.map(lambda leaf, i=i: leaf[i], batch)
        tested, kept = member.candidates[0]
        assert member.total <= kept <= min(tested, 1769) and tested <= 2000, i
        pairs = {(a, b): value[0] for (a, b, _), value in contacts_by_name(member).items()}
        assert set(pairs) == set(expected), i
        for pair, gap in expected.items():
            np.testing.assert_allclose(pairs[pair], gap, atol=1e-4 if dtype == np.float32 else 1e-9)


def approaching(broad_phase: str = "cells", name: str = "ball") -> tuple[Model, State]:
    """Return two flat lattices of balls that meet in nine contacts, so that at first no two are
    near."""
    builder = ModelBuilder(gravity=(0, 0, 0), margin=0.02, broad_phase=broad_phase)
    for i, side in enumerate((-1.0, 1.0)):
        for x, y in np.ndindex(3, 3):
            position = (0.4 * x + 0.11 * i, 0.4 * y + 0.07 * i, 0.35 * side)
            velocity = (0.0, 0.0, -3.0 * side)
            builder.add_solid(
                *(Sphere(0.1), 1.0, Material(0.3)),
                **{"position": position, "velocity": velocity, "name": f"{name}{i}{x}{y}"},
            )
    return builder.build(max_contacts=9)


def test_room_for_pairs_grows_and_is_remembered(caplog: pytest.LogCaptureFixture) -> None:
    model, state = approaching(name="unknown so far ")
    with caplog.at_level(logging.INFO, "jaxccp"):
        final, path = rollout(model, state, STEPPER, 30)
    assert "pairs of near shapes at once: again with room for" in caplog.text
    assert not path.report.overflow.any() and path.report.contacts.max() == 9
    assert path.report.candidates.shape == (30, 1, 2)
    caplog.clear()
    rollout(model, state, STEPPER, 30)
    assert not caplog.text
    every, reference = rollout(*approaching("all-pairs"), STEPPER, 30)
    np.testing.assert_allclose(final.position, every.position, atol=1e-9)
    np.testing.assert_array_equal(path.report.contacts, reference.report.contacts)


def test_want_of_room_for_pairs_is_reported() -> None:
    model, state = approaching()
    short = with_room(model, 40, 4)
    _, path = rollout(short, state, STEPPER, 30)
    room = np.array([40, 4])
    crowded = np.any(np.asarray(path.report.candidates) > room, axis=(1, 2))
    assert crowded.any() and not crowded[0]
    np.testing.assert_array_equal(path.report.overflow, crowded)
    with pytest.raises(OverflowError, match=r"jaxccp\.fit_capacity"):
        rollout(short, state, STEPPER, 30, check=True)


def test_derivatives_are_those_of_the_motion() -> None:
    """Derivatives through searched pairs, in a batch, agree with central differences."""
    model, state = approaching()
    fitted = with_room(model, 64, 16)
    (group,) = fitted.topology.searched
    assert group.room is not None and group.room[1] < len(group.first)

    def height(velocity_change: jax.Array) -> tuple[jax.Array, jax.Array]:
        changed = replace(state, velocity=state.velocity.at[1, :2].add(velocity_change))
        final, path = rollout(fitted, changed, STEPPER, 30)
        value = final.position[1] @ jnp.array([1.0, 2.0, 3.0]) + 0.0 * path.report.recovery.sum()
        return value, jnp.any(path.report.overflow)

    velocity_changes = jnp.array([[0.02, -0.01], [0.1, 0.05]])
    both, step = jax.jit(jax.vmap(jax.value_and_grad(height, has_aux=True))), 1e-6
    (_, overflow), slopes = both(velocity_changes)
    assert not np.any(overflow)
    for axis in np.eye(2):
        (ahead, _), _ = both(velocity_changes + step * axis)
        (behind, _), _ = both(velocity_changes - step * axis)
        change = ahead - behind
        np.testing.assert_allclose(slopes @ axis, change / (2 * step), rtol=1e-5, atol=1e-7)
    assert np.abs(np.asarray(slopes)[:, 0] - 0.15).min() > 1e-3, "contacts are to matter here"


def test_method_follows_the_number_of_pairs() -> None:
    ball, box = Sphere(0.1), Box((0.1, 0.1, 0.1))

    def methods(count: int, broad_phase: str = "auto", shape: Sphere | Box = ball) -> list[str]:
        builder = ModelBuilder(broad_phase=broad_phase)
        builder.add_shape(0, Plane())
        builder.add_shape(0, Sphere(0.3), position=(0, 0, -1))
        for i in range(count):
            builder.add_solid(shape, 1.0, position=(i, 0, 0.2))
        return sorted(group.broad for group in builder.build()[0].topology.pairs)

    many = int(np.ceil(np.sqrt(2 * CELLS_MIN_POINTS))) + 1  # of balls, which touch in one point
    assert methods(4) == methods(30) == ["all-pairs"] * 2
    assert "overlaps" not in methods(4, shape=box) and "overlaps" in methods(10, shape=box)
    assert methods(many) == ["all-pairs"] * 2 + ["cells"]
    assert methods(many, broad_phase="all-pairs") == ["all-pairs"] * 2
    assert methods(4, broad_phase="cells") == ["all-pairs"] * 2 + ["cells"]
    assert set(BROAD) == {"all-pairs", "overlaps", "cells"}
    message = "broad_phase must be auto, all-pairs, overlaps or cells, not 'sap'"
    with pytest.raises(ValueError, match=message):
        ModelBuilder(broad_phase="sap")


@pytest.mark.slow
def test_five_hundred_balls() -> None:
    """A lattice that overlaps comes apart; what is searched and remembered grows with the balls."""
    random = np.random.default_rng(3)
    builder = ModelBuilder(margin=0.005)
    builder.add_shape(0, Plane())
    for i in range(512):
        lattice = np.array(np.unravel_index(i, (8, 8, 8))) * 0.2 + [0.0, 0.0, 0.1]
        builder.add_solid(Sphere(0.1), 1.0, position=lattice + random.uniform(0, 1e-3, 3))
    model, state = builder.build()
    stepper = EulerImplicitLinearized(2e-3, stop=Stop(1e-2, max_iterations=1000))
    assert len(stepper.init(model, state).warm_start.contacts.feature) == 8 * 513
    fitted = fit_capacity(model, state, stepper, 5)
    (group,) = fitted.topology.searched
    assert group.room is not None and max(group.room) < 20 * 512
    final, path = rollout(fitted, state, stepper, 5)
    assert not path.report.overflow.any() and not path.report.solver.status.any()
    assert path.report.contacts.min() >= 64 + 3 * 7 * 64

    def overlap(at: State) -> float:
        centres = np.asarray(at.position)[1:]
        distances = np.linalg.norm(centres[:, None] - centres, axis=2) + np.eye(512)
        return 0.2 - float(distances.min())

    # Undone within a step at the recovery speed, were no pair missed: to the solver's tolerance.
    assert overlap(state) > 5e-4 and overlap(final) < 1e-4
