"""Test what sensors refuse to read from flexible bodies."""

import pytest

from jaxccp import Model, ModelBuilder, Sensor, Site, attach_sensors

FRAME = "cable.1"


@pytest.fixture(scope="module")
def model() -> Model:
    """Return a model of a cable and a free body."""
    builder = ModelBuilder()
    builder.add_cable([(0, 0, 0), (0.1, 0, 0)], 0.01, 1e6, 1e3, name="cable")
    builder.add_body(1.0, (0.1, 0.1, 0.1), name="ball")
    return builder.build()[0]


@pytest.mark.parametrize("about", ["world", FRAME, ["ball", FRAME]])
@pytest.mark.parametrize("kind", ["subtreecom", "subtreelinvel", "subtreeangmom"])
def test_the_mass_of_a_flexible_body_is_not_left_out(model: Model, kind: str, about) -> None:
    with pytest.raises(ValueError, match=r"'cable\.\d', is not counted: name rigid bodies only"):
        attach_sensors(model, {"mine": Sensor(kind, about)})
    attach_sensors(model, {"mine": Sensor(kind, ["world", "ball"])})


@pytest.mark.parametrize("kind", ["force", "torque"])
def test_a_frame_of_a_flexible_body_carries_nothing(model: Model, kind: str) -> None:
    with pytest.raises(ValueError, match=f"a {kind} sensor carries a rigid body, not '{FRAME}'"):
        attach_sensors(model, {"mine": Sensor(kind, Site(FRAME))})
    attach_sensors(model, {"mine": Sensor(kind, Site("ball"))})
