"""Build the problem of one step of each scene, with the previous step's impulses as its guess."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import chain
import jax
import jax.numpy as jnp
import numpy as np

from jaxccp import Box, EulerImplicitLinearized, Material, Model, ModelBuilder, Plane, Sphere, State
from jaxccp.ccp import BodyDelassus, Cones, Law, Newton, Problem, Stop
from jaxccp.collision.contact_cache import recall
from jaxccp.collision.detect import detect
from jaxccp.dynamics.step import assemble_system
from jaxccp.math import quaternion
from jaxccp.model.cut_joints import with_block_diagonal_mass

ACCURATE = Stop(1e-9, 0.0, 200)
"""Stopping criterion of the steps before the recorded one [m/s]."""
MATERIAL = Material(friction=0.5)
BOX_SPEED, BRICK_SPEED = 0.1, 2.0
"""Initial speeds of the boxes of a stack and of one brick [m/s]; without them a warm start would
already be the solution."""


@dataclass(frozen=True)
class Case:
    problem: Problem
    guess: np.ndarray
    """Impulses of the previous step [N·s]."""

    @property
    def size(self) -> str:
        """Return the number of contacts and equality rows in words."""
        scalars, contacts = (len(x) for x in (self.problem.cones.lo, self.problem.cones.mu))
        return f"{contacts} contacts" + (f", {scalars} equalities" if scalars else "")


def case(settings: dict, seed: int, law: Law) -> Case:
    """Return the case that a table of the configuration describes.

    Args:
        settings: table of the configuration: kind, step length h, number of steps, numbers of the
            scene.
        seed: seed of the scene.
        law: contact law.
    """
    numbers = dict(settings)
    kind, h, steps = (numbers.pop(name) for name in ("kind", "h", "steps"))
    random = np.random.default_rng(seed)
    if kind == "chain":
        return live(*chain.after(**numbers, h=h, steps=steps, law=law, stop=ACCURATE))
    model, state = SCENES[kind](random, **numbers)
    return _after(model, state, h, steps, law)


def _after(model: Model, state: State, h: float, steps: int, law: Law) -> Case:
    stepper = EulerImplicitLinearized(h, law, Newton(), ACCURATE)
    step = jax.jit(lambda carry: stepper.advance(model, carry)[0])
    carry = stepper.init(model, state)
    for _ in range(steps):
        carry = step(carry)
    state = carry.state
    contacts = detect(model, state)
    problem = assemble_system(with_block_diagonal_mass(model), state, contacts, h)[0].problem
    world = recall(carry.warm_start, contacts).impulses
    guess = jnp.einsum("cij,cj->ci", contacts.frame, world)
    return live(problem, np.asarray(guess).reshape(-1), np.asarray(contacts.live))


def live(problem: Problem, guess: np.ndarray, live: np.ndarray) -> Case:
    """Return the case without the slots that hold no contact.

    Args:
        problem: problem with all slots.
        guess: impulses of all rows [N·s].
        live: mask of the slots that hold a contact.
    """
    operator, cones = problem.delassus, problem.cones
    assert isinstance(operator, BodyDelassus)
    rows = np.concatenate([np.ones(len(cones.lo), bool), np.repeat(live, 3)])
    small = replace(
        operator,
        contact_rows=operator.contact_rows[live],
        contact_bodies=operator.contact_bodies[live],
        compliance=operator.compliance[rows],
    )
    kept = Problem(small, problem.r[rows], Cones(cones.lo, cones.hi, cones.mu[live]))
    return Case(kept, guess[rows])


def stack(random: np.random.Generator, boxes: int, top: float) -> tuple[Model, State]:
    """Build a stack of cubes of 10 cm, slightly misaligned and with initial velocities, whose top
    is heavy.

    Args:
        random: source of offsets, yaws and velocities.
        boxes: number of cubes.
        top: mass of the highest cube [kg].
    """
    builder = ModelBuilder(margin=0.01)
    builder.add_shape(0, Plane(), material=MATERIAL)
    for i in range(boxes):
        x, y, yaw = random.uniform(-1, 1, 3) * [0.003, 0.003, 0.05]
        builder.add_solid(
            Box((0.05, 0.05, 0.05)),
            top if i == boxes - 1 else 1.0,
            MATERIAL,
            position=(x, y, 0.05 + 0.1 * i),
            quaternion=_about_z(yaw),
            velocity=(*random.uniform(-BOX_SPEED, BOX_SPEED, 2), 0.0),
        )
    return builder.build(max_contacts=8 * boxes)


def wall(random: np.random.Generator, courses: int, bricks: int) -> tuple[Model, State]:
    """Build a wall of bricks of 20 × 10 × 10 cm in running bond, with joints of 2 mm; one brick has
    an initial velocity.

    Args:
        random: source of the offsets.
        courses: number of courses.
        bricks: number of bricks of a course.
    """
    builder = ModelBuilder(margin=0.003)
    builder.add_shape(0, Plane(), material=MATERIAL)
    for course in range(courses):
        lengths = [0.2] * bricks if course % 2 == 0 else [0.1, *[0.2] * (bricks - 1), 0.1]
        left = 0.0
        for i, length in enumerate(lengths):
            kicked = (course, i) == (courses // 2, bricks // 2)
            half = (length / 2 - 0.001, 0.05, 0.05)
            builder.add_solid(
                Box(half),
                5.0 * length,
                MATERIAL,
                position=(
                    left + length / 2,
                    0.001 * random.uniform(-1, 1),
                    0.05 + 0.1 * course,
                ),
                velocity=(0.0, BRICK_SPEED if kicked else 0.0, 0.0),
            )
            left += length
    return builder.build(max_contacts=20 * courses * bricks)


def spheres(random: np.random.Generator, count: int) -> tuple[Model, State]:
    """Build a heap of spheres of 4 to 6 cm diameter that drop into a box of 30 × 30 cm."""
    builder = ModelBuilder(margin=0.01)
    builder.add_shape(0, Plane(), material=MATERIAL)
    half = np.sqrt(0.5)
    for orientation, x, y in (
        ((half, 0, half, 0), -0.15, 0),
        ((half, 0, -half, 0), 0.15, 0),
        ((half, -half, 0, 0), 0, -0.15),
        ((half, half, 0, 0), 0, 0.15),
    ):
        builder.add_shape(0, Plane(), (x, y, 0.0), orientation, MATERIAL)
    for i in range(count):
        radius = random.uniform(0.02, 0.03)
        x, y = random.uniform(-1, 1, 2) * 0.003
        builder.add_solid(
            Sphere(radius),
            1000 * 4 / 3 * np.pi * radius**3,
            MATERIAL,
            position=(
                0.07 * (i % 4 - 1.5) + x,
                0.07 * (i // 4 % 4 - 1.5) + y,
                0.04 + 0.065 * (i // 16),
            ),
        )
    return builder.build(max_contacts=4 * count)


def _about_z(angle: float) -> tuple[float, ...]:
    return tuple(float(x) for x in quaternion.exp(jnp.asarray([0.0, 0.0, angle])))


SCENES: dict[str, Callable[..., tuple[Model, State]]] = {
    "stack": stack,
    "wall": wall,
    "spheres": spheres,
}
