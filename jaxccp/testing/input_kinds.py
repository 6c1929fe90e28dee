"""Inputs with special ways of finding and changing their numbers."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.dynamics.tangent import tangent_names
from jaxccp.math import quaternion
from jaxccp.math.linear3 import cross
from jaxccp.model import Model
from jaxccp.testing.setup import Setup, with_model

Numbers = tuple[tuple[str, ...], np.ndarray, np.ndarray, np.ndarray]
"""Label and unit of each entry; indices of the model's numbers; the entry that changes each."""


def _all(labels: tuple[str, ...], unit: np.ndarray) -> Numbers:
    return labels, unit, np.zeros(0, int), np.arange(len(labels))


def _body_labels(setup: Setup, parts: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return a label for each part of each rigid body that moves."""
    topology = setup.model.topology
    bodies = [topology.bodies[body] for body in np.flatnonzero(topology.free)]
    return tuple(f"{b}.{p}" for b in bodies for p in parts) if parts else tuple(bodies)


def _free(setup: Setup) -> np.ndarray:
    return np.flatnonzero(setup.model.topology.free)


def _lengths(setup: Setup) -> np.ndarray:
    """Return the root-mean-square distance of the mass of each moving body from its centre,
    √(tr I / 2m) [m]; 1 of all others."""
    bodies = setup.model.bodies
    trace = np.trace(np.asarray(bodies.inertia, float), axis1=1, axis2=2)
    extent = np.sqrt(trace / (2 * np.maximum(np.asarray(bodies.mass, float), 1e-30)))
    return np.where(setup.model.topology.free, extent, 1.0)


def pose_entries(setup: Setup) -> Numbers:
    """Return the entries for changes of the pose: shifts of a body in units of its length, angles
    in rad, slides in m."""
    names = tangent_names(setup.model)
    sizes = dict(zip(setup.model.topology.bodies, _lengths(setup), strict=True))
    shifts = [name.rpartition(".") for name in names]
    unit = [sizes.get(body, 1.0) if part in ("x", "y", "z") else 1.0 for body, _, part in shifts]
    return _all(names, np.array(unit))


def change_pose(setup: Setup, entries: np.ndarray, x: Float[Array, " nv"]) -> Setup:
    return replace(setup, change=setup.change.at[: len(x)].add(x))


def velocity_entries(setup: Setup) -> Numbers:
    names = tangent_names(setup.model)
    return _all(names, np.ones(len(names)))


def change_velocity(setup: Setup, entries: np.ndarray, x: Float[Array, " nv"]) -> Setup:
    return replace(setup, change=setup.change.at[len(x) : 2 * len(x)].add(x))


def activated(model: Model) -> tuple[str, ...]:
    """Return the names of the actuators with activations."""
    activations_, names = model.activations, model.topology.linkage.actuators
    return (
        ()
        if activations_ is None
        else tuple(names[actuator] for actuator in activations_.actuators)
    )


def activation_entries(setup: Setup) -> Numbers:
    labels = activated(setup.model)
    return _all(labels, np.ones(len(labels)))


def change_activation(setup: Setup, entries: np.ndarray, x: Float[Array, " ma"]) -> Setup:
    return replace(setup, change=setup.change.at[len(setup.change) - len(x) :].add(x))


def control_entries(setup: Setup) -> Numbers:
    names = setup.model.topology.linkage.actuators
    return _all(names, np.ones(len(names)))


def change_control(setup: Setup, entries: np.ndarray, x: Float[Array, " nm"]) -> Setup:
    return replace(setup, control=setup.control + x)


def force_entries(setup: Setup) -> Numbers:
    """Return the entries for changes of applied forces: three forces per body in units of its mass
    times 1 m/s², and three torques in that times its length."""
    free = _free(setup)
    mass = np.asarray(setup.model.bodies.mass, float)[free]
    unit = np.repeat(np.stack([mass, mass * _lengths(setup)[free]], axis=1), 3, axis=1)
    return _all(_body_labels(setup, ("fx", "fy", "fz", "tx", "ty", "tz")), unit.ravel())


def change_force(setup: Setup, entries: np.ndarray, x: Float[Array, " 6*n"]) -> Setup:
    return replace(setup, force=setup.force.at[_free(setup)].add(x.reshape(-1, 6)))


def mass_entries(setup: Setup) -> Numbers:
    return _all(_body_labels(setup), np.ones(len(_free(setup))))


def change_mass(setup: Setup, entries: np.ndarray, x: Float[Array, " n"]) -> Setup:
    bodies = setup.model.bodies
    mass = bodies.mass.at[_free(setup)].multiply(1 + x, unique_indices=True)
    return with_model(setup, bodies=replace(bodies, mass=mass))


def inertia_entries(setup: Setup) -> Numbers:
    labels = _body_labels(setup, ("xx", "yy", "zz", "xy", "xz", "yz"))
    return _all(labels, np.ones(len(labels)))


def change_inertia(setup: Setup, entries: np.ndarray, x: Float[Array, " 6*n"]) -> Setup:
    """Change I to F I Fᵀ, F = 1 + half the symmetric matrix of the six changes.

    Args:
        setup: the setup.
        entries: not used.
        x: six changes for each body.
    """
    free, bodies = _free(setup), setup.model.bodies
    places = np.array([[0, 3, 4], [3, 1, 5], [4, 5, 2]])
    factor = jnp.eye(3, dtype=x.dtype) + 0.5 * x.reshape(-1, 6)[:, places]
    inertia = jnp.einsum("bij,bjk,blk->bil", factor, bodies.inertia[free], factor)
    return with_model(setup, bodies=replace(bodies, inertia=bodies.inertia.at[free].set(inertia)))


def centre_entries(setup: Setup) -> Numbers:
    labels = _body_labels(setup, ("x", "y", "z"))
    return _all(labels, np.repeat(_lengths(setup)[_free(setup)], 3))


def change_centre(setup: Setup, entries: np.ndarray, x: Float[Array, " 3*n"]) -> Setup:
    """Move centres of mass in body axes; shapes, anchors, sites and tendons stay where they are in
    the world.

    Args:
        setup: the setup.
        entries: not used.
        x: displacement of each body's centre [m].
    """
    model, state, topology = setup.model, setup.state, setup.model.topology
    linkage = topology.linkage
    displacement = jnp.zeros_like(state.position).at[_free(setup)].set(x.reshape(-1, 3))

    def shifted(table, number: str, bodies: np.ndarray):
        return replace(table, **{number: getattr(table, number) - displacement[bodies]})

    setup = with_model(
        setup,
        shapes=shifted(model.shapes, "position", topology.shape_body),
        joints=shifted(model.joints, "anchor", linkage.bodies),
        tendons=shifted(model.tendons, "point", linkage.routing.point_body),
        sites=shifted(model.sites, "position", np.array(model.sites.bodies, int)),
    )
    arm = quaternion.rotate(state.quaternion, displacement)
    velocity = state.velocity + cross(state.angular_velocity, arm)
    return replace(setup, state=replace(state, position=state.position + arm, velocity=velocity))


def anchor_entries(setup: Setup) -> Numbers:
    """Return the entries for shifts of each joint's anchors on both of its bodies, in body axes, in
    units of the bodies' lengths."""
    linkage = setup.model.topology.linkage
    unit = np.repeat(_lengths(setup)[linkage.bodies].ravel(), 3)
    sides = ("first", "second")
    labels = tuple(f"{j}.{side}.{part}" for j in linkage.joints for side in sides for part in "xyz")
    return _all(labels, unit)


def change_anchor(setup: Setup, entries: np.ndarray, x: Float[Array, " 6*nj"]) -> Setup:
    joints = setup.model.joints
    anchor = joints.anchor + x.reshape(joints.anchor.shape)
    return with_model(setup, joints=replace(joints, anchor=anchor))


def gravity_entries(setup: Setup) -> Numbers:
    return _all(("x", "y", "z"), np.full(3, 10.0))


def change_gravity(setup: Setup, entries: np.ndarray, x: Float[Array, "3"]) -> Setup:
    return with_model(setup, gravity=setup.model.gravity + x)


def step_entries(setup: Setup) -> Numbers:
    """Return the entry for a relative change of the length of steps."""
    return _all(("h",), np.ones(1))


def change_step(setup: Setup, entries: np.ndarray, x: Float[Array, "1"]) -> Setup:
    return replace(setup, stretch=setup.stretch + x[0])
