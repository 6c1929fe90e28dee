"""Check docs/adding.md: one thing of each kind, added as it describes, works."""

from dataclasses import dataclass, field, replace
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

import jaxccp
from jaxccp import Hinge, Material, ModelBuilder, Plane, Prismatic, Slide, Sphere, State
from jaxccp.collision import cores, pairs
from jaxccp.collision.broad import BROAD, Candidates
from jaxccp.collision.kernels.plane_contact import plane_sphere
from jaxccp.dynamics import STEPPERS, Stepper, accelerations, forces, rollout
from jaxccp.dynamics.rows import ROWS
from jaxccp.dynamics.rows.row import Rows, Step
from jaxccp.dynamics.stepper import step_length
from jaxccp.flexible import ancf
from jaxccp.flexible.solids.laws import LAWS
from jaxccp.flexible.solids.laws.st_venant_kirchhoff import StVenantKirchhoff
from jaxccp.identify import Parameter, Problem, Simulate, recording
from jaxccp.model import SHAPES
from jaxccp.model.actuators.dynamics import DYNAMICS, Dynamics
from jaxccp.model.joints import JOINTS
from jaxccp.model.row_order import FAMILIES, RowFamily, row_order
from jaxccp.model.shapes.shape import require_positive
from jaxccp.model.smooth.normal import NORMAL
from jaxccp.model.smooth.normal_law import Coefficients, NormalLaw
from jaxccp.scene.builder import WORLD
from jaxccp.scenes.library import SCENES
from jaxccp.sensors import Sensor
from jaxccp.sensors.rays import RAY_LENGTHS
from jaxccp.sensors.reading import Kind
from jaxccp.sensors.registry import KINDS
from jaxccp.sensors.zone import ZONES
from jaxccp.viz.mesh import MESHES, polygons

GRAVITY = 9.81


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
    ground = ("plane", "height_field")
    assert kind in cores.CORES or kind in ground, "add its core to jaxccp/collision/cores.py"
    for partner in SHAPES:
        if not (kind in ground and partner in ground):
            pairs.lookup(kind, partner)


@dataclass(frozen=True)
class PinInSlot:
    """A slide that carries a hinge across it."""

    kind: ClassVar[str] = "pin-in-slot"
    slot: Slide = field(default_factory=lambda: Slide((1.0, 0.0, 0.0)))
    pin: Hinge = field(default_factory=lambda: Hinge((0.0, 1.0, 0.0)))

    @property
    def axes(self) -> tuple[Slide, Hinge]:
        return (self.slot, self.pin)


def test_a_joint(monkeypatch: pytest.MonkeyPatch) -> None:
    """An added joint lets its body slide freely under gravity along its slot; its pin does not
    turn."""
    monkeypatch.setitem(JOINTS, "pin-in-slot", PinInSlot)
    builder = ModelBuilder(gravity=(GRAVITY, 0.0, 0.0))
    body = builder.add_body(1.0, 0.01 * np.eye(3))
    builder.add_joint(PinInSlot(), WORLD, body)
    model, state = builder.build()
    assert len(model.topology.linkage.axes) == 2
    motion = accelerations(model, state)
    np.testing.assert_allclose(motion.body[1], [GRAVITY, 0, 0, 0, 0, 0], atol=1e-6)


def catch(step: Step) -> Rows:
    """Return rows λ ≥ 0 ⟂ q̇⁺ + (q − lower − 0.2)/h ≥ 0: a second stop, 0.2 m before the lower
    limit."""
    index = step.model.topology.linkage.lower
    gap = step.coordinate[index] - step.model.axes.lower[index] - 0.2
    zero = jnp.zeros_like(gap)
    return Rows.rigid(*step.jacobian(index), gap / step.h, zero, zero + jnp.inf)


@pytest.mark.parametrize(
    "stepper",
    [
        jaxccp.EulerImplicitLinearized(0.01),
        jaxccp.EulerImplicitLinearized(0.01, coordinates="maximal"),
        jaxccp.Newmark(0.01),
    ],
    ids=lambda stepper: type(stepper).__name__,
)
def test_a_family_of_rows(stepper: Stepper, monkeypatch: pytest.MonkeyPatch) -> None:
    """A body that slides down comes to rest on the second stop, which bears its weight."""
    stop_rows = RowFamily(lambda linkage: linkage.lower, lambda _: True, impulsive=True)
    monkeypatch.setitem(FAMILIES, "catch", stop_rows)
    monkeypatch.setitem(ROWS, "catch", catch)
    builder = ModelBuilder(gravity=(0.0, 0.0, -GRAVITY))
    body = builder.add_body(3.0, 0.01 * np.eye(3))
    builder.add_joint(Prismatic((0.0, 0.0, 1.0), limits=(-1.0, 1.0)), WORLD, body, name="to a stop")
    model, state = builder.build()
    carry, _ = rollout(model, stepper.init(model, state), stepper, 100)
    np.testing.assert_allclose(carry.state.joint_positions, [-0.8], atol=1e-5)
    (row,) = row_order(model.topology.linkage).of("catch")
    force = carry.warm_start.scalars[row] / stepper.h
    np.testing.assert_allclose(force, 3.0 * GRAVITY, rtol=1e-4)


