"""Test flexible bodies in steppers of second order."""

import jax
import numpy as np
import pytest
from jax import lax
from scipy.integrate import solve_ivp

from jaxccp.dynamics import HHT, rollout
from jaxccp.flexible import NodalFamily
from jaxccp.model import Fixed, State
from jaxccp.scene import ModelBuilder

SPAN = 0.15


def test_a_cable_swings_to_the_order_of_hht() -> None:
    """A cable pinned at one end and let go has a quarter of the error at half the step.

    The reference is DOP853 on the same elements.
    """
    builder = ModelBuilder(gravity=(0, 0, -9.81))
    builder.add_cable(np.linspace([0, 0, 0], [0.6, 0, 0], 4), 0.01, 1e6, 1000.0, pinned=(0,))
    model, state = builder.build()
    (family,) = model.families
    assert isinstance(family, NodalFamily)

    @jax.jit
    def run(h: jax.Array, steps: jax.Array) -> tuple[State, jax.Array]:
        # One program for both step lengths.
        stepper = HHT(alpha=-0.1)

        def step(_: int, totals: tuple) -> tuple:
            carry, report = stepper.advance(model, totals[0], h=h)
            return carry, jax.numpy.maximum(totals[1], report.solver.status)

        start = stepper.init(model, state), jax.numpy.int32(0)
        carry, worst = lax.fori_loop(0, steps, step, start)
        return carry.state, worst

    force = jax.jit(lambda q: family.force(q, model.gravity))
    inverse = np.linalg.inv(family.inertia())
    start = np.concatenate([state.families[0].q, state.families[0].v])

    def slopes(_: float, y: np.ndarray) -> np.ndarray:
        q, v = np.split(y, 2)
        return np.concatenate([v, inverse @ force(q)])

    exact = solve_ivp(slopes, (0, SPAN), start, "DOP853", rtol=1e-9, atol=1e-11).y[:, -1]
    errors = []
    for steps in (100, 200):
        after, worst = run(SPAN / steps, steps)
        assert worst == 0
        errors.append(np.abs(after.families[0].q - exact[: len(exact) // 2]).max())
    assert np.abs(exact[: len(exact) // 2] - start[: len(exact) // 2]).max() > 0.1
    assert errors[1] < 5e-4 and 3.6 < errors[0] / errors[1] < 4.4, errors


@pytest.mark.parametrize("kind", [np.float32, pytest.param(np.float64, marks=pytest.mark.long)])
def test_a_joint_clamps_a_cable_that_lies_along_an_axis(kind: type) -> None:
    """A cable whose end is fixed by a joint moves as one whose node is clamped.

    No load twists its end about itself, so that only rounding remains of that row of the joint.
    """
    ends = []
    for clamped in ((0,), ()):
        builder = ModelBuilder(gravity=(0, 0, -9.81))
        nodes = np.linspace([0, 0, 0], [0.6, 0, 0], 4)
        frames = builder.add_cable(nodes, 0.01, 1e6, 1000.0, clamped=clamped)
        if not clamped:
            builder.add_joint(Fixed(), 0, frames[0], anchor=nodes[0])
        model, state = jax.tree.map(
            lambda x: x.astype(kind) if x.dtype == float else x, builder.build()
        )
        after, trajectory = jax.jit(lambda m, s: rollout(m, s, HHT(2e-3), 10))(model, state)
        assert not np.any(trajectory.report.solver.status)
        ends.append(after.position[-1])
    assert np.linalg.norm(ends[0] - nodes[-1]) > 1e-3
    np.testing.assert_allclose(*ends, atol=1e-7 if kind == np.float64 else 1e-4)
