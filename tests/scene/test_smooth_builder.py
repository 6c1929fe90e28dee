"""Test smooth surfaces in the builder: what is refused, and which contacts are smooth."""

from collections.abc import Callable
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
import pytest

from jaxccp.model import (
    Box,
    Material,
    Plane,
    SmoothCoefficients,
    SmoothLaws,
    SmoothMaterial,
    Sphere,
)
from jaxccp.scene import ModelBuilder

SOFT = Material(smooth=SmoothMaterial())
HARD = Material()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: SmoothMaterial(-1.0), r"young_modulus \[Pa\] must be finite and positive, not -1"),
        (lambda: SmoothMaterial(float("inf")), "a rigid surface has no smooth material"),
        (lambda: SmoothMaterial(1e5, 0.6), r"poisson_ratio must lie in \(-1, 0.5\], not 0.6"),
        (lambda: SmoothMaterial(1e5, -1.0), "poisson_ratio must lie in"),
        (lambda: SmoothMaterial(adhesion=-1.0), "adhesion must be finite and not negative, not -1"),
        (lambda: SmoothCoefficients(0.0), r"normal_stiffness \[N/m\] must be positive, not 0"),
        (lambda: SmoothCoefficients(1e4, -1.0), "normal_damping must be finite and not negative"),
        (lambda: SmoothCoefficients(1e4, 0.0, np.nan), "tangential_stiffness must be finite"),
        (lambda: Material(restitution=1.1, smooth=SmoothMaterial()), "restitution must lie in"),
        (
            lambda: Material(compliance=1e-4, impact_friction=0.5, smooth=SmoothMaterial()),
            "compliance, impact_friction is of hard contact, but the surface is smooth",
        ),
        (
            lambda: Material(restitution=0.8, smooth=SmoothCoefficients(1e5, 50.0)),
            "restitution of 0.8 has no effect .*dashpots are given",
        ),
        (lambda: SmoothLaws("newton"), "normal must be one of hooke, hertz, .*, not 'newton'"),
        (lambda: SmoothLaws(tangential="two"), "tangential must be one of none, one-step, multi"),  # type: ignore[arg-type]
        (lambda: SmoothLaws(adhesion="glue"), "adhesion must be one of constant, dmt, perko"),
        (lambda: SmoothLaws(flat_radius=0.0), "flat_radius must be finite and positive, not 0.0"),
        (lambda: SmoothLaws(characteristic_speed=np.nan), "characteristic_speed must be finite"),
    ],
)
def test_what_is_not_physical_is_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make()


def build(floor: Material, ball: Material, laws: SmoothLaws | None = None):
    builder = ModelBuilder(smooth_laws=laws or SmoothLaws())
    builder.add_shape(0, Plane(), material=floor, name="floor")
    builder.add_solid(Sphere(0.1), 1.0, ball, name="ball")
    return builder.build()[0]


def test_surfaces_of_a_model_must_go_together() -> None:
    springs = Material(smooth=SmoothCoefficients(1e4))
    with pytest.raises(ValueError, match="shape 'floor' has a SmoothMaterial, shape 'ball' Smooth"):
        build(SOFT, springs, SmoothLaws("hooke"))
    with pytest.raises(ValueError, match=r"'hertz' does not take: .*SmoothLaws.normal='hooke'."):
        build(HARD, springs)
    elastic = Material(restitution=0.5, smooth=SmoothMaterial())
    with pytest.raises(ValueError, match="'floor' and 'ball' have restitution 0 together"):
        build(HARD, elastic, SmoothLaws("flores"))
    assert build(elastic, elastic, SmoothLaws("flores")).smooth is not None


def test_springs_across_the_normal_are_those_along_it_unless_given() -> None:
    normal = SmoothCoefficients(1e5, 50.0)
    assert normal.springs_and_dashpots == (1e5, 50.0, 1e5, 50.0)
    assert replace(normal, normal_stiffness=2e5).springs_and_dashpots == (2e5, 50.0, 2e5, 50.0)
    assert replace(normal, tangential_damping=0.0).springs_and_dashpots == (1e5, 50.0, 1e5, 0.0)


def test_a_pair_is_smooth_if_either_surface_is() -> None:
    builder = ModelBuilder()
    builder.add_shape(0, Plane(), material=HARD)
    rolling = Material(restitution=0.5, rolling=0.1, smooth=SmoothMaterial(3e5, 0.2, 7.0))
    for i, material in enumerate((HARD, HARD, rolling)):
        builder.add_solid(Box((0.1, 0.1, 0.1)), 1.0, material, position=(i, 0, 0.1))
    model, _ = builder.build(max_contacts=5)
    smooth = model.topology.smooth
    assert smooth is not None and model.smooth is not None

    def pairs(groups) -> set[tuple[int, int]]:
        return {(int(a), int(b)) for g in groups for a, b in zip(g.first, g.second, strict=True)}

    assert pairs(model.topology.pairs) == {(0, 1), (0, 2), (1, 2)}
    assert pairs(smooth.pairs) == {(0, 3), (1, 3), (2, 3)}
    # What smooth surfaces have costs hard contacts no rows.
    assert not model.topology.rolls and not model.topology.rebounds and smooth.rolls
    assert model.topology.max_contacts == smooth.max_contacts == 5
    np.testing.assert_array_equal(model.smooth.young_modulus, [np.inf] * 3 + [3e5])
    np.testing.assert_array_equal(model.smooth.adhesion, [np.inf] * 3 + [7.0])
    assert model.smooth.coefficients is None and model.smooth.frame_mass.dtype == jnp.float64
