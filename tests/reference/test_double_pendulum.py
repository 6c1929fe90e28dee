"""Test a double pendulum in the plane against an integration to 1e-11."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from jaxccp.model import Model, Revolute
from jaxccp.scene import ModelBuilder
from tests.reference.runs import FIRST_STEPPER, Samples, check_order, extrapolated, rms, sampled

FINEST, EVERY = 2e-4, 2
"""Step length of the record's own test [s]; every second row of the record is compared."""


@dataclass(frozen=True)
class Run:
    model: Model
    record: dict[str, np.ndarray]
    samples: Samples


@pytest.fixture(scope="module", params=FIRST_STEPPER)
def run(request: pytest.FixtureRequest, shared_data: Path, optimised: None) -> Run:
    record = dict(np.load(shared_data / "multibody" / "physics" / "double_pendulum.npz"))
    assert not record["angles0"].any() and not record["rates0"].any()
    builder = ModelBuilder(gravity=record["gravity"])
    end, last = 0.0, 0
    for i, length in enumerate(record["length"]):
        mass, moment = float(record["mass"][i]), float(record["inertia_zz"][i])
        bar = builder.add_body(mass, (moment,) * 3, (end + length / 2, 0, 0), name=f"bar{i}")
        builder.add_joint(Revolute(), last, bar, (end, 0, 0))
        end, last = end + float(length), bar
    model, state = builder.build()
    time = record["time"][::EVERY]
    every = round((time[1] - time[0]) / (4 * FINEST))
    stepper = request.param
    return Run(model, record, sampled(model, state, stepper, 4 * FINEST, every, len(time) - 1))


def test_second_bar(run: Run) -> None:
    states = run.samples.body(run.model, "bar1")
    for key, allowed in (("pos", 1e-6), ("vel", 1e-5)):
        reference = run.record[f"com2_{key}"][::EVERY][1:]
        values = states[key][..., :2]
        assert rms(values[-1] - reference) < run.record["tol_state_rms"]
        assert rms(extrapolated(values) - reference) < allowed
        np.testing.assert_allclose(states[key][..., 2], 0, atol=1e-12)


def test_order(run: Run) -> None:
    check_order(run.samples.body(run.model, "bar1")["pos"])


def test_energy(run: Run) -> None:
    """Energy, which is zero at the start, changes by an error of first order in h."""
    energy = np.asarray(run.samples.energy)
    np.testing.assert_allclose(extrapolated(energy), 0, atol=1e-5)
    check_order(energy[..., None])


def test_joints_stay_closed(run: Run) -> None:
    drift = np.sqrt(np.mean(np.square(run.samples.error[-1]), axis=0))
    assert drift.max() < run.record["tol_constraint_rms"]
