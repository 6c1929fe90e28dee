"""Check docs/adding.md: a shape, its pairs, and the laws and searches that know shapes, added as it
describes, work."""

from dataclasses import dataclass, replace
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
import pytest

import jaxccp
from jaxccp import Material, ModelBuilder, Plane, Sphere
from jaxccp.collision import cores, pairs
from jaxccp.collision.broad import BROAD, Candidates
from jaxccp.collision.kernels.plane_contact import plane_sphere
from jaxccp.dynamics import STEPPERS, rollout
from jaxccp.dynamics.smooth.law_inputs import ROUND
from jaxccp.io.mjcf.write.file_numbers import SIZES
from jaxccp.model import SHAPES
from jaxccp.model.shapes.shape import require_positive
from jaxccp.model.smooth import ADHESION
from jaxccp.model.smooth.normal import NORMAL
from jaxccp.model.smooth.normal_law import Coefficients, NormalLaw
from jaxccp.scene import WORLD
from jaxccp.sensors.rays import RAY_LENGTHS
from jaxccp.sensors.zone import ZONES
from jaxccp.viz.mesh import MESHES, polygons


@dataclass(frozen=True)
class Pill:
    """A ball that is registered as a shape of its own."""

    radius: float
    kind: ClassVar[str] = "pill"

    def __post_init__(self) -> None:
        require_positive("Pill", "radius", self.radius)

    @property
    def size(self) -> tuple[float, float, float]:
        return (0.0, 0.0, 0.0)

    def inertia(self, mass: float) -> np.ndarray:
        return 0.4 * mass * self.radius**2 * np.eye(3)


@pytest.fixture
def pill(monkeypatch: pytest.MonkeyPatch) -> type[Pill]:
    monkeypatch.setitem(SHAPES, "pill", Pill)
    monkeypatch.setitem(cores.CORES, "pill", cores.CORES["sphere"])
    monkeypatch.setitem(pairs.PAIRS, ("plane", "pill"), pairs.Pair(plane_sphere, 1))
    monkeypatch.setitem(pairs.PAIRS, ("sphere", "pill"), pairs.PAIRS["sphere", "ellipsoid"])
    monkeypatch.setitem(MESHES, "pill", MESHES["sphere"])
    monkeypatch.setitem(RAY_LENGTHS, "pill", RAY_LENGTHS["sphere"])
    monkeypatch.setitem(ROUND, "pill", True)
    return Pill


def test_a_shape(pill: type[Pill]) -> None:
    """An added shape lies on the floor at its radius, carries a ball, and is drawn."""
    builder = ModelBuilder()
    builder.add_shape(WORLD, Plane())
    builder.add_solid(pill(0.1), 1.0, position=(0.0, 0.0, 0.1), name="pill")
    builder.add_solid(Sphere(0.05), 1.0, position=(0.0, 0.0, 0.25), name="ball")
    model, state = builder.build()
    _, path = rollout(model, state, STEPPERS["euler"](1e-3), 20)
    np.testing.assert_allclose(path.state.position[-1, 1:, 2], [0.1, 0.25], atol=1e-4)
    assert polygons(model, 1) is not None


def test_a_pair_that_is_missing_is_named(pill: type[Pill]) -> None:
    builder = ModelBuilder()
    for number in range(2):
        builder.add_solid(pill(0.1), 1.0, position=(0.0, 0.0, 0.3 * number))
    with pytest.raises(ValueError, match=r"no collision kernel for 'pill' against 'pill'.*PAIRS"):
        builder.build()


@pytest.mark.parametrize("kind", SHAPES)
def test_whatever_has_to_know_all_shapes_knows(kind: str) -> None:
    assert kind in RAY_LENGTHS, "add a ray's length to it to jaxccp/sensors/rays.py"
    special = ("plane", "convex", "height_field")
    assert kind in MESHES or kind in special, "add its mesh to jaxccp/viz/mesh.py"
    assert kind in ZONES or kind in special, "add what is within it to jaxccp/sensors/zone.py"
    assert kind in ROUND, "say whether it is round in jaxccp/dynamics/smooth/law_inputs.py"
    sizes = "jaxccp/io/mjcf/write/file_numbers.py"
    assert kind in SIZES, f"add its numbers in files to {sizes}, none if no geom has its shape"
    ground = ("plane", "height_field")
    assert kind in cores.CORES or kind in ground, "add its core to jaxccp/collision/cores.py"
    for partner in SHAPES:
        if not (kind in ground and partner in ground):
            pairs.lookup(kind, partner)


def test_a_broad_phase(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing(model, placed, group) -> Candidates:
        return Candidates(np.arange(0, dtype=np.int32), None, None)

    monkeypatch.setitem(BROAD, "nothing", nothing)
    for name, passes in (("all-pairs", False), ("nothing", True)):
        builder = ModelBuilder(broad_phase=name, gravity=(0.0, 0.0, 0.0))
        for side in (-1.0, 1.0):
            builder.add_solid(Sphere(0.1), 1.0, position=(0.1 * side, 0.0, 0.0))
        model, state = builder.build()
        towards = state.velocity.at[1:, 0].set(jnp.array([1.0, -1.0]))
        after = STEPPERS["euler"](1e-2).step(model, replace(state, velocity=towards))[0]
        np.testing.assert_allclose(after.velocity[1, 0], 1.0 if passes else 0.0, atol=1e-4)


def test_laws_of_smooth_contact(pill: type[Pill], monkeypatch: pytest.MonkeyPatch) -> None:
    """A round shape of 20 N on an added law, a spring of 200 N/m, which is pulled by 100 N per
    metre of its radius, rests where the spring bears 50 N."""

    def soft(contacts) -> Coefficients:
        k = jnp.full_like(contacts.overlap, 200.0)
        return Coefficients(k, 0.0 * k, 0.0 * k, 0.0 * k)

    monkeypatch.setitem(NORMAL, "soft", NormalLaw(soft))
    monkeypatch.setitem(ADHESION, "by radius", lambda strength, radius: strength * radius)
    surface = Material(smooth=jaxccp.SmoothMaterial(1e7, 0.3, adhesion=100.0))
    laws = jaxccp.SmoothLaws(normal="soft", adhesion="by radius")
    builder = ModelBuilder(smooth_laws=laws, gravity=(0.0, 0.0, -10.0))
    builder.add_shape(WORLD, Plane(), material=surface)
    builder.add_solid(pill(0.3), 2.0, surface, position=(0.0, 0.0, 0.05))
    model, state = builder.build()
    after = STEPPERS["euler"](1e-3).step(model, state)[0]
    np.testing.assert_allclose(after.velocity[1], 0.0, atol=1e-6)