def ball(**settings: object) -> tuple[jaxccp.Model, State]:
    """Return a ball of 2 kg in free fall."""
    builder = ModelBuilder(**settings)  # type: ignore[arg-type]
    builder.add_solid(Sphere(0.1), 2.0, position=(0.0, 0.0, 1.0), name="ball")
    return builder.build()


def test_a_force(monkeypatch: pytest.MonkeyPatch) -> None:
    def wind(model, state, step):
        del state, step
        return jnp.zeros((len(model.bodies.mass), 6)).at[:, 0].set(3.0)

    monkeypatch.setattr(forces, "FORCES", (*forces.FORCES, wind))
    model, state = ball()
    acceleration = accelerations(model, state).body[1]
    np.testing.assert_allclose(acceleration, [1.5, 0, -GRAVITY, 0, 0, 0], atol=1e-6)


def driven(actuator: jaxccp.Actuator, stepper: Stepper, control: float) -> State:
    """Return the state of 2 kg on a slide after 50 steps under a constant control.

    Args:
        actuator: actuator of the slide.
        stepper: the stepper.
        control: value of the control.
    """
    builder = ModelBuilder(gravity=(0.0, 0.0, 0.0))
    body = builder.add_solid(Sphere(0.1), 2.0)
    builder.add_joint(Prismatic((1.0, 0.0, 0.0)), WORLD, body, name="slide")
    builder.add_actuator(actuator, "slide")
    model, state = builder.build()
    return rollout(model, state, stepper, 50, controls=jnp.full((50, 1), control))[0]


def test_an_actuator() -> None:
    """Any function that returns an Actuator defines one: here a motor behind a worm gear."""

    def worm_drive(ratio: float, efficiency: float) -> jaxccp.Actuator:
        return jaxccp.Actuator(gain=efficiency, gear=ratio)

    state = driven(worm_drive(40.0, 0.25), STEPPERS["euler"](1e-2), 0.2)
    np.testing.assert_allclose(state.velocity[1, 0], 0.5 * 40.0 * 0.25 * 0.2 / 2.0, rtol=1e-5)


