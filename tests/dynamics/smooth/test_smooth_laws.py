"""Test the laws of smooth contact against closed forms of mechanics."""

from dataclasses import replace
from functools import partial
from math import pi

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq

from jaxccp.dynamics import (
    EulerImplicitLinearized,
    energy,
    rollout,
)
from jaxccp.dynamics.smooth import smooth_contacts, smooth_forces
from jaxccp.model import (
    Plane,
    SmoothLaws,
    Sphere,
)
from jaxccp.scene import ModelBuilder
from tests.dynamics.smooth.smooth_surfaces import HARD, bouncing, plane_modulus, surface

pytestmark = pytest.mark.usefixtures("optimised")


def test_a_hertzian_collision_is_as_long_and_as_deep_as_hertz_has_it() -> None:
    """A collision has the depth δ = (15 m v² / (16 E* √R))^⅖ and the time t = 2.94325 δ / v
    (Johnson, Contact Mechanics, 11.1), for a ball on a plane and for two different balls."""
    builder = ModelBuilder((0, 0, 0))
    builder.add_shape(0, Plane(), material=HARD)
    radius, mass, speed = 0.1, 0.5, 2.0
    builder.add_solid(Sphere(radius), mass, surface(), position=(0, 0, radius), velocity=(0, 0, -2))
    builder.add_solid(Sphere(0.1), 0.5, surface(), position=(3, 0, 5), velocity=(0, 0, -1))
    builder.add_solid(Sphere(0.3), 2.0, surface(), position=(3, 0, 4.6), velocity=(0, 0, 1))
    model, state = builder.build()
    h, steps = 1e-6, 40_000
    _, path = rollout(model, state, EulerImplicitLinearized(h), steps, every=4)
    height = path.state.position[:, :, 2]
    gaps = height[:, 1] - radius, height[:, 2] - height[:, 3] - 0.4
    heavy = 0.5 * 2.0 / 2.5
    kinds = ((mass, radius, plane_modulus()), (heavy, 0.075, plane_modulus(False)))
    for gap, (m, r, modulus) in zip(gaps, kinds, strict=True):
        deepest = (15 * m * speed**2 / (16 * modulus * r**0.5)) ** 0.4
        assert -gap.min() == pytest.approx(deepest, rel=1e-5)
        assert np.sum(gap < 0) * 4 * h == pytest.approx(2.94325 * deepest / speed, rel=2e-3)


@pytest.mark.parametrize("e", [0.3, 0.8])
def test_flores_rebounds_as_its_equation_has_it(e: float) -> None:
    """The rebound e' follows from m δ̈ = −K δⁿ (1 + χ δ̇), which has the integral d (1 + e') =
    ln((1 + d) / (1 − d e')), d = χ v, for every n. The law sets d = 8 (1 − e) / (5 e), and e' is
    near e for small losses only."""
    builder = ModelBuilder((0, 0, 0), smooth_laws=SmoothLaws("flores"))
    builder.add_shape(0, Plane(), material=HARD)
    for i, speed in enumerate((0.5, 3.0)):
        start = {"position": (i, 0, 0.1), "velocity": (0, 0, -speed)}
        builder.add_solid(Sphere(0.1), 0.5, surface(e=e), **start)
    model, state = builder.build()
    end, _ = rollout(model, state, EulerImplicitLinearized(2e-6), 30_000, every=30_000)
    d = 8 * (1 - e) / (5 * e)

    def lost(x: float) -> float:
        return d * (1 + x) - np.log((1 + d) / (1 - d * x))

    exact = float(np.asarray(brentq(lost, 1e-6, min(1, 0.999999 / d))))
    np.testing.assert_allclose(end.velocity[1:, 2], exact * np.array([0.5, 3.0]), rtol=2e-4)


def test_flores_takes_all_speed_without_restitution() -> None:
    """A restitution that is set to 0 after the model is built lets nothing of the speed return, as
    in the limit e → 0, in which the law's rebound is 5 e / 8 of it."""
    builder = ModelBuilder((0, 0, 0), smooth_laws=SmoothLaws("flores"))
    builder.add_shape(0, Plane(), material=HARD)
    start = {"position": (0, 0, 0.1), "velocity": (0, 0, -1.0)}
    builder.add_solid(Sphere(0.1), 0.5, surface(e=0.5), **start)
    model, state = builder.build()
    shapes = replace(model.shapes, restitution=jnp.zeros_like(model.shapes.restitution))
    stepper = EulerImplicitLinearized(2e-6)
    end, _ = rollout(replace(model, shapes=shapes), state, stepper, 30_000, every=30_000)
    assert -1e-3 < end.velocity[1, 2] < 0.02


