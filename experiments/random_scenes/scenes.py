"""Draw random scenes, many of each topology, degenerate ones among them on purpose."""

from dataclasses import replace
from typing import TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from jaxccp import (
    Box,
    Capsule,
    ConvexMesh,
    Cylinder,
    Ellipsoid,
    HeightField,
    Material,
    Model,
    ModelBuilder,
    Plane,
    Prismatic,
    Revolute,
    Sphere,
    Spherical,
    State,
    TendonPath,
    forward_kinematics,
    motor,
    position_servo,
)

Tree = TypeVar("Tree")

SIZE = 0.1
"""Half of the size of every solid [m]; a simple number, so that coincidences are exact."""
PLACES = ("exact", "loose", "piled", "stacked", "coincident", "resting", "still")
TURNS = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 1, 1.0]])
SURFACE = Material(friction=0.5, restitution=0.5)


def plain_solids() -> tuple[Model, State]:
    """Build boxes, one of them rounded, capsules and spheres on a plane."""
    builder = ModelBuilder()
    builder.add_shape(0, Plane(), material=SURFACE)
    half = (SIZE, SIZE, SIZE)
    for shape in (Box(half), Box(half, 0.02), *[Capsule(SIZE, SIZE)] * 2, *[Sphere(SIZE)] * 2):
        builder.add_solid(shape, 1.0, SURFACE)
    return builder.build()


def convex_solids() -> tuple[Model, State]:
    """Build cylinders, ellipsoids, polyhedra and one of each plain solid, on a height field and a
    plane.

    Field and plane coincide. Contacts resist rolling and act at the time of impact.
    """
    builder = ModelBuilder(impact_times="all")
    rough = Material(friction=0.5, restitution=0.5, spinning=1e-3, rolling=1e-3)
    builder.add_shape(0, Plane(), material=rough)
    builder.add_shape(0, HeightField(np.zeros((5, 5)), (2.0, 2.0)), material=rough)
    cube = SIZE * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1.0)])
    corner = SIZE * np.array([[1, 0, -1], [-1, 1, -1], [-1, -1, -1], [0, 0, 1.0]])
    for shape in (
        *[Cylinder(SIZE, SIZE)] * 2,
        *[Ellipsoid((SIZE, SIZE, 0.5 * SIZE))] * 2,
        *(ConvexMesh(cube), ConvexMesh(corner)),
        *(Box((SIZE, SIZE, SIZE)), Capsule(SIZE, SIZE), Sphere(SIZE)),
    ):
        builder.add_solid(shape, 1.0, rough)
    return builder.build(max_contacts=40)


def mechanism() -> tuple[Model, State]:
    """Build a torso with a leg on a ball joint and a hinge, a slider, a four-bar and a rope, on a
    plane, with limits, dry friction, springs, rotor inertia, a loop and a servo."""
    builder = ModelBuilder()
    builder.add_shape(0, Plane(), material=SURFACE)
    moments = (2e-3, 3e-3, 4e-3)
    torso = builder.add_solid(Box((0.1, 0.1, 0.05)), 1.0, SURFACE, position=(0, 0, 0.4))
    thigh = builder.add_body(0.5, moments, (0.1, 0, 0.3))
    builder.add_shape(thigh, Capsule(0.03, 0.07), material=SURFACE)
    builder.add_joint(Spherical(limits=(0.0, 0.8)), torso, thigh, (0.1, 0, 0.4), name="hip")
    shank = builder.add_body(0.3, moments, (0.1, 0, 0.1))
    builder.add_shape(shank, Sphere(0.05), (0, 0, -0.05), material=SURFACE)
    knee = Revolute((0, 1, 0), limits=(-1.0, 0.0), damping=0.1, armature=0.01)
    builder.add_joint(knee, thigh, shank, (0.1, 0, 0.2), name="knee")
    slider = builder.add_body(0.4, moments, (1, 0, 0.3))
    builder.add_shape(slider, Box((0.1, 0.1, 0.1)), material=SURFACE)
    rail = Prismatic((0, 0, 1), limits=(-0.2, 0.3), stiffness=5.0, friction=0.5)
    builder.add_joint(rail, 0, slider, (1, 0, 0.3), name="rail")
    crank = builder.add_body(0.3, moments, (-0.05, 3, 0.3))
    coupler = builder.add_body(0.5, moments, (0.15, 3, 0.45))
    rocker = builder.add_body(0.4, moments, (0.45, 3, 0.35))
    pin = Revolute((0, 1, 0))
    builder.add_joint(pin, 0, crank, (0, 3, 0.2), name="crank")
    builder.add_joint(pin, crank, coupler, (-0.1, 3, 0.4), name="pin")
    builder.add_joint(pin, coupler, rocker, (0.4, 3, 0.5), name="joint")
    builder.add_joint(pin, rocker, 0, (0.5, 3, 0.2), name="rocker")
    rope = TendonPath([(torso, (0, 0, 0.05)), (slider, (0, 0, 0.1))], stiffness=20.0, rest=0.9)
    builder.add_tendon(rope, name="rope")
    builder.add_actuator(motor(0.5), "crank", name="motor")
    builder.add_actuator(position_servo(4.0, damping=0.2, force_limits=(-1, 1)), "knee", name="s")
    return builder.build()


