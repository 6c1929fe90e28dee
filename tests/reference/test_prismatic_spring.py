"""Test a slider on an inclined guide against an integration by DOP853.

A spring and damper go to a point beside the guide.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from jaxccp.model import Model, Prismatic, TendonPath
from jaxccp.scene import ModelBuilder
from tests.reference.runs import FIRST_STEPPER, Samples, check_order, extrapolated, rms, sampled

COARSEST, EVERY = 2e-3, 5
"""Step length [s], and how many rows of the record are between those compared."""


@dataclass(frozen=True)
class Run:
    model: Model
    record: dict[str, np.ndarray]
    samples: Samples

    @property
    def slider(self) -> dict[str, np.ndarray]:
        return self.samples.body(self.model, "slider")


@pytest.fixture(scope="module", params=FIRST_STEPPER)
def run(request: pytest.FixtureRequest, shared_data: Path) -> Run:
    record = dict(np.load(shared_data / "multibody" / "physics" / "prismatic_spring.npz"))
    builder = ModelBuilder(gravity=record["gravity"])
    slider = builder.add_body(
        float(record["mass"]), record["inertia"], record["pos0"], record["quat0"], name="slider"
    )
    builder.add_joint(Prismatic(), 0, slider, record["joint_pos"], record["joint_quat"])
    k, c, rest = (float(record[f"spring_{key}"]) for key in ("k", "c", "free_length"))
    ends = [(0, record["spring_point_ground"]), (slider, record["spring_point_body"])]
    builder.add_tendon(TendonPath(ends, stiffness=k, damping=c, rest=rest))
    model, state = builder.build()
    time = record["time"][::EVERY]
    every = round((time[1] - time[0]) / COARSEST)
    stepper = request.param
    return Run(model, record, sampled(model, state, stepper, COARSEST, every, len(time) - 1))


def test_motion(run: Run) -> None:
    reference = run.record["pos"][::EVERY][1:]
    assert rms(extrapolated(run.slider["pos"]) - reference) < 1e-6
    check_order(run.slider["pos"])
    rate = run.slider["vel"] @ run.record["joint_axis"]
    left = extrapolated(rate) - run.record["slide_rate"][::EVERY][1:]
    assert rms(left[:, None]) < 1e-5


def test_force_of_the_spring(run: Run) -> None:
    """The spring's force is that of its law along the record's own path."""
    place, rate = run.record["pos"], run.record["slide_rate"][:, None] * run.record["joint_axis"]
    length = np.linalg.norm(place, axis=1)
    speed = np.sum(place * rate, axis=1) / length
    stretch = length - run.record["spring_free_length"]
    force = -run.record["spring_k"] * stretch - run.record["spring_c"] * speed
    sampled_force = extrapolated(np.asarray(run.samples.tendon_forces)[..., 0])
    assert rms((sampled_force - force[::EVERY][1:])[:, None]) < 1e-4


def test_joint_stays_closed(run: Run) -> None:
    np.testing.assert_allclose(run.samples.error, 0, atol=1e-12)
