"""Test contacts as data against statics and Coulomb's law, in a batch of rollouts."""

from dataclasses import replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.ccp import Law, Stop
from jaxccp.dynamics import ContactData, EulerImplicitLinearized, StepReport, rollout
from jaxccp.dynamics.contact.contact_data import Mode
from jaxccp.model import Box, Material, Model, Plane, Sphere, State
from jaxccp.scene import ModelBuilder

H, G, MU, STEPS = 2e-3, 9.81, 0.3, 20
HALF = 0.1
RESTING, SLIDING, ICE, RISING, STACKED = 1, 2, 3, 4, 5
MASS = {RESTING: 1.0, SLIDING: 2.0, ICE: 3.0, RISING: 4.0, STACKED: 5.0}
CAPACITY = 30


@cache
def scene() -> tuple[Model, State]:
    """Build a plane with a box at rest, another box on top of it, a sliding box, a frictionless
    box, and a ball that rises from 1 cm above the plane."""
    builder = ModelBuilder()
    builder.add_shape(0, Plane(), material=Material(friction=1.0))
    box, rough, ice = Box((HALF, HALF, HALF)), Material(friction=MU), Material(friction=0.0)
    builder.add_solid(box, MASS[RESTING], rough, position=(0, 0, HALF))
    builder.add_solid(box, MASS[SLIDING], rough, position=(1, 0, HALF), velocity=(0, 2, 0))
    builder.add_solid(box, MASS[ICE], ice, position=(2, 0, HALF))
    builder.add_solid(
        Sphere(HALF), MASS[RISING], rough, position=(3, 0, HALF + 0.01), velocity=(0, 0, 0.2)
    )
    builder.add_solid(box, MASS[STACKED], rough, position=(0, 0, 3 * HALF))
    return builder.build(max_contacts=CAPACITY)


@cache
def reports(law: Law) -> StepReport:
    """Return the report of the last record, which covers two steps, of two copies; the second
    copy has an additional sideways velocity."""
    model, state = scene()
    stepper = EulerImplicitLinearized(
        H, law, stop=Stop(1e-10, max_iterations=3000), contact_data=True
    )
    states = jax.tree.map(lambda leaf: jnp.stack([leaf, leaf]), state)
    states = replace(states, velocity=states.velocity.at[1, SLIDING, 0].set(1.0))
    if law == "ccp":  # which slides at this gap; from elsewhere it would hop first
        hover = H * MU * np.hypot(2.0, np.array([0.0, 1.0]))
        states = replace(states, position=states.position.at[:, SLIDING, 2].add(hover))
    run = jax.jit(jax.vmap(lambda state: rollout(model, state, stepper, STEPS, every=2)[1].report))
    return jax.device_get(jax.tree.map(lambda leaf: leaf[:, -1], run(states)))


def of(data: ContactData, copy: int, *pair: int) -> ContactData:
    """Return the contacts between two bodies in one copy.

    Args:
        data: contacts of all copies
        copy: index of the copy
        *pair: the two bodies
    """
    mask = data.live[copy] & np.all(data.bodies[copy] == pair, axis=1)
    return jax.tree.map(lambda leaf: leaf[copy][mask], data)


def checked_contact_data(law: Law) -> ContactData:
    data = reports(law).contact_data
    assert data is not None and data.live.shape == (2, CAPACITY)
    return data


BOTH_LAWS = pytest.mark.parametrize("law", ["ccp", "ncp"])


