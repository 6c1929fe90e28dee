"""Check docs/adding.md: joints, rows, forces, actuators and flexible bodies, added as it
describes, work."""

from dataclasses import dataclass, field
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxccp
from jaxccp import Hinge, ModelBuilder, Prismatic, Slide, Sphere, State
from jaxccp.dynamics import STEPPERS, Stepper, accelerations, forces, rollout
from jaxccp.dynamics.rows import ROWS
from jaxccp.dynamics.rows.row import Rows, Step
from jaxccp.flexible import ancf
from jaxccp.flexible.solids.laws import LAWS
from jaxccp.flexible.solids.laws.st_venant_kirchhoff import StVenantKirchhoff
from jaxccp.model.actuators.dynamics import DYNAMICS, Dynamics
from jaxccp.model.joints import JOINTS
from jaxccp.model.row_order import FAMILIES, RowFamily, row_order
from jaxccp.scene import WORLD
from tests.adding.balls import ball

GRAVITY = 9.81


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