def test_flores_has_no_dashpot_for_surfaces_that_met_at_rest() -> None:
    """A ball that overlaps a floor at rest is pressed by Hertz's force, even if any speed counts as
    an approach."""
    builder = ModelBuilder((0, 0, 0), min_bounce_speed=0.0, smooth_laws=SmoothLaws("flores"))
    builder.add_shape(0, Plane(), material=HARD)
    overlap = 1e-4
    builder.add_solid(Sphere(0.1), 0.5, surface(e=0.5), position=(0, 0, 0.1 - overlap))
    model, state = builder.build()
    result = smooth_forces(model, state, smooth_contacts(model, state), None, 0.0)
    force = 4 / 3 * plane_modulus() * 0.1**0.5 * overlap**1.5
    np.testing.assert_allclose(result.wrenches[:, 2], [-force, force], rtol=1e-9)


ADHESION = {"constant": (1.3, 1.3), "dmt": (5.0, 2 * pi * 5.0 * 0.05), "perko": (40.0, 2.88)}
"""Strengths, and forces on a ball of 50 mm: itself; 2 π w R; 3.6e-2 S² R."""


@pytest.mark.parametrize("law", ADHESION)
def test_surfaces_that_just_touch_pull_with_the_adhesion(law: str) -> None:
    strength, pull = ADHESION[law]
    builder = ModelBuilder(smooth_laws=SmoothLaws(adhesion=law))
    builder.add_shape(0, Plane(), material=HARD)
    sticky = surface(adhesion=strength)
    builder.add_solid(Sphere(0.05), 1.0, sticky, position=(0, 0, 0.05 - 1e-12))
    model, state = builder.build()
    result = smooth_forces(model, state, smooth_contacts(model, state), None, 0.0)
    np.testing.assert_allclose(result.wrenches[:, 2], [pull, -pull], rtol=1e-9)


def test_a_ball_hangs_until_its_weight_is_the_pull_off_force() -> None:
    """A ball under a ceiling hangs at 3 % less than the pull-off force 2 π w R (Derjaguin,
    Muller & Toporov), and falls at 3 % more."""
    radius, (strength, pull) = 0.05, ADHESION["dmt"]
    builder = ModelBuilder(smooth_laws=SmoothLaws(adhesion="dmt"))
    builder.add_shape(0, Plane(), quaternion=(0, 1, 0, 0), material=HARD)
    sticky = surface(e=0.1, adhesion=strength)
    # Where it rests without weight: f(δ) = (4/3) E* √R δ^{3/2} is the adhesion.
    overlap = (pull / (4 / 3 * plane_modulus() * radius**0.5)) ** (2 / 3)
    for i, share in enumerate((0.97, 1.03)):
        at = (i, 0, overlap - radius)
        builder.add_solid(Sphere(radius), share * pull / 9.81, sticky, position=at)
    model, state = builder.build()
    # Put on at once, a weight stretches a spring twice as far: they are let down slowly.
    lift = 9.81 * model.bodies.mass * jnp.linspace(1, 0, 20_000)[:, None]
    forces = jnp.zeros((25_000, 3, 6)).at[:20_000, :, 2].set(lift)
    end, _ = rollout(model, state, EulerImplicitLinearized(1e-4), 25_000, forces, every=25_000)
    hanging, fallen = end.position[1:, 2]
    assert -radius < hanging < overlap - radius and fallen < -0.5


def test_energy_never_grows() -> None:
    """Energy without contact never exceeds what it was before without contact. Surfaces that
    overlap store elastic energy, which is positive."""
    model, state = bouncing()
    _, path = rollout(model, state, EulerImplicitLinearized(2e-5), 60_000, every=20)
    total = np.array(jax.vmap(partial(energy, model))(path.state))
    separated = np.array(path.report.smooth_contacts) == 0
    assert separated.sum() > 100 and np.sum(np.diff(separated.astype(int)) < 0) > 5
    alone = total[separated]
    assert np.all(alone <= np.minimum.accumulate(alone) * (1 + 1e-4))
    assert np.all(total <= total[0] * (1 + 1e-4)) and alone[-1] < 0.8 * total[0]