@BOTH_LAWS
@pytest.mark.parametrize("copy", [0, 1])
def test_forces_carry_and_brake(law: Law, copy: int) -> None:
    data = checked_contact_data(law)
    for pair, carried in {(0, RESTING): 6.0, (RESTING, STACKED): 5.0, (0, ICE): 3.0}.items():
        contacts = of(data, copy, *pair)
        assert len(contacts.gap) == 4
        np.testing.assert_allclose(contacts.force.sum(0), [0, 0, carried * G], atol=1e-6)
        np.testing.assert_allclose(contacts.normal, np.tile([0, 0, 1.0], (4, 1)), atol=1e-12)
        centre = 2 * HALF if pair == (RESTING, STACKED) else 0.0
        x = 2.0 if pair[1] == ICE else 0.0
        np.testing.assert_allclose(
            np.sort(contacts.point[:, 0]), x + HALF * np.array([-1, -1, 1, 1])
        )
        np.testing.assert_allclose(contacts.point[:, 2], centre, atol=1e-7)
        np.testing.assert_allclose(contacts.gap, 0, atol=1e-7)
    braked = of(data, copy, 0, SLIDING).force.sum(0)
    directions = np.array([[0.0, 1.0, 0.0], [1.0, 2.0, 0.0] / np.sqrt(5)])
    expected = MASS[SLIDING] * G * (np.array([0, 0, 1.0]) - MU * directions[copy])
    np.testing.assert_allclose(braked, expected, atol=1e-4 * MASS[SLIDING] * G)


@BOTH_LAWS
def test_modes_and_their_counts(law: Law) -> None:
    data = checked_contact_data(law)
    for copy in (0, 1):
        for pair in ((0, RESTING), (RESTING, STACKED)):
            assert np.all(of(data, copy, *pair).mode == Mode.STICKING)
        for body in (SLIDING, ICE):
            assert np.all(of(data, copy, 0, body).mode == Mode.SLIDING)
        assert list(of(data, copy, 0, RISING).mode) == [Mode.OPEN]
    assert list(data.sticking) == [8, 8]
    assert list(data.sliding) == [8, 8]
    assert list(data.open) == [1, 1]
    assert list(data.live.sum(1)) == [17, 17]
    assert not np.any(data.force[~data.live])


def test_contacts_add_up_to_the_wrenches_of_the_bodies_through_bounces() -> None:
    """Contact forces at their points and contact torques, with rolling friction and impacts, add
    up at every step to the change of angular momentum about the origin, which follows from the
    states alone."""
    builder = ModelBuilder(gravity=(0, 0, 0))
    rough = Material(friction=0.4, restitution=0.5, rolling=0.01, spinning=0.02)
    builder.add_shape(0, Plane(), material=rough)
    masses, radii = np.array([1.0, 2.0]), np.array([0.1, 0.15])
    for i, (x, z, down) in enumerate([(0.0, 0.113, -2.0), (0.17, 0.24, -1.0)]):
        builder.add_solid(
            Sphere(radii[i]),
            masses[i],
            rough,
            position=(x, 0, z),
            velocity=(0.8, 0.3 * i, down),
            angular_velocity=(3, -2, 4),
        )
    model, state = builder.build()
    stepper = EulerImplicitLinearized(
        1e-2, "ncp", stop=Stop(1e-12, max_iterations=3000), contact_data=True
    )
    _, path = rollout(model, state, stepper, 12)
    data = path.report.contact_data
    assert data is not None and np.abs(data.torque).max() > 1e-3 and data.live.sum(1).max() >= 2

    def angular(at: State) -> np.ndarray:
        orbit = masses[:, None] * np.cross(at.position[..., 1:, :], at.velocity[..., 1:, :])
        spin = (0.4 * masses * radii**2)[:, None] * np.asarray(at.angular_velocity[..., 1:, :])
        return (orbit + spin).sum(axis=-2)

    momenta = np.concatenate([angular(state)[None], angular(path.state)])
    ground = np.asarray(data.live & (data.bodies[..., 0] == 0))[..., None]
    moment = np.cross(data.point, data.force) + data.torque
    moments = np.sum(np.where(ground, moment, 0.0), axis=1)
    np.testing.assert_allclose(1e-2 * moments, np.diff(momenta, axis=0), atol=1e-10)


def test_who_does_not_ask_has_none() -> None:
    model, state = scene()
    _, path = jax.eval_shape(lambda s: rollout(model, s, EulerImplicitLinearized(H), 2), state)
    assert path.report.contact_data is None
