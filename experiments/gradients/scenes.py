"""Define the motions whose derivatives are checked: every mode, kind of shape and input."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

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
    Revolute,
    Sphere,
    State,
    TendonPath,
    motor,
    position_servo,
)

H = 2e-3
"""Length of a step [s]."""
G = 9.81


@dataclass(frozen=True)
class Scene:
    """A motion, and the contact modes that must occur in it for it to match its name."""

    build: Callable[[], tuple[Model, State]]
    met: tuple[str, ...]
    steps: int = 20
    controls: tuple[float, ...] = field(default=())

    def inputs(self) -> tuple[Model, State, Array | None]:
        """Return model, state and the controls of each step, None if there are none."""
        model, state = self.build()
        if not self.controls:
            return model, state, None
        return model, state, jnp.tile(jnp.asarray(self.controls), (self.steps, 1))


def ground(
    gap: float = 0.0,
    velocity: tuple[float, float, float] = (0, 0, 0),
    spin: tuple[float, float, float] = (0, 0, 0),
    friction: float = 0.4,
    slope: float = 0.0,
    tilt: float = 0.0,
    compliance: float = 0.0,
) -> tuple[Model, State]:
    """Build a box, a ball and a capsule on a plane, which do not collide with each other.

    Args:
        gap: height of each above the plane [m].
        velocity: velocity of each [m/s].
        spin: angular velocity of each [rad/s].
        friction: coefficient of friction of the solids.
        slope: angle of the plane to the horizontal [rad].
        tilt: angle by which the box is rotated about y [rad].
        compliance: compliance of the contacts [m/N].
    """
    builder = ModelBuilder(gravity=(G * np.sin(slope), 0, -G * np.cos(slope)), min_bounce_speed=0.5)
    builder.add_shape(0, Plane(), material=Material(friction=1.0, restitution=0.9))
    surface = Material(friction=friction, restitution=0.5, compliance=compliance)
    lying = (np.sqrt(0.5), np.sqrt(0.5), 0.0, 0.0)
    leaning = (np.cos(tilt / 2), 0.0, np.sin(tilt / 2), 0.0)
    low = 0.1 * np.sin(tilt) + 0.05 * np.cos(tilt)
    for at, (name, shape, height, rotation) in enumerate(
        (
            ("box", Box((0.1, 0.08, 0.05)), low, leaning),
            ("ball", Sphere(0.06), 0.06, (1, 0, 0, 0)),
            ("capsule", Capsule(0.05, 0.1), 0.05, lying),
        )
    ):
        builder.add_solid(
            shape,
            0.8 + 0.3 * at,
            surface,
            position=(at, 0, height + gap),
            quaternion=rotation,
            velocity=velocity,
            angular_velocity=spin,
            name=name,
        )
    for pair in (("box", "ball"), ("box", "capsule"), ("ball", "capsule")):
        builder.exclude(*pair)
    return builder.build(max_contacts=7)


def groove() -> tuple[Model, State]:
    """Build a ball wedged between two steep planes, where friction keeps it."""
    builder, surface = ModelBuilder(gravity=(0, 0, -G)), Material(friction=0.5)
    half_angle = np.radians(75) / 2
    for side in (1, -1):
        rotation = (np.cos(half_angle), 0, side * np.sin(half_angle), 0)
        builder.add_shape(0, Plane(), quaternion=rotation, material=surface)
    radius = 0.1
    height = radius / np.cos(2 * half_angle)
    builder.add_solid(
        Sphere(radius), 1.0, Material(friction=0.3), position=(0, 0, height), name="ball"
    )
    return builder.build(max_contacts=2)


def towed(compliance: float = 0.0) -> tuple[Model, State]:
    """Build a box at rest that slips once the rope to a flying ball is stretched enough.

    The contacts of the box have the given compliance [m/N].
    """
    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.add_shape(0, Plane(), material=Material(friction=1.0))
    box = Box((0.1, 0.08, 0.05))
    surface = Material(friction=0.3, compliance=compliance)
    sunk = compliance * G / 4
    builder.add_solid(box, 1.0, surface, position=(0, 0, 0.05 - sunk), name="box")
    builder.add_solid(Sphere(0.05), 2.0, position=(0.5, 0, 0.5), velocity=(3, 0.2, 0), name="ball")
    rope = TendonPath([("box", (0.1, 0, 0)), ("ball", (0, 0, 0))], stiffness=50.0, rest=0.55)
    builder.add_tendon(rope, name="rope")
    return builder.build(max_contacts=5)


def soft() -> tuple[Model, State]:
    """Build a ball and a box with compliant, damped contacts that resist spinning and rolling."""
    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.add_shape(0, Plane(), material=Material(friction=1.0))
    surface = Material(friction=0.4, compliance=1e-4, damping=5e-3, spinning=2e-3, rolling=1e-3)
    builder.add_solid(
        Sphere(0.1),
        1.0,
        surface,
        position=(0, 0, 0.0995),
        velocity=(0.5, 0, 0),
        angular_velocity=(0.3, 5, 2),
        name="ball",
    )
    box = Box((0.1, 0.08, 0.05))
    builder.add_solid(
        box, 2.0, surface, position=(1, 0, 0.0499), velocity=(0.6, 0.2, 0), name="box"
    )
    builder.exclude("ball", "box")
    return builder.build(max_contacts=5)


def mechanism() -> tuple[Model, State]:
    """Build several mechanisms in one model.

    They are an arm with a servo that falls on a joint limit, a sprung wheel, a four-bar linkage
    with a motor, and a rope.
    """
    builder = ModelBuilder(gravity=(0, 0, -G))
    upper = builder.add_body(1.0, (0.02, 0.03, 0.025), (0.3, 0, 0), name="upper")
    # Its weight lets it down on its upper limit.
    shoulder = Revolute((0, 1, 0), limits=(-1.0, 0.002), damping=0.1, armature=0.03)
    builder.add_joint(shoulder, 0, upper, (0, 0, 0), name="shoulder")
    lower = builder.add_body(0.6, (0.01, 0.02, 0.015), (0.8, 0, 0.1), name="lower")
    elbow = Revolute((0, 1, 0.2), damping=0.05, armature=0.01, friction=0.05)
    builder.add_joint(elbow, upper, lower, (0.6, 0, 0), name="elbow")
    turning = {"velocity": (0, -0.15, 0), "angular_velocity": (0, 0, 1.5)}
    wheel = builder.add_body(1.0, (0.01, 0.02, 0.03), (0, 2, 0), name="wheel", **turning)
    sprung = Revolute((0, 0, 1), stiffness=3.0, rest=0.4, damping=0.05, friction=0.1)
    builder.add_joint(sprung, 0, wheel, (0.1, 2, 0), name="wheel")
    crank = builder.add_body(0.3, (0.001, 0.001, 0.001), (-0.05, 3, 0.1), name="crank")
    coupler = builder.add_body(0.5, (0.002, 0.01, 0.01), (0.15, 3, 0.25), name="coupler")
    rocker = builder.add_body(0.4, (0.004, 0.004, 0.001), (0.45, 3, 0.15), name="rocker")
    pin = Revolute((0, 1, 0))
    builder.add_joint(pin, 0, crank, (0, 3, 0), name="crank")
    builder.add_joint(pin, crank, coupler, (-0.1, 3, 0.2), name="pin")
    builder.add_joint(pin, coupler, rocker, (0.4, 3, 0.3), name="joint")
    builder.add_joint(pin, rocker, 0, (0.5, 3, 0), name="rocker")
    rope = TendonPath([(0, (1.0, 0.3, 0.6)), (lower, (0.1, 0, 0))], stiffness=5.0, rest=0.3)
    builder.add_tendon(rope, name="rope")
    builder.add_actuator(motor(0.5), "crank", name="motor")
    builder.add_actuator(position_servo(4.0, damping=0.2), "elbow", name="servo")
    return builder.build()


SOLIDS = ("sphere", "capsule", "box", "cylinder", "ellipsoid", "convex")


def shapes(base: str, names: Sequence[str] = SOLIDS) -> Callable[[], tuple[Model, State]]:
    """Return a builder of tilted solids that land and slide on a plane, a box or a height field.

    ``base`` is "plane", "box" or any other word for the height field; ``names`` are of SOLIDS.
    """

    def build() -> tuple[Model, State]:
        builder, surface = ModelBuilder(gravity=(0, 0, -G)), Material(friction=1.0)
        top = 0.0
        if base == "plane":
            builder.add_shape(0, Plane(), material=surface)
        elif base == "box":
            builder.add_shape(0, Box((6, 2, 0.1)), (2.5, 0, -0.1), material=surface)
        else:
            x = np.linspace(-1.5, 6.5, 33)
            heights = 0.02 * np.sin(2.1 * x)[None, :] * np.ones((9, 1))
            hills = HeightField(heights, (4.0, 1.0))
            builder.add_shape(0, hills, (2.5, 0, 0), material=surface)
            top = 0.02
        vertices = np.array(
            [[0.1, 0, -0.05], [-0.07, 0.09, -0.05], [-0.05, -0.1, -0.04], [0.02, 0.01, 0.1]]
        )
        solids = {
            "sphere": Sphere(0.08),
            "capsule": Capsule(0.06, 0.1),
            "box": Box((0.1, 0.08, 0.06)),
            "cylinder": Cylinder(0.07, 0.09),
            "ellipsoid": Ellipsoid((0.1, 0.07, 0.05)),
            "convex": ConvexMesh(vertices),
        }
        tilted = np.array([0.9, 0.35, 0.2, 0.1]) / np.linalg.norm([0.9, 0.35, 0.2, 0.1])
        for name in names:
            at = SOLIDS.index(name)
            builder.add_solid(
                solids[name],
                0.5 + 0.1 * at,
                Material(friction=0.2 + 0.03 * at),
                position=(at, 0, 0.13 + top),
                quaternion=tilted,
                velocity=(1.0, 0.3, -1.0),
                angular_velocity=(0.5, -1.0, 0.7),
                name=name,
            )
        for first, name in enumerate(names):
            for second in names[first + 1 :]:
                builder.exclude(name, second)
        return builder.build(max_contacts=24)

    return build


YIELDS = 1e-3
"""Compliance of contacts whose loads are then unique [m/N]: a box sinks in by 2 mm."""
FELL = {"gap": 0.021, "velocity": (0.5, 0.2, -1.2), "spin": (2, -1, 3), "friction": 0.3}

SCENES: dict[str, Scene] = {
    "free": Scene(lambda: ground(1.0, (0.5, -0.3, 0.4), (2, -1, 3)), ("free",)),
    "stick": Scene(lambda: ground(friction=0.8, slope=0.3), ("stick", "redundant")),
    "slip": Scene(lambda: ground(velocity=(1.5, 0.5, 0), friction=0.2), ("slip",)),
    "slip, yielding": Scene(
        lambda: ground(velocity=(1.5, 0.5, 0), friction=0.2, compliance=YIELDS), ("slip",)
    ),
    "slip→stick": Scene(lambda: ground(velocity=(0.04, 0.01, 0), friction=0.3), ("slip→stick",)),
    "slip→stick, yielding": Scene(
        lambda: ground(velocity=(0.04, 0.01, 0), friction=0.3, compliance=YIELDS), ("slip→stick",)
    ),
    "impact": Scene(lambda: ground(**FELL, tilt=0.3), ("impact", "separation")),
    "landing": Scene(
        lambda: ground(gap=2e-4, velocity=(0.2, 0.1, -0.3), friction=0.5, tilt=0.3), ("impact",)
    ),
    "rolling": Scene(
        lambda: ground(velocity=(0.6, 0, 0), spin=(0, 10, 0), friction=0.5), ("rolling",)
    ),
    "stick→slip": Scene(towed, ("stick→slip", "tendon")),
    "stick→slip, yielding": Scene(lambda: towed(YIELDS), ("stick→slip", "tendon")),
    "jammed": Scene(groove, ("jammed", "stick")),
    "soft": Scene(soft, ("slip", "rolling")),
    "mechanism": Scene(mechanism, ("limit", "loop", "tendon"), controls=(0.3, 0.5)),
    "shapes on a plane": Scene(shapes("plane"), ("impact", "slip"), 50),
    "shapes on a box": Scene(shapes("box"), ("impact", "slip"), 50),
    **{
        # Apart: a program of all of them would be compiled for an hour.
        f"{solid} on hills": Scene(shapes("hills", (solid,)), ("impact", "slip"), 50)
        for solid in SOLIDS
    },
}
