"""Test shafts: the inertia with which they rotate, and what is refused."""

import jax
import numpy as np
import pytest

from jaxccp.dynamics import EulerImplicitLinearized
from jaxccp.model import Revolute, gear, joint_motion
from jaxccp.scene import ModelBuilder, add_shaft

H, RATIO, RATE = 1e-3, -2.5, 3.0
DRIVER, DRIVEN = 0.4, 0.05


def test_gear_engages_shafts_that_turn() -> None:
    """A gear engages rotating shafts in one step.

    What remains is their momentum along the only direction in which they can rotate.
    """
    builder = ModelBuilder()
    hinge = Revolute((1, 2, 2), damping=0.0)
    body = add_shaft(builder, DRIVER, "driver", hinge, (1, 0, 0), rate=RATE)
    add_shaft(builder, DRIVEN, "driven", mass=7.0)
    builder.add_tendon(gear("driven", "driver", RATIO), "gear")
    model, state = builder.build()
    rate = np.asarray(jax.jit(joint_motion)(model, state).rate)
    np.testing.assert_allclose(rate, [RATE, 0], atol=1e-12)

    after, report = jax.jit(EulerImplicitLinearized(H).step)(model, state)
    rate = np.asarray(jax.jit(joint_motion)(model, after).rate)
    common = DRIVER * RATE / (DRIVER + RATIO**2 * DRIVEN)
    np.testing.assert_allclose(rate, [common, RATIO * common], rtol=1e-5)
    torque = float(report.tendon_forces[0])
    assert torque == pytest.approx(DRIVEN * RATIO * common / H, rel=1e-5)
    assert -RATIO * torque == pytest.approx(DRIVER * (common - RATE) / H, rel=1e-5)
    np.testing.assert_allclose(after.position[body], [1, 0, 0], atol=1e-12)
    weight = np.asarray(report.reactions)[:, 2]
    np.testing.assert_allclose(weight, [9.81, 7 * 9.81], rtol=1e-9)


@pytest.mark.parametrize("inertia", [0.0, -1.0, float("nan")])
def test_inertia_must_be_positive(inertia: float) -> None:
    with pytest.raises(ValueError, match=r"shaft 'crank': inertia \[kg m²\] must be positive"):
        add_shaft(ModelBuilder(), inertia, "crank")


def test_axis_must_pass_through_the_centre_of_mass() -> None:
    """About an axis 0.5 m away 1 kg would add 0.25 kg m² to the inertia given."""
    builder = ModelBuilder()
    with pytest.raises(ValueError, match=r"shaft 'crank': the axis .* point=\(0.5, 0.0, 0.0\)"):
        add_shaft(builder, 0.1, "crank", Revolute((0, 0, 1), point=(0.5, 0, 0)))
    # Nothing is left of the refused one, and a point on the axis is as good as none.
    add_shaft(builder, 0.1, "crank", Revolute((1, 2, 2), point=(0.1, 0.2, 0.2)))
