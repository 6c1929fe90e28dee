"""Test a family that is neither rigid nor a tree.

It moves, touches, is jointed, differentiated and batched as bodies are.
"""

from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jaxtyping import Array

from jaxccp import (
    Box,
    EulerImplicitLinearized,
    Material,
    ModelBuilder,
    Plane,
    Revolute,
    Sphere,
    Spherical,
    Stop,
    TendonPath,
    energy,
    forward_kinematics,
    joint_motion,
    rollout,
)
from jaxccp.model.cut_joints import with_block_diagonal_mass
from tests.families.chain import Chain

STOP = Stop(1e-11)
Y = np.array([0.0, 1.0, 0.0])


def chain(start, n: int, step=(0.0, 0.0, 0.1), stiffness=400.0, damping=0.0) -> Chain:
    position = np.asarray(start) + np.arange(n)[:, None] * np.asarray(step)
    values = (np.full(n, 0.2), stiffness, damping, np.linalg.norm(step))
    return Chain(jnp.asarray(position), *map(jnp.asarray, values))


def test_a_free_spring_swings_as_it_should():
    """Two masses m on a spring k stretch by cos(ω t), ω² = 2k/m, to first order in h.

    The runs of different h are one batch.
    """
    two = chain((0, 0, 1), 2, stiffness=40.0)
    two = replace(two, position=two.position.at[1, 2].add(0.02))
    builder = ModelBuilder(gravity=(0, 0, -9.81))
    builder.add_family(two, "spring")
    model, state = builder.build()
    stepper, omega = EulerImplicitLinearized(), np.sqrt(2 * 40.0 / 0.2)

    @jax.jit
    @jax.vmap
    def run(h: Array, steps: Array) -> tuple[Array, Array]:
        def step(_: Array, at: tuple) -> tuple:
            carry, worst = at
            carry, _report = stepper.advance(model, carry, h=h)
            heights, time = carry.state.position[1:, 2], carry.state.time
            error = heights[1] - heights[0] - 0.1 - 0.02 * jnp.cos(omega * time)
            return carry, jnp.maximum(worst, jnp.abs(error))

        start = stepper.init(model, state), jnp.zeros(())
        carry, worst = jax.lax.fori_loop(0, steps, step, start)
        return worst, carry.state.position[1:, 2].mean()

    h = np.array([2e-3, 1e-3, 5e-4])
    errors, heights = run(h, np.round(0.2 / h).astype(int))
    np.testing.assert_allclose(heights, 1.06 - 0.5 * 9.81 * 0.2 * (0.2 + h), atol=1e-12)
    assert errors[2] < 5e-4 and 1.7 < errors[0] / errors[1] < 2.4
    assert 1.7 < errors[1] / errors[2] < 2.4


def test_it_falls_on_a_box_as_rigid_bodies_on_springs_do():
    """A chain falls as rigid bodies of the same masses between springs do.

    The springs are :class:`jaxccp.TendonPath`. Contacts without friction push through their
    centres, so that the two have the same equations.
    """
    smooth, start, n = Material(friction=0.0), (0.03, 0.0, 0.35), 3
    ends = []
    for rigid in (False, True):
        builder = ModelBuilder()
        builder.add_shape(0, Plane(), material=smooth)
        builder.add_solid(Box((0.15, 0.15, 0.1)), 2.0, smooth, position=(0, 0, 0.1))
        masses = chain(start, n, (0.01, 0.0, 0.1), damping=2.0)
        if rigid:
            bodies = [builder.add_body(0.2, (1e-4,) * 3, at) for at in np.asarray(masses.position)]
            for first, second in pairwise(bodies):
                spring = TendonPath(
                    [(first, (0, 0, 0)), (second, (0, 0, 0))],
                    stiffness=400.0,
                    damping=2.0,
                    rest=float(masses.length),
                )
                builder.add_tendon(spring)
        else:
            bodies = builder.add_family(masses)
        for body in bodies:
            builder.add_shape(body, Sphere(0.03), material=smooth)
        model, state = builder.build(max_contacts=8)
        stepper = EulerImplicitLinearized(2e-3, coordinates="reduced", stop=STOP)
        final, path = rollout(model, state, stepper, 150)
        assert path.report.contacts.max() >= 5
        ends.append(final)
    np.testing.assert_allclose(ends[0].position, ends[1].position, atol=1e-9)
    np.testing.assert_allclose(ends[0].velocity, ends[1].velocity, atol=1e-7)


