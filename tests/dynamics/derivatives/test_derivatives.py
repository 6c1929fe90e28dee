"""Test derivatives through 100 steps in every contact regime, against differences in float64.

Three bodies on a plane, independent of each other, so that one differentiation in 33 parameters
gives the derivatives of a box, a sphere and a capsule. Motions are chosen such that no impact
moves to another step within the reach of the differences: a step map is smooth only in between.
The tests check that this holds: second- and fourth-order differences would disagree otherwise.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.flatten_util import ravel_pytree

from jaxccp.ccp import Law, Stop
from jaxccp.dynamics import EulerImplicitLinearized, rollout
from jaxccp.math import quaternion
from jaxccp.model import Model, State
from tests.dynamics.playground import BODIES, Lane
from tests.laws import CONVEX_LAW_LONG

H = 2e-3
STEPS = 100
MOTIONS = {
    "flight": Lane(height=1.0, velocity=(0.5, -0.3, 0.4), spin=(2, -1, 3)),
    "stick": Lane(0.8, 0.3, tilt=(0, 0.3, 0), height=2e-4, velocity=(0.01, 0.02, -0.3)),
    "slide": Lane(0.2, 0.3, tilt=(0.1, 0.5, 0), height=2e-4, velocity=(1.5, 0.5, -0.3)),
    "impact": Lane(0.3, 0.5, height=0.11, velocity=(0.5, 0.2, -1), spin=(2, -1, 3)),
}
HOVER = 0.2 * H * np.hypot(1.5, 0.5)
"""Gap h μ s at which a body slides under the convex law; from elsewhere it would hop first."""
OF_LAW: dict[Law, dict[str, Lane]] = {
    # From the other start a contact stops sliding within reach of the differences.
    "ncp": MOTIONS
    | {"impact": replace(MOTIONS["impact"], velocity=(0.5, 0.3, -1.15), spin=(1.5, -1, 3))},
    "ccp": MOTIONS | {"slide": replace(MOTIONS["slide"], height=HOVER, velocity=(1.5, 0.5, 0.0))},
}
STEP_LENGTHS = {
    "position": np.full(3, 5e-6),
    "rotation": np.full(3, 1e-5),
    "velocity": np.full(3, 1e-4),
    "spin": np.full(3, 3e-4),
    "force": np.array([3e-4, 3e-4, 3e-4, 3e-6, 3e-6, 3e-6]),
    "mass": np.array(1e-4),
    "inertia": np.full(6, 1e-4),
    "friction": np.array(3e-5),
    "restitution": np.array(3e-5),
    "size": np.full(3, 2e-6),
    "tilt": np.full(2, 2e-5),
    "height": np.array(5e-6),
}
"""Step lengths of the differences: m, rad, m/s, rad/s, N, N m; mass and inertia relative."""
NOISE = 2e-12
"""Error that 100 solves to 1e-13 m/s leave in the outcome; a difference divides it by its step."""


def perturbed(model: Model, state: State, by: dict) -> tuple[Model, State]:
    """Return the model and the state with the same changes made to each of the three bodies.

    Args:
        model: the box, the sphere and the capsule on their plane
        state: their state
        by: change of each parameter of ``STEP_LENGTHS``; its ``size`` holds half extents of the
            box, of which the first also changes the radius of sphere and capsule, and the last the
            half length of the capsule
    """
    bodies, shapes = model.bodies, model.shapes
    a, b, c, d, e, f = by["inertia"]
    factor = jnp.eye(3) + jnp.array([[a, d, e], [d, b, f], [e, f, c]])
    x, y, z = by["size"]
    bodies = replace(
        bodies,
        mass=bodies.mass.at[1:].multiply(1 + by["mass"]),
        inertia=bodies.inertia.at[1:].set(0.5 * (factor @ bodies.inertia[1:] @ factor.T)),
    )
    plane = quaternion.exp(jnp.concatenate([by["tilt"], jnp.zeros(1)]))
    shapes = replace(
        shapes,
        position=shapes.position.at[0, 2].add(by["height"]),
        quaternion=shapes.quaternion.at[0].set(
            quaternion.multiply(plane, shapes.quaternion[0]),
        ),
        size=shapes.size.at[1].add(jnp.array([x, y, z])).at[3, 2].add(z),
        radius=shapes.radius.at[2:].add(x),
        friction=shapes.friction.at[1:].add(by["friction"]),
        restitution=shapes.restitution.at[1:].add(by["restitution"]),
    )
    rotated = quaternion.multiply(quaternion.exp(by["rotation"])[None], state.quaternion[1:])
    state = replace(
        state,
        position=state.position.at[1:].add(by["position"]),
        quaternion=state.quaternion.at[1:].set(rotated),
        velocity=state.velocity.at[1:].add(by["velocity"]),
        angular_velocity=state.angular_velocity.at[1:].add(by["spin"]),
    )
    return replace(model, bodies=bodies, shapes=shapes), state


SPREAD, UNRAVEL = ravel_pytree({name: jnp.asarray(x) for name, x in STEP_LENGTHS.items()})
NAMES = [name for name in sorted(STEP_LENGTHS) for _ in range(STEP_LENGTHS[name].size)]


def outcome(law: Law) -> Callable[[jax.Array, Model, State], jax.Array]:
    """Return a function of the 33 parameters that gives the final pose and twist [3 bodies x
    13]."""
    stop = Stop(atol=1e-13, max_iterations=250)
    stepper = EulerImplicitLinearized(H, law, stop=stop)

    def final(theta: jax.Array, model: Model, state: State) -> jax.Array:
        by = UNRAVEL(theta)
        model, state = perturbed(model, state, by)
        force = jnp.zeros((4, 6)).at[1:].set(by["force"])
        forces = jnp.broadcast_to(force, (STEPS, 4, 6))
        end, _ = rollout(model, state, stepper, STEPS, forces, every=STEPS)
        parts = (end.position, end.quaternion, end.velocity, end.angular_velocity)
        return jnp.concatenate(parts, axis=1)[1:].reshape(-1)

    return final


@dataclass(frozen=True)
class Derivatives:
    """Derivatives [parameters, bodies, 13] of one motion, by reverse mode and by differences."""

    reverse: np.ndarray
    second: np.ndarray
    """Central differences of second order, with twice the step."""
    fourth: np.ndarray


def motions(law: Law) -> tuple[Model, State]:
    """Build the models and states of all motions of a law as a batch."""
    built = []
    for lane in OF_LAW[law].values():
        model, state, _ = lane.build()
        model = replace(model, contact=replace(model.contact, min_bounce_speed=jnp.asarray(0.5)))
        built.append((model, state))
    return jax.tree.map(lambda *x: jnp.stack([jnp.asarray(y) for y in x]), *built)


@cache
def derivatives(law: Law) -> dict[str, Derivatives]:
    """Compute the derivatives of every motion, in two programs. Motions follow one another,
    which takes less to trace and to compile than a batch of batches."""
    batch = motions(law)
    final, zero = outcome(law), jnp.zeros_like(SPREAD)
    offsets = jnp.concatenate([s * jnp.diag(SPREAD) for s in (-2, -1, 1, 2)])
    several = jax.vmap(final, (0, None, None))
    reverse = jax.lax.map(lambda motion: jax.jacrev(final)(zero, *motion), batch)
    values = jax.lax.map(lambda motion: several(offsets, *motion), batch)
    values = values.reshape(len(MOTIONS), 4, len(SPREAD), -1)
    wide = (values[:, 3] - values[:, 0]) / (4 * SPREAD[:, None])
    narrow = (values[:, 2] - values[:, 1]) / (2 * SPREAD[:, None])
    fourth = (4 * narrow - wide) / 3
    shape = (len(MOTIONS), len(SPREAD), len(BODIES), 13)
    arrays = [np.swapaxes(np.asarray(reverse), 1, 2).reshape(shape)]
    arrays += [np.asarray(x).reshape(shape) for x in (wide, fourth)]
    return {name: Derivatives(*(x[i] for x in arrays)) for i, name in enumerate(MOTIONS)}


@cache
def forward() -> np.ndarray:
    """Compute forward-mode derivatives [motions, parameters, bodies, 13] under the law whose
    systems are not symmetric."""
    jacobian = jax.jit(jax.vmap(jax.jacfwd(outcome("ncp")), (None, 0, 0)))(
        jnp.zeros_like(SPREAD), *motions("ncp")
    )
    shape = (len(MOTIONS), len(SPREAD), len(BODIES), 13)
    return np.swapaxes(np.asarray(jacobian), 1, 2).reshape(shape)


@pytest.mark.long
@pytest.mark.parametrize("move", list(MOTIONS))
def test_forward_equals_reverse(move: str) -> None:
    jacobian = forward()[list(MOTIONS).index(move)]
    gap = np.abs(jacobian - derivatives("ncp")[move].reverse).max()
    assert gap <= 1e-10 * np.abs(jacobian).max()


@CONVEX_LAW_LONG
@pytest.mark.parametrize("move", list(MOTIONS))
@pytest.mark.parametrize("body", BODIES)
@pytest.mark.parametrize("parameter", sorted(STEP_LENGTHS))
def test_derivatives_against_central_differences(
    law: Law, move: str, body: str, parameter: str
) -> None:
    """Derivatives agree with central differences to 1e-6 of each column's largest entry, beyond
    what the solver's tolerance leaves in a difference.

    Args:
        law: contact law
        move: name of the motion
        body: name of the body
        parameter: name of the parameter
    """
    computed, columns = derivatives(law)[move], [name == parameter for name in NAMES]
    index = BODIES.index(body)
    exact, second, fourth = (
        x[columns, index] for x in (computed.reverse, computed.second, computed.fourth)
    )
    size = np.abs(fourth).max(axis=1)
    floor = NOISE / SPREAD[np.array(columns)]
    assert np.all(np.isfinite(exact))
    # No event within reach of the differences.
    assert np.all(np.abs(second - fourth).max(axis=1) <= 2e-2 * size + floor)
    assert np.all(np.abs(exact - fourth).max(axis=1) <= 1e-6 * size + floor)


@CONVEX_LAW_LONG
def test_derivatives_do_not_vanish(law: Law) -> None:
    """Each parameter affects the outcome in some regime."""
    largest = np.max([np.abs(d.fourth).max(axis=(1, 2)) for d in derivatives(law).values()], axis=0)
    assert np.all(largest > 1e-3)
