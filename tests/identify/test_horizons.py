"""Fits over simulations that grow longer, on a mass on a spring whose motion is known exactly."""

import numpy as np
import pytest

from jaxccp import load
from jaxccp.identify import Parameter, Problem, Simulate, recording

SPRING = """<mujoco><option gravity="0 0 0"/><worldbody><body><joint name="x" type="slide"
stiffness="{stiffness}"/><geom type="sphere" size=".1" mass="1"/></body></worldbody></mujoco>"""
TRUE, INITIAL = 40.0, 90.0
"""Stiffness of what is recorded and of what fits begin with [N/m]; the mass is 1 kg."""


def problem(*segment: float) -> Problem:
    """Return the identification of the spring from 6 s, which are six of its oscillations."""
    time = np.arange(0, 6.0, 0.02)
    swings = {"x": 0.1 * np.cos(np.sqrt(TRUE) * time)}
    one = recording(time, "swing", noise={"position": 1e-4}, position=swings)
    stiffness = Parameter('axes["x"].stiffness', initial=INITIAL, lower=1.0)
    residual = Simulate(segment=segment, h=5e-3, start="measured")
    return Problem(load(SPRING.format(stiffness=INITIAL)), [one], [stiffness], residual)


def test_growing_simulations_lead_past_false_minima():
    """An oscillation that is a whole turn off agrees with more of the record than half a turn."""
    alone = problem(2.9).fit()
    assert abs(alone.values[0] - TRUE) > 5.0
    grown = problem(0.25, 2.9)
    # The measured rate at the very start, where the filter has one side only, is 6 % off.
    assert grown.fit().values[0] == pytest.approx(TRUE, rel=1e-2)
    (shorter,) = grown.shorter
    assert len(shorter.plans[0].batch) == 24
    folds = grown.cross_validate(2)
    np.testing.assert_allclose(folds.values[:, 0], TRUE, rtol=2e-2)


@pytest.mark.parametrize("lengths", [(), (1.0, 0.5), (0.0, 1.0)])
def test_lengths_that_do_not_grow_are_refused(lengths: tuple[float, ...]):
    with pytest.raises(ValueError, match="segment must be"):
        Simulate(segment=lengths)


def test_what_a_fit_left_undone_is_said():
    from jaxccp.identify import Method

    one = problem(0.25)
    one.method = Method(iterations=1)
    assert "before it had converged" in one.fit().notes[0]