@pytest.fixture(scope="module")
def swing():
    """Return the motion of a chain on a hinged arm as a function of a stiffness and the arm's spin.

    The chain hangs from the arm's tip, and its last mass drags over a box that lies on the ground.
    """
    builder, rough = ModelBuilder(), Material(friction=0.5)
    builder.add_shape(0, Plane(), material=rough)
    builder.add_solid(Box((0.5, 0.15, 0.1)), 2.0, rough, position=(0, 0, 0.1), name="box")
    arm = builder.add_body(0.5, (1e-3, 4e-3, 4e-3), (0.15, 0, 0.55), name="arm")
    builder.add_joint(Revolute((0, 1, 0)), 0, arm, anchor=(0, 0, 0.55))
    frames = builder.add_family(chain((0.3, 0, 0.55), 3, (0, 0, -0.12), damping=2.0), "chain")
    builder.add_shape(frames[-1], Sphere(0.03), material=rough)
    builder.add_joint(Spherical(), arm, frames[0], anchor=(0.3, 0, 0.55))
    model, state = builder.build(max_contacts=6)
    stepper = EulerImplicitLinearized(2e-3, stop=STOP)

    def run(inputs: Array) -> tuple[Array, Array, Array]:
        stiffness, spin = inputs
        family = replace(cast(Chain, model.families[0]), stiffness=stiffness)
        moving = forward_kinematics(model, state, jnp.zeros(4), jnp.zeros(4).at[0].set(spin))
        start = moving.families[0]
        start = replace(start, v=start.v.at[:3].set(jnp.cross(spin * Y, jnp.asarray([0.3, 0, 0]))))
        changed = replace(model, families=(family,))
        final, path = rollout(changed, replace(moving, families=(start,)), stepper, 60)
        energies = jax.vmap(lambda at: energy(changed, at))(path.state)
        opened = jax.vmap(lambda at: joint_motion(changed, at).error)(path.state)
        end = jnp.concatenate([final.position.reshape(-1), final.velocity.reshape(-1)])
        return end, energies, opened

    return run


INPUTS = np.array([400.0, 3.0])


def test_it_hangs_on_a_tree_and_is_differentiated(swing):
    both = jax.jit(partial(jax.jvp, swing))
    step, directions = 1e-5, np.diag(INPUTS)
    slopes, differences = [], []
    for direction in directions:
        (_, energies, opened), (slope, _, _) = both((INPUTS,), (direction,))
        ahead, behind = (
            both((INPUTS + way * step * direction,), (direction,))[0][0] for way in (1, -1)
        )
        slopes.append(slope)
        differences.append((ahead - behind) / (2 * step))
        assert np.all(np.diff(energies) < 1e-9) and energies[-1] < energies[0] - 0.01
        assert np.abs(opened).max() < 1e-4
    central = np.stack(differences)
    np.testing.assert_allclose(slopes, central, atol=1e-5 * np.abs(central).max())
    assert np.abs(central).max(1).min() > 1e-3


def test_bodies_with_block_diagonal_mass_have_no_families():
    builder = ModelBuilder()
    builder.add_family(chain((0, 0, 1), 2))
    model, _ = builder.build()
    with pytest.raises(ValueError, match="with_cut_joints for joints as rows"):
        with_block_diagonal_mass(model)
