"""Simulate a box, a sphere and a capsule on one plane, each on its own: many runs, one program.

The three do not collide with each other, so that every lane of one batched rollout holds three
independent experiments, and a law costs one compilation.
"""

from dataclasses import dataclass, replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from scipy.spatial.transform import Rotation

from jaxccp.ccp import Law, Stop
from jaxccp.dynamics import EulerImplicitLinearized, StepReport, Trajectory, rollout
from jaxccp.model import Box, Capsule, Material, Model, Plane, Sphere, State
from jaxccp.scene import ModelBuilder

G = 9.81
HALF = 0.05
RADIUS = 0.05
MASS = 0.8
BODIES = ("box", "sphere", "capsule")
BOX, SPHERE, CAPSULE = 1, 2, 3
LYING = Rotation.from_rotvec([np.pi / 2, 0, 0])
"""Rotation of the capsule's axis from z to y, across the direction down the slopes."""
H = 1e-3
STEPS = 1000
EVERY = 10
TOLERANCE = 1e-8
"""Tolerance of the solver, in float64 [m/s]."""
CAPSULE_SHAPE = Capsule(RADIUS, 0.08)


@cache
def scene() -> tuple[Model, State]:
    """Build a box, a sphere and a capsule at rest on a level plane."""
    builder = ModelBuilder(gravity=(0, 0, -G))
    builder.add_shape(0, Plane(), material=Material(friction=1e3, restitution=1.0))
    surface = Material(friction=0.5)
    builder.add_solid(Box((HALF, HALF, HALF)), MASS, surface, position=(0, 0, HALF), name="box")
    builder.add_solid(Sphere(RADIUS), MASS, surface, position=(0, 0, RADIUS), name="sphere")
    lying = LYING.as_quat(scalar_first=True)
    builder.add_solid(
        CAPSULE_SHAPE, MASS, surface, position=(0, 0, RADIUS), quaternion=lying, name="capsule"
    )
    for a, b in ((BOX, SPHERE), (BOX, CAPSULE), (SPHERE, CAPSULE)):
        builder.exclude(a, b)
    return builder.build()


@dataclass(frozen=True)
class Lane:
    """Settings of one experiment, the same for all three bodies; vectors are in the plane's
    frame."""

    friction: float = 0.5
    restitution: float = 0.0
    compliance: float = 0.0
    damping: float = 0.0
    tilt: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Rotation vector of the plane [rad]."""
    tilt_gravity: bool = False
    """Turn gravity instead of the plane."""
    gravity: float = G
    height: float = 0.0
    velocity: tuple[float, float, float] = (0.0, 0.0, 0.0)
    spin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    force: tuple[float, float, float] = (0.0, 0.0, 0.0)
    """Applied to each centre of mass all the time [N]."""

    @property
    def rotation(self) -> Rotation:
        return Rotation.from_rotvec(self.tilt)

    def build(self) -> tuple[Model, State, np.ndarray]:
        model, state = scene()
        rotation = self.rotation
        gravity = np.array([0, 0, -self.gravity])
        if self.tilt_gravity:
            gravity, rotation = rotation.inv().apply(gravity), Rotation.identity()
        surfaces = ("friction", "restitution", "compliance", "damping")
        shapes = replace(
            model.shapes,
            quaternion=model.shapes.quaternion.at[0].set(rotation.as_quat(scalar_first=True)),
            **{
                name: getattr(model.shapes, name).at[1:].set(getattr(self, name))
                for name in surfaces
            },
        )
        model = replace(model, gravity=jnp.asarray(gravity), shapes=shapes)
        free = np.array([[0], [1], [1], [1]])
        start = np.asarray(state.position) + free * [0, 0, self.height]
        orientation = rotation * Rotation.from_quat(np.asarray(state.quaternion), scalar_first=True)
        state = replace(
            state,
            position=jnp.asarray(rotation.apply(start)),
            quaternion=jnp.asarray(orientation.as_quat(scalar_first=True)).at[0].set([1, 0, 0, 0]),
            velocity=jnp.asarray(free * rotation.apply(self.velocity)),
            angular_velocity=jnp.asarray(free * rotation.apply(self.spin)),
        )
        force = free * np.concatenate([rotation.apply(self.force), np.zeros(3)])
        return model, state, force


@dataclass(frozen=True)
class Record:
    """The motion and the reports of a lane, in the plane's frame; time is the first axis, bodies
    the second (body 0 is the world)."""

    time: np.ndarray
    position: np.ndarray
    velocity: np.ndarray
    spin: np.ndarray
    report: StepReport


@cache
def program(law: Law):
    """Return a batched rollout of lanes under a law."""
    stepper = EulerImplicitLinearized(H, law, stop=Stop(TOLERANCE, max_iterations=3000))

    def run(model: Model, state: State, force: jax.Array) -> Trajectory:
        forces = jnp.broadcast_to(force, (STEPS, *force.shape))
        return rollout(model, state, stepper, STEPS, forces, every=EVERY)[1]

    return jax.jit(jax.vmap(run))


MU = 0.3
SLOPE = 0.5
"""[rad]; steeper than friction MU holds, for a box, and less so than makes a ball slip."""
DROP = 0.05
"""[m]"""
BOUNCES = {
    f"bounce {e} {k}": Lane(height=DROP, restitution=e, gravity=G / 4**k)
    for e in (0.3, 0.6, 1.0)
    for k in range(3)
}
"""Gravity G/4ᵏ makes the fall 2ᵏ times longer, which is the same as a step 2ᵏ times shorter."""
LANES = {
    "slope": Lane(MU, tilt=(0, SLOPE, 0)),
    "slope by gravity": Lane(MU, tilt=(0, SLOPE, 0), tilt_gravity=True),
    "oblique slope": Lane(MU, tilt=(0.25, 0.4, 0)),
    "slip": Lane(0.05, tilt=(0, SLOPE, 0)),
    "hold": Lane(0.5, tilt=(0, np.arctan(0.5 * 0.5), 0)),
    "barely hold": Lane(0.5, tilt=(0, np.arctan(0.99 * 0.5), 0)),
    "barely hold by gravity": Lane(0.5, tilt=(0, np.arctan(0.99 * 0.5), 0), tilt_gravity=True),
    "drag": Lane(0.5, force=(0.7 * MASS * G, 0, 0)),
    "release": Lane(0.5, velocity=(6, 0, 0)),
    "diagonal": Lane(MU, velocity=(1, 1, 0)),
    "soft": Lane(compliance=1e-4, damping=0.02),
    "soft bounce": Lane(compliance=1e-4, damping=0.02, height=DROP, restitution=0.3),
    **BOUNCES,
}


@cache
def records(law: Law) -> dict[str, Record]:
    """Run every lane of ``LANES`` in one batch and return their records by name."""
    built = [lane.build() for lane in LANES.values()]
    batch = jax.tree.map(lambda *leaves: jnp.stack([jnp.asarray(x) for x in leaves]), *built)
    trajectories = jax.device_get(program(law)(*batch))
    by_name = {}
    for i, (name, lane) in enumerate(LANES.items()):
        trajectory = jax.tree.map(lambda leaf, i=i: leaf[i], trajectories)
        back = Rotation.identity() if lane.tilt_gravity else lane.rotation.inv()
        position, velocity, spin = (
            back.apply(np.array(x).reshape(-1, 3)).reshape(x.shape)
            for x in (
                trajectory.state.position,
                trajectory.state.velocity,
                trajectory.state.angular_velocity,
            )
        )
        by_name[name] = Record(trajectory.state.time, position, velocity, spin, trajectory.report)
    return by_name
