"""Test bodies of elements with enhanced strains against the first steps of records of their motion.

The whole records are in experiments/flexible.
"""

import numpy as np
import pytest

from tests.reference.series import RECORDS, stepped

LIMITS = {
    "eas_brick_beam_gravity": (20, 1e-9),
    "ancf_shell3423_plate_tip_force": (10, 1e-7),
    # Its numbers have six digits.
    "ancf_shell3423_cylinder_gravity": (10, 6e-6),
}


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.long) if "cyl" in name else name for name in LIMITS],
)
def test_the_first_steps_of_a_record(name: str, shared_data) -> None:
    record, (steps, limit) = RECORDS[name], LIMITS[name]
    data = np.load(shared_data / f"multibody/fea/{name}.npz")
    family = record.family(data)
    q = stepped(family, data["gravity"], 1e-3, steps, float(data["hht_alpha"]))
    recorded = data[record.key].reshape(len(data["time"]), -1)[:steps]
    for at, row in zip(q, recorded, strict=True):
        place = family.coordinates(at)[family.layout.frames[-1]]
        np.testing.assert_allclose(place[np.array(record.axes)], row, atol=limit)
    assert np.ptp(recorded) > 1e-4