@pytest.mark.parametrize("stepper", ["euler", "hht"])
def test_dynamics_of_activations(stepper: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Added dynamics ȧ = u / 4 are integrated, and the mechanism moves under the force a."""

    def quarter(a, u, t, _):
        return a + 0.25 * t * u

    monkeypatch.setitem(DYNAMICS, "quarter", Dynamics(quarter, quarter, False))
    h, time = 1e-2, 0.5
    motor = jaxccp.Actuator(activation=jaxccp.Activation("quarter"))
    state = driven(motor, STEPPERS[stepper](h), 8.0)
    assert state.activation is not None
    np.testing.assert_allclose(state.activation, [0.25 * 8.0 * time], rtol=1e-6)
    # Euler's force is that of the start of a step.
    mean = 0.5 * 2.0 * time * (time - (h if stepper == "euler" else 0.0))
    np.testing.assert_allclose(state.velocity[1, 0], mean / 2.0, rtol=1e-4)


def test_a_flexible_element(monkeypatch: pytest.MonkeyPatch) -> None:
    """An added beam of the fifth order along its axis works: a cantilever sinks by q L⁴/(8 E I)
    under its own weight."""
    toy = ancf.Shape(
        name="beam_toy",
        monomials="1 x y z xy xz x2 x2y x2z x3 x4 x5",
        nodes=((-1, 0, 0), (1, 0, 0), (0, 0, 0)),
        derivatives=("", "x", "y", "z"),
        section=True,
    )
    monkeypatch.setitem(ancf.SHAPES, toy.name, toy)
    builder = ModelBuilder(gravity=(0.0, 0.0, -GRAVITY))
    size, young, density = (1.0, 0.05, 0.05), 2e9, 1000.0
    builder.add_beam(size, 2, young, 0.0, density, clamped=("x0",), element=toy.name, name="beam")
    model, state = builder.build()
    rest = jaxccp.equilibrium(model, state).state
    tip = model.topology.body("beam.4")
    weight, stiffness = density * 0.05**2 * GRAVITY, young * 0.05**4 / 12
    sag = state.position[tip, 2] - rest.position[tip, 2]
    np.testing.assert_allclose(state.position[tip], [1.0, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(sag, weight / (8 * stiffness), rtol=2e-2)


def test_a_law_of_soft_solids(monkeypatch: pytest.MonkeyPatch) -> None:
    """An added law twice as stiff as St. Venant's and Kirchhoff's has the energy of theory: 2 V (3
    μ + 9/2 λ) e² at a stretch by s in all directions, e = (s² − 1)/2."""

    @jax.tree_util.register_dataclass
    @dataclass(frozen=True)
    class Twice(StVenantKirchhoff):
        def density(self, y):
            return 2.0 * super().density(y)

    monkeypatch.setitem(LAWS, "twice", Twice)
    builder = ModelBuilder()
    young, poisson, stretch = 1e5, 0.3, 1.1
    points, tetrahedra = jaxccp.box_of_tetrahedra((0.5, 0.5, 0.5), (1, 1, 1))
    builder.add_soft_solid(points, tetrahedra, young, poisson, 1.0, law="twice")
    model, state = builder.build()
    (family,), (nodes,) = model.families, state.families
    strain = 0.5 * (stretch**2 - 1.0)
    mu = young / (2 * (1 + poisson))
    lam = young * poisson / ((1 + poisson) * (1 - 2 * poisson))
    _, potential = family.energy(stretch * nodes.q, nodes.v, jnp.zeros(3))
    np.testing.assert_allclose(potential, 2.0 * (3.0 * mu + 4.5 * lam) * strain**2, rtol=1e-9)


@dataclass(frozen=True)
class Drop(Stepper):
    """A stepper for exact free fall of all bodies; nothing else acts."""

    h: float = 1e-2

    @jax.tree_util.register_dataclass
    @dataclass(frozen=True)
    class Carry:
        state: State

    def init(self, model: jaxccp.Model, state: State) -> "Drop.Carry":
        return self.Carry(state)

    def advance(self, model, carry, force=None, control=None, *, h=None):
        h = step_length(h, self.h, carry.state.position.dtype)
        state = carry.state
        free = jnp.asarray(model.topology.free)[:, None]
        fall = jnp.where(free, model.gravity, 0.0)
        position = state.position + jnp.where(free, h * state.velocity, 0.0)
        after = replace(
            state,
            position=position + 0.5 * h**2 * fall,
            velocity=state.velocity + h * fall,
            time=state.time + h,
        )
        report = STEPPERS["euler"](self.h).step(model, state)[1]
        return self.Carry(after), report


def test_a_stepper(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(STEPPERS, "drop", Drop)
    model, state = ball()
    _, path = rollout(model, state, STEPPERS["drop"](h=0.1), 5)
    np.testing.assert_allclose(path.state.position[-1, 1, 2], 1.0 - 0.5 * GRAVITY * 0.25, rtol=1e-6)


def test_a_sensor(monkeypatch: pytest.MonkeyPatch) -> None:
    def height(reading, index: np.ndarray) -> Array:
        return reading.state.position[index, 2:]

    monkeypatch.setitem(KINDS, "height", Kind("body", height))
    model, state = ball()
    sensors = jaxccp.attach_sensors(model, {"z": Sensor("height", "ball")})
    np.testing.assert_allclose(sensors.values(model, state)["z"], [1.0])


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


def test_a_law_of_smooth_contact(monkeypatch: pytest.MonkeyPatch) -> None:
    """A ball of 20 N on an added law, a spring of 200 N/m, rests at a depth of 0.1 m."""

    def soft(contacts) -> Coefficients:
        k = jnp.full_like(contacts.overlap, 200.0)
        return Coefficients(k, 0.0 * k, 0.0 * k, 0.0 * k)

    monkeypatch.setitem(NORMAL, "soft", NormalLaw(soft))
    surface = Material(smooth=jaxccp.SmoothMaterial(1e7, 0.3))
    builder = ModelBuilder(smooth_laws=jaxccp.SmoothLaws(normal="soft"), gravity=(0.0, 0.0, -10.0))
    builder.add_shape(WORLD, Plane(), material=surface)
    builder.add_solid(Sphere(0.3), 2.0, surface, position=(0.0, 0.0, 0.2))
    model, state = builder.build()
    after = STEPPERS["euler"](1e-3).step(model, state)[0]
    np.testing.assert_allclose(after.velocity[1], 0.0, atol=1e-6)


def test_a_scene(monkeypatch: pytest.MonkeyPatch) -> None:
    from jaxccp.scenes.library import batch

    monkeypatch.setitem(SCENES, "ball", lambda key: ball())
    _, states = batch(SCENES["ball"], jax.random.key(0), 3)
    np.testing.assert_allclose(states.position[:, 1, 2], 1.0)


def test_a_parameter_to_identify() -> None:
    """Any number of a model is identified by its path: here gravity from a fall of half a
    second."""
    body = '<body name="ball" pos="0 0 1"><freejoint/><geom size="0.1"/></body>'
    loaded = jaxccp.load(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    time = np.linspace(0.0, 0.5, 26)
    pose = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (26, 1))
    pose[:, 2] = 1.0 - 0.5 * 3.7 * time**2
    fall = recording(time, "on Mars", noise={"pose": 1e-4}, lever=0.1, pose={"ball": pose})
    problem = Problem(
        loaded,
        [fall],
        [Parameter("gravity[2]", initial=-9.0)],
        Simulate(segment=0.5, h=1e-2, cutoff=np.inf),
    )
    np.testing.assert_allclose(problem.fit().values, [-3.7], rtol=1e-3)
