"""Check that every input of smooth contact is among those whose derivatives are checked, and
agrees."""

from jaxccp import (
    EulerImplicitLinearized,
    Material,
    ModelBuilder,
    Plane,
    SmoothLaws,
    SmoothMaterial,
    Sphere,
)
from jaxccp.testing import check_gradients


def test_balls_that_rub_stick_and_roll() -> None:
    builder = ModelBuilder(smooth_laws=SmoothLaws("hertz", adhesion="dmt"))
    builder.add_shape(0, Plane(), material=Material(0.5, 0.8, rolling=2e-3))
    material = Material(0.4, 0.5, rolling=1e-3, smooth=SmoothMaterial(1e6, 0.3, adhesion=20.0))
    turning = {"velocity": (0.5, 0.2, -0.6), "angular_velocity": (1.0, 2.0, 3.0)}
    builder.add_solid(Sphere(0.1), 2.0, material, position=(0, 0, 0.0993), **turning)
    rising = {"velocity": (0.45, 0.2, -0.7), "angular_velocity": (1.0, -2.0, 3.0)}
    builder.add_solid(Sphere(0.12), 1.0, material, position=(0.03, 0.02, 0.315), **rising)
    model, state = builder.build(max_contacts=3)
    report = check_gradients(model, state, EulerImplicitLinearized(2e-4), steps=6)
    assert report.passed, report.summary()
    assert set(report.shapes) == {"plane-sphere", "sphere-sphere"}
    verdicts = {entry.name: entry.verdicts for entry in report.inputs}
    for name in ("young_modulus", "poisson_ratio", "adhesion"):
        assert verdicts[name] == {"agrees": 1}
    for name in ("friction", "restitution", "rolling"):
        assert verdicts[name]["agrees"] >= 1
    assert verdicts["radius"] == {"agrees": 2}
