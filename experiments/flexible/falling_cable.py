"""Build the falling cable of cables.py in jaxccp and in exudyn, and time runs of both."""

import importlib
import time
from dataclasses import dataclass, fields, replace
from itertools import pairwise
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from jaxccp import Model, ModelBuilder, State, rollout, rollout_batch
from jaxccp.dynamics.stepper import Stepper
from jaxccp.flexible import NodalFamily
from jaxccp.flexible.ancf import CableElements, rope
from jaxccp.flexible.ancf.cable import CableLaw
from jaxccp.flexible.elements import Points
from jaxccp.math import safe

exudyn: Any = importlib.import_module("exudyn")  # its names come from a binary
items: Any = importlib.import_module("exudyn.itemInterface")

ELEMENTS, LENGTH, RADIUS, YOUNG, DENSITY, G = 100, 1.0, 5e-3, 1e7, 1000.0, 9.81
AREA, MOMENT = np.pi * RADIUS**2, np.pi * RADIUS**4 / 4
SPAN, REPEATS = 0.5, 3
SPINS = np.linspace(-1.0, 1.0, 64)
"""Initial angular velocity of each copy about the pinned end [rad/s]."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class PeerLaw(CableLaw):
    """exudyn's law of a cable, with the strains ε = |r_x| − 1 and κ = r_x × r_xx / |r_x|²."""

    def strain(self, y: Float[Array, "2 3"]) -> Float[Array, "4"]:
        slope, second = y
        square = slope @ slope
        curvature = safe.divide(jnp.cross(slope, second), square)
        return jnp.concatenate([(jnp.sqrt(square) - 1.0)[None], curvature])


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class PeerElements(CableElements):
    """Cable elements whose law is :class:`PeerLaw`."""

    def points(self) -> Points:
        points = super().points()
        law = points.law
        assert isinstance(law, CableLaw)
        return replace(points, law=PeerLaw(law.moduli, law.retardation))


def cable(peer: bool = True) -> NodalFamily:
    """Build the cable, with exudyn's law or with that of jaxccp."""
    nodes = np.linspace([0, 0, 0], [LENGTH, 0, 0], ELEMENTS + 1)
    family = rope(jnp.asarray(nodes), AREA, MOMENT, YOUNG, DENSITY, pinned=(0,))
    elements = family.elements
    assert isinstance(elements, CableElements)
    if not peer:
        return family
    numbers = {field.name: getattr(elements, field.name) for field in fields(elements)}
    return replace(family, elements=PeerElements(**numbers))


def built() -> tuple[Model, State, int]:
    """Build the model; return it, its initial state, and the body at the tip."""
    builder = ModelBuilder(gravity=(0, 0, -G))
    nodes = builder.add_family(cable(), "cable")
    return *builder.build(), nodes[-1]


def rotating_copies(state: State) -> State:
    """Return a copy of the initial state for each of SPINS, rotating about the pinned end."""
    (start,) = state.families
    # Only free coordinates are in v: the pinned end's slope, then positions and slopes.
    distance = np.linspace(0, LENGTH, ELEMENTS + 1)
    rates = np.zeros((ELEMENTS + 1, 2, 3))
    rates[:, 0, 2], rates[:, 1, 2] = distance, 1.0
    v = np.outer(SPINS, rates.reshape(-1)[3:])
    copies = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (len(SPINS), *leaf.shape)), state)
    moving = replace(start, q=copies.families[0].q, v=jnp.asarray(v, start.v.dtype))
    return replace(copies, families=(moving,))


def ours(stepper: Stepper, precision: type, batch: bool, steps: int) -> tuple[float, np.ndarray]:
    """Simulate in jaxccp; return steps per CPU-second, and the final tips (x, z) [m].

    Args:
        stepper: stepper with its step.
        precision: floating-point type.
        batch: whether all 64 copies are simulated, or one without spin.
        steps: number of steps.
    """
    jax.config.update("jax_enable_x64", precision is np.float64)
    model, state, tip = built()
    go = rollout_batch if batch else rollout
    if batch:
        state = rotating_copies(state)
    run = jax.jit(lambda state: go(model, state, stepper, steps, every=steps))
    compiled = run.lower(state).compile()
    best = np.inf
    # A batch runs for a minute: once is enough.
    for _ in range(1 if batch else REPEATS):
        begin = time.process_time()
        _final, path = jax.block_until_ready(compiled(state))
        best = min(best, time.process_time() - begin)
    assert not path.report.solver.status.any()
    copies, ends = len(SPINS) if batch else 1, np.asarray(path.state.position)
    return copies * steps / best, ends[..., -1, tip, ::2]


