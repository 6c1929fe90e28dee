"""Throw bodies of every kind and unequal inertia at each other, in space and on a floor."""

from dataclasses import dataclass, replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
from scipy.spatial.transform import Rotation

from jaxccp.ccp import Law, Stop
from jaxccp.dynamics import EulerImplicitLinearized, Trajectory, energy, momentum, rollout
from jaxccp.model import Box, Capsule, Material, Model, Plane, Sphere, State
from jaxccp.scene import ModelBuilder

H = 1e-3
STEPS = 500
TOLERANCE = 1e-11
"""Tolerance of the solver [m/s]."""
SOLIDS = (
    (Box((0.1, 0.06, 0.03)), 1.0),
    (Box((0.05, 0.08, 0.07), rounding=0.01), 3.0),
    (Capsule(0.04, 0.1), 0.5),
    (Capsule(0.05, 0.05), 2.0),
    (Sphere(0.06), 0.8),
    (Sphere(0.08), 1.5),
)
FIRST = 2
"""Body of the first solid, after the world and the floor."""
RING = 0.35
"""Radius of the circle on which they start [m]."""


@cache
def scene() -> tuple[Model, State]:
    """Build a ring of solids that fly inwards and tumble, far above a floor."""
    random = np.random.default_rng(7)
    builder = ModelBuilder(gravity=(0, 0, 0))
    floor = builder.add_fixed(position=(0, 0, -100), name="floor")
    builder.add_shape(floor, Plane(), material=Material(restitution=1.0))
    for i, (shape, mass) in enumerate(SOLIDS):
        angle = 2 * np.pi * i / len(SOLIDS)
        place = RING * np.array([np.cos(angle), np.sin(angle), 0.1 * (-1) ** i])
        builder.add_solid(
            shape,
            mass,
            Material(friction=0.4),
            position=place,
            quaternion=Rotation.from_rotvec(random.normal(size=3)).as_quat(scalar_first=True),
            velocity=-3 * place + random.normal(size=3) * 0.2,
            angular_velocity=random.normal(size=3) * 4,
        )
    return builder.build()


@dataclass(frozen=True)
class Run:
    """A rollout and its invariants, which have one more entry than it has steps: the start's."""

    trajectory: Trajectory
    linear: np.ndarray
    angular: np.ndarray
    energy: np.ndarray


@cache
def program(law: Law):
    """Return a batched rollout that also gives the invariants of the start and of every step."""
    stepper = EulerImplicitLinearized(H, law, stop=Stop(TOLERANCE, max_iterations=5000))

    def run(model: Model, state: State):
        _, trajectory = rollout(model, state, stepper, STEPS)
        states = jax.tree.map(
            lambda a, b: jnp.concatenate([a[None], b]),
            state,
            trajectory.state,
        )
        # The world's placeholder has no memory to compare: invariants need poses and twists only.
        quantities = jax.vmap(lambda s: (*momentum(model, s), energy(model, s)))(states)
        return trajectory, quantities

    return jax.jit(jax.vmap(run))


LANES = ("collide", "bounce", "elastic", "apart", "pile")


def lane(name: str) -> tuple[Model, State]:
    """Return the variant of the scene that has the given name in ``LANES``."""
    model, state = scene()
    shapes, restitution = model.shapes, {"bounce": 0.5, "elastic": 1.0}.get(name, 0.0)
    friction = 0.0 if name == "elastic" else 0.4
    shapes = replace(
        shapes,
        restitution=jnp.full_like(shapes.restitution, restitution),
        friction=jnp.full_like(shapes.friction, friction),
    )
    model = replace(model, shapes=shapes)
    if name == "apart":
        state = replace(state, position=10 * state.position, velocity=-state.velocity)
    if name == "pile":
        model = replace(model, gravity=jnp.asarray([0, 0, -9.81]))
        state = replace(state, position=state.position.at[1, 2].set(-0.25))
    return model, state


@cache
def runs(law: Law) -> dict[str, Run]:
    """Run all variants in ``LANES`` in one batch and return them by name."""
    batch = jax.tree.map(lambda *x: jnp.stack(x), *[lane(name) for name in LANES])
    trajectory, quantities = jax.device_get(program(law)(*batch))
    return {
        name: Run(jax.tree.map(lambda x, i=i: x[i], trajectory), *(q[i] for q in quantities))
        for i, name in enumerate(LANES)
    }
