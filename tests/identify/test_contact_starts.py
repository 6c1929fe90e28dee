"""Check simulations that start from measured states in which bodies penetrate."""

import numpy as np
import pytest

import jaxccp
from jaxccp.identify import Case, Predictor, Simulate, recording

SLED = """<mujoco><option timestep="0.001"/><worldbody>
<geom name="floor" type="plane" size="5 5 1" friction="0.3"/>
<body pos="0 0 0.05">
<joint name="along" type="slide" axis="1 0 0"/><joint name="up" type="slide" axis="0 0 1"/>
<geom name="foot" type="sphere" size="0.05" mass="1" friction="0.3"/>
</body></worldbody></mujoco>"""
BELOW = 1e-3
"""Measured depth below the floor of a sled that rests on it [m]."""


def test_a_resting_body_measured_below_the_floor_is_not_thrown() -> None:
    time = 0.01 * np.arange(21)
    log = recording(
        time, noise={"position": BELOW}, position={"along": 0 * time, "up": 0 * time - BELOW}
    )

    def off(**settings: float | None) -> float:
        residual = Simulate(segment=0.2, h=1e-3, start="measured", **settings)  # type: ignore[arg-type]
        case = Case(jaxccp.load(SLED), [log], residual)
        evaluation = Predictor(case, ['shapes["foot"].friction']).evaluate({})
        return evaluation.channels['position["up"]']

    assert off() <= BELOW
    # v = 0.6 m/s lasts 0.12 s and reaches 18 mm.
    assert off(recovery_speed=None) > 8 * BELOW


def test_a_recovery_speed_below_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="recovery_speed must be >= 0 m/s, not -1"):
        Simulate(segment=1.0, recovery_speed=-1.0)