def explicit(family: NodalFamily, h: float) -> np.ndarray:
    """Return the final tip (x, z) [m] by the classical Runge–Kutta rule in steps of ``h`` [s]."""
    start, gravity = family.start(), jnp.array([0, 0, -G])
    inverse = jnp.linalg.inv(family.inertia())

    def slopes(state: tuple[Array, Array]) -> tuple[Array, Array]:
        return state[1], inverse @ family.force(state[0], gravity)

    def step(_: Array, state: tuple[Array, Array]) -> tuple[Array, Array]:
        def after(by: float, rate: tuple[Array, Array]) -> tuple[Array, Array]:
            return state[0] + by * rate[0], state[1] + by * rate[1]

        a = slopes(state)
        b = slopes(after(h / 2, a))
        c = slopes(after(h / 2, b))
        d = slopes(after(h, c))
        mean = [(p + 2 * q + 2 * r + s) / 6 for p, q, r, s in zip(a, b, c, d, strict=True)]
        return after(h, (mean[0], mean[1]))

    run = jax.jit(lambda state: lax.fori_loop(0, round(SPAN / h), step, state))
    return np.asarray(family.coordinates(run((start.q, start.v))[0]))[-2, ::2]


def peers(kind: str, h: float, spins: np.ndarray) -> tuple[float, np.ndarray]:
    """Simulate in exudyn; return steps per CPU-second, and the final tips (x, y) [m].

    Args:
        kind: name of exudyn's dynamic solver.
        h: length of a step [s].
        spins: initial angular velocities [rad/s]; one cable for each, all in one system.
    """
    world = exudyn.SystemContainer()
    system = world.AddSystem()
    origin = system.AddNode(items.NodePointGround())
    fixed = system.AddMarker(items.MarkerNodeCoordinate(nodeNumber=origin, coordinate=0))
    tips, length = [], LENGTH / ELEMENTS
    for spin in spins:
        nodes = [
            system.AddNode(
                items.NodePoint2DSlope1(
                    referenceCoordinates=[i * length, 0, 1, 0],
                    initialVelocities=[0, spin * i * length, 0, spin],
                )
            )
            for i in range(ELEMENTS + 1)
        ]
        for ends in pairwise(nodes):
            element = system.AddObject(
                items.ObjectANCFCable2D(
                    length=length,
                    massPerLength=DENSITY * AREA,
                    bendingStiffness=YOUNG * MOMENT,
                    axialStiffness=YOUNG * AREA,
                    nodeNumbers=list(ends),
                )
            )
            mass = system.AddMarker(items.MarkerBodyMass(bodyNumber=element))
            system.AddLoad(items.LoadMassProportional(markerNumber=mass, loadVector=[0, -G, 0]))
        for i in (0, 1):
            pin = system.AddMarker(items.MarkerNodeCoordinate(nodeNumber=nodes[0], coordinate=i))
            system.AddObject(items.ObjectConnectorCoordinate(markerNumbers=[fixed, pin]))
        tips.append(nodes[-1])
    system.Assemble()
    settings = exudyn.SimulationSettings()
    settings.timeIntegration.numberOfSteps = round(SPAN / h)
    settings.timeIntegration.endTime = SPAN
    settings.timeIntegration.adaptiveStep = False  # every step has the length asked for
    settings.solution.file.write = False
    settings.parallel.numberOfThreads = 1
    settings.linearSolver.solverType = exudyn.LinearSolverType.EigenSparse
    begin = time.process_time()
    system.SolveDynamic(settings, solverType=getattr(exudyn.DynamicSolverType, kind))
    spent = time.process_time() - begin
    position = exudyn.OutputVariableType.Position
    ends = np.array([system.GetNodeOutput(tip, position)[:2] for tip in tips])
    return len(spins) * round(SPAN / h) / spent, ends