FAMILIES = {
    "plain solids": plain_solids,
    "convex solids": convex_solids,
    "mechanism": mechanism,
}
"""Functions that build the topologies, by name."""


def scenes(
    model: Model, state: State, random: np.random.Generator, count: int
) -> tuple[Model, State]:
    """Return a batch of models and states, the axis of the batch first.

    Numbers are drawn from few values, zero, equal and extreme ones among them, so that every
    coincidence comes up.

    Args:
        model: model of the topology.
        state: initial state of the model.
        random: source of the random numbers.
        count: number of scenes.
    """
    models = _surfaces(_spread(model, count), random, count)
    if model.topology.linkage.joints:
        states = _jointed(model, state, random, count)
        models = _limits(models, random, count)
        return models, states
    return _scaled(models, _solids(state, random, count), random, count)


def _spread(tree: Tree, count: int) -> Tree:
    """Return a tree with one identical copy for each scene."""
    return jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (count, *jnp.shape(leaf))), tree)


def _orientations(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Return random orientations: level, in one of a few orientations, or arbitrary."""
    level = TURNS[random.integers(0, len(TURNS), shape)]
    arbitrary = random.normal(size=(*shape, 4))
    quaternions = np.where(random.random((shape[0], 1, 1)) < 0.6, level, arbitrary)
    return quaternions / np.linalg.norm(quaternions, axis=-1, keepdims=True)


def _motion(
    random: np.random.Generator, still: np.ndarray, shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Return random velocities and spins: zero, straight down, or arbitrary, from slow to very
    fast."""
    speed = random.choice([1e-3, 1.0, 1.0, 30.0], (shape[0], 1, 1))
    moving = ~still[:, None, None] * random.integers(0, 2, (*shape, 1)) * speed
    down = random.random((shape[0], 1, 1)) < 0.3
    arbitrary = random.normal(size=(*shape, 3))
    velocity = moving * np.where(down, [0.0, 0.0, -1.0], arbitrary)
    return velocity, np.where(down, 0.0, moving * random.normal(size=(*shape, 3)))


def _solids(state: State, random: np.random.Generator, count: int) -> State:
    """Return states whose solids touch exactly, lie anywhere, penetrate deeply, are stacked, or
    coincide."""
    nb = len(state.position)
    place = random.choice(PLACES, size=count)
    lattice = 2 * SIZE * random.integers(0, 2, (count, nb, 3)) + [0, 0, SIZE]
    position = np.where((place == "piled")[:, None, None], 0.9 * lattice, lattice)
    anywhere = random.uniform(0, 4 * SIZE, (count, nb, 3))
    position = np.where((place == "loose")[:, None, None], anywhere, position)
    order = np.argsort(random.random((count, nb)), axis=1)
    stack = np.stack([0 * order, 0 * order, SIZE * (2 * order + 1)], axis=-1)
    position = np.where((place == "stacked")[:, None, None], stack, position)
    together = position[:, 1:2]
    position = np.where((place == "coincident")[:, None, None], together, position)
    still = (place == "resting") | (place == "still")
    velocity, spin = _motion(random, still, (count, nb))
    quaternion = _orientations(random, (count, nb))
    position[:, 0], quaternion[:, 0], velocity[:, 0], spin[:, 0] = 0, TURNS[0], 0, 0
    return replace(
        _spread(state, count),
        position=jnp.asarray(position),
        quaternion=jnp.asarray(quaternion),
        velocity=jnp.asarray(velocity),
        angular_velocity=jnp.asarray(spin),
    )


def _jointed(model: Model, state: State, random: np.random.Generator, count: int) -> State:
    """Return states whose joints are at zero, at their limits, beyond them or anywhere.

    The torso is above the ground, on it or in it. The loops are left open by as much as the joint
    positions imply.
    """
    na = len(model.topology.linkage.axes)
    q = np.asarray(state.joint_positions)
    at = random.choice([0.0, 0.3, -0.2, 0.8, -1.0, np.pi], (count, na))
    q = np.where(random.random((count, 1)) < 0.5, q + at, q + 0.5 * random.normal(size=(count, na)))
    q = np.where(random.random((count, 1)) < 0.2, np.asarray(state.joint_positions), q)
    velocity, spin = _motion(random, random.random(count) < 0.3, (count, 1))
    rate = np.linalg.norm(velocity, axis=-1) * random.choice([0.0, 1.0, -1.0], (count, na))
    torso = model.topology.dofs.roots[0]
    height = random.choice([0.05, 0.1, 0.0, -0.05, 0.35, 0.4], count)
    states = _spread(state, count)
    states = replace(
        states,
        position=states.position.at[:, torso, 2].set(height),
        quaternion=states.quaternion.at[:, torso].set(_orientations(random, (count, 1))[:, 0]),
        velocity=states.velocity.at[:, torso].set(velocity[:, 0]),
        angular_velocity=states.angular_velocity.at[:, torso].set(spin[:, 0]),
    )
    return jax.jit(jax.vmap(forward_kinematics, (None, 0, 0, 0)))(model, states, q, rate)


def _surfaces(models: Model, random: np.random.Generator, count: int) -> Model:
    """Return models with random surface coefficients and gravity, any of which may vanish."""
    shapes = models.shapes
    ng = shapes.friction.shape[1]

    def drawn(values: list[float], columns: int) -> Array:
        return jnp.asarray(random.choice(values, (count, columns)) * np.ones((count, ng)))

    shapes = replace(
        shapes,
        friction=drawn([0.0, 0.5, 1.0], ng),
        restitution=drawn([0.0, 0.5, 1.0], 1),
        compliance=drawn([0.0, 0.0, 1e-4], 1),
        damping=drawn([0.0, 1e-2], 1),
        rolling=shapes.rolling * drawn([0.0, 1.0, 100.0], ng)[:, :, None],
    )
    gravity = random.choice([0.0, 1.0], (count, 1)) * models.gravity
    return replace(models, shapes=shapes, gravity=gravity)


def _limits(models: Model, random: np.random.Generator, count: int) -> Model:
    """Return models whose joint limits may coincide at zero, and whose friction and spring rest
    positions may vanish."""
    axes = models.axes
    times = jnp.asarray(random.choice([0.0, 1.0], (count, 4)))[:, :, None]
    axes = replace(
        axes,
        lower=jnp.where(jnp.isfinite(axes.lower), axes.lower * times[:, 0], axes.lower),
        upper=jnp.where(jnp.isfinite(axes.upper), axes.upper * times[:, 1], axes.upper),
        friction=axes.friction * times[:, 2],
        rest=axes.rest * times[:, 3],
    )
    return replace(models, axes=axes)


def _scaled(
    models: Model, states: State, random: np.random.Generator, count: int
) -> tuple[Model, State]:
    """Return models and states with solids of 1 cm to 10 m.

    Now and then a solid is a tenth or ten times the size of the others. Densities differ by up to a
    thousand.
    """
    nb, ng = states.position.shape[1], models.shapes.size.shape[1]
    scene_scale = random.choice([1.0, 1.0, 0.05, 50.0], count)
    body_scale = np.where(
        random.random((count, nb)) < 0.1, random.choice([0.1, 10.0], (count, nb)), 1.0
    )
    density = 10.0 ** random.choice([0.0, 0.0, -1.5, 1.5], (count, nb))
    body = jnp.asarray(scene_scale[:, None] * body_scale)
    mass = body**3 * density
    shape = body[:, np.asarray(models.topology.shape_body)]
    shapes = replace(
        models.shapes,
        size=models.shapes.size * shape[:, :, None],
        radius=models.shapes.radius * shape,
        position=models.shapes.position * shape[:, :, None],
    )
    assert shape.shape == (count, ng)
    bodies = replace(
        models.bodies,
        mass=models.bodies.mass * mass,
        inertia=models.bodies.inertia * (mass * body**2)[:, :, None, None],
    )
    contact = replace(models.contact, margin=models.contact.margin * scene_scale)
    states = replace(states, position=states.position * scene_scale[:, None, None])
    return replace(models, bodies=bodies, shapes=shapes, contact=contact), states
