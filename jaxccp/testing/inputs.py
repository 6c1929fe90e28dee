"""What a motion depends on: the inputs whose derivatives are checked, by name.

An input is a vector of changes, zero at the motion as it is. Each entry is measured in a unit that is
natural for it (a length in the size of its body, a mass in itself), so that one sequence of step lengths
suits all.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.dynamics.tangent import tangent_names
from jaxccp.math import quaternion
from jaxccp.names import unknown
from jaxccp.testing.setup import Setup, with_model


@dataclass(frozen=True)
class Input:
    """Numbers of one kind that a motion depends on."""

    name: str
    labels: tuple[str, ...]
    """Of each entry."""
    unit: np.ndarray
    """A natural change of each entry, in SI units; 1 where changes are relative."""
    apply: Callable[[Setup, Array], Setup] = field(repr=False)
    """The setup with these changes."""


def inputs_of(setup: Setup, names: tuple[str, ...] | None = None) -> tuple[Input, ...]:
    """All inputs that the setup has, or those of ``names``.

    Raises:
        ValueError: for a name that is none of :data:`INPUTS`.
    """
    for name in names or ():
        if name not in INPUTS:
            raise ValueError(unknown(name, INPUTS))
    found = (INPUTS[name](setup, name) for name in INPUTS if names is None or name in names)
    return tuple(one for one in found if len(one.unit))


def _lengths(setup: Setup) -> np.ndarray:
    """The radius of gyration of each moving body [m], 1 of all others."""
    bodies = setup.model.bodies
    trace = np.trace(np.asarray(bodies.inertia, float), axis1=1, axis2=2)
    mass = np.asarray(bodies.mass, float)
    return np.where(setup.model.topology.free, np.sqrt(trace / (2 * np.maximum(mass, 1e-30))), 1.0)


def _body_of(setup: Setup, names: tuple[str, ...]) -> np.ndarray:
    """The length for each tangent coordinate: 1 for angles, and for axes."""
    sizes = dict(zip(setup.model.topology.bodies, _lengths(setup), strict=True))
    owner, part = zip(*(name.rpartition(".")[::2] for name in names), strict=True)
    shifts = np.isin(part, ("x", "y", "z"))
    slides = np.array([sizes.get(body, 1.0) for body in owner])
    return np.where(shifts & np.isin(owner, list(sizes)), slides, 1.0)


def _pose(setup: Setup, name: str) -> Input:
    names = tangent_names(setup.model)

    def apply(setup: Setup, x: Array) -> Setup:
        return replace(setup, change=setup.change.at[: len(x)].add(x))

    return Input(name, names, _body_of(setup, names) if names else np.zeros(0), apply)


def _velocity(setup: Setup, name: str) -> Input:
    names = tangent_names(setup.model)

    def apply(setup: Setup, x: Array) -> Setup:
        return replace(setup, change=setup.change.at[len(x) :].add(x))

    return Input(name, names, np.ones(len(names)), apply)


def _control(setup: Setup, name: str) -> Input:
    def apply(setup: Setup, x: Array) -> Setup:
        return replace(setup, control=setup.control + x)

    names = setup.model.topology.linkage.actuators
    return Input(name, names, np.ones(len(names)), apply)


def _force(setup: Setup, name: str) -> Input:
    """In the weight that a body has at 1 m/s² for a force, and that at its length for a torque."""
    free = np.flatnonzero(setup.model.topology.free)
    mass = np.asarray(setup.model.bodies.mass, float)[free]
    unit = np.repeat(np.stack([mass, mass * _lengths(setup)[free]], axis=1), 3, axis=1)

    def apply(setup: Setup, x: Array) -> Setup:
        return replace(setup, force=setup.force.at[free].add(x.reshape(-1, 6)))

    return Input(name, _each(setup, free, ("fx", "fy", "fz", "tx", "ty", "tz")), unit.ravel(), apply)


def _mass(setup: Setup, name: str) -> Input:
    free = np.flatnonzero(setup.model.topology.free)

    def apply(setup: Setup, x: Array) -> Setup:
        bodies = setup.model.bodies
        mass = bodies.mass.at[free].multiply(1 + x, unique_indices=True)
        return with_model(setup, bodies=replace(bodies, mass=mass))

    return Input(name, _each(setup, free), np.ones(len(free)), apply)


def _inertia(setup: Setup, name: str) -> Input:
    """I becomes ½ F I Fᵀ + its transpose, F = 1 + the symmetric matrix of six changes."""
    free = np.flatnonzero(setup.model.topology.free)
    places = np.array([[0, 3, 4], [3, 1, 5], [4, 5, 2]])

    def apply(setup: Setup, x: Array) -> Setup:
        bodies = setup.model.bodies
        factor = jnp.eye(3, dtype=x.dtype) + 0.5 * x.reshape(-1, 6)[:, places]
        inertia = jnp.einsum("bij,bjk,blk->bil", factor, bodies.inertia[free], factor)
        return with_model(
            setup, bodies=replace(bodies, inertia=bodies.inertia.at[free].set(inertia))
        )

    six = ("xx", "yy", "zz", "xy", "xz", "yz")
    return Input(name, _each(setup, free, six), np.ones(6 * len(free)), apply)


def _centre(setup: Setup, name: str) -> Input:
    """In body axes; shapes, anchors, sites and tendons stay where they are in the world."""
    topology = setup.model.topology
    free = np.flatnonzero(topology.free)

    def apply(setup: Setup, x: Array) -> Setup:
        model, state = setup.model, setup.state
        moved = jnp.zeros_like(state.position).at[free].set(x.reshape(-1, 3))
        shapes, joints, tendons = model.shapes, model.joints, model.tendons
        linkage, sites = topology.linkage, model.sites
        anchor = joints.anchor - moved[linkage.bodies]
        point = tendons.point - moved[linkage.routing.point_body]
        parts = {
            "shapes": replace(shapes, position=shapes.position - moved[topology.shape_body]),
            "joints": replace(joints, anchor=anchor),
            "tendons": replace(tendons, point=point),
            "sites": replace(sites, position=sites.position - moved[np.array(sites.bodies, int)]),
        }
        arm = quaternion.rotate(state.quaternion, moved)
        velocity = state.velocity + jnp.cross(state.angular_velocity, arm)
        state = replace(state, position=state.position + arm, velocity=velocity)
        return replace(with_model(setup, **parts), state=state)

    unit = np.repeat(_lengths(setup)[free], 3)
    return Input(name, _each(setup, free, ("x", "y", "z")), unit, apply)


def _anchors(setup: Setup, name: str) -> Input:
    """Of each joint on both of its bodies, in body axes."""
    linkage = setup.model.topology.linkage
    sizes = _lengths(setup)[linkage.bodies]

    def apply(setup: Setup, x: Array) -> Setup:
        joints = setup.model.joints
        return with_model(
            setup, joints=replace(joints, anchor=joints.anchor + x.reshape(joints.anchor.shape))
        )

    sides = (".first", ".second")
    labels = [f"{j}{side}.{part}" for j in linkage.joints for side in sides for part in "xyz"]
    return Input(name, tuple(labels), np.repeat(sizes.ravel(), 3), apply)


def _gravity(setup: Setup, name: str) -> Input:
    def apply(setup: Setup, x: Array) -> Setup:
        return with_model(setup, gravity=setup.model.gravity + x)

    return Input(name, ("x", "y", "z"), np.full(3, 10.0), apply)


def _step(setup: Setup, name: str) -> Input:
    def apply(setup: Setup, x: Array) -> Setup:
        return replace(setup, stretch=setup.stretch + x[0])

    return Input(name, ("h",), np.ones(1), apply)


def _each(setup: Setup, free: np.ndarray, parts: tuple[str, ...] = ()) -> tuple[str, ...]:
    bodies = [setup.model.topology.bodies[body] for body in free]
    return tuple(f"{b}.{p}" for b in bodies for p in parts) if parts else tuple(bodies)


def _table(
    part: str, number: str, *, kinds: tuple[str, ...] = (), together: bool = False
) -> Callable[[Setup, str], Input]:
    """Relative changes of the numbers ``model.part.number`` that are neither 0 nor infinite.

    ``kinds``: of shapes of these kinds only. ``together``: those that are equal change together.
    """

    def make(setup: Setup, name: str) -> Input:
        topology = setup.model.topology
        values = np.asarray(getattr(getattr(setup.model, part), number), float)
        wanted = np.isfinite(values) & (values != 0)
        if kinds:
            wanted &= np.isin(topology.shapes, kinds).reshape(-1, *[1] * (values.ndim - 1))
        entries = np.argwhere(wanted)
        if together:
            distinct, group = np.unique(values[wanted], return_inverse=True)
            labels = [f"{value:g}" for value in distinct]
        else:
            group = np.arange(len(entries))
            rows = _row_names(setup, part, number, len(values))
            labels = [".".join([rows[e[0]], *map(str, e[1:])]) for e in entries]

        def apply(setup: Setup, x: Array) -> Setup:
            table = getattr(setup.model, part)
            changed = getattr(table, number).at[tuple(entries.T)].multiply(1 + x[group], unique_indices=True)
            return with_model(setup, **{part: replace(table, **{number: changed})})

        return Input(name, tuple(labels), np.ones(len(labels)), apply)

    return make


def _row_names(setup: Setup, part: str, number: str, count: int) -> tuple[str, ...]:
    topology = setup.model.topology
    linkage = topology.linkage
    known = {
        "shapes": topology.shape_names,
        "axes": (*linkage.axes, *linkage.routing.tendons),
        "actuators": linkage.actuators,
    }[part]
    return known if len(known) == count else tuple(map(str, range(count)))


_ROUND = ("sphere", "capsule", "box", "cylinder", "ellipsoid")

INPUTS: dict[str, Callable[[Setup, str], Input]] = {
    "pose": _pose,
    "velocity": _velocity,
    "control": _control,
    "force": _force,
    "mass": _mass,
    "centre_of_mass": _centre,
    "inertia": _inertia,
    "friction": _table("shapes", "friction", together=True),
    "pair_friction": _table("shapes", "pair_friction", together=True),
    "rolling": _table("shapes", "rolling", together=True),
    "restitution": _table("shapes", "restitution", together=True),
    "compliance": _table("shapes", "compliance", together=True),
    "contact_damping": _table("shapes", "damping", together=True),
    "size": _table("shapes", "size", kinds=_ROUND),
    "radius": _table("shapes", "radius"),
    "mesh_scale": _table("shapes", "size", kinds=("convex", "height_field")),
    "anchors": _anchors,
    "stiffness": _table("axes", "stiffness"),
    "damping": _table("axes", "damping"),
    "rest": _table("axes", "rest"),
    "armature": _table("axes", "armature"),
    "dry_friction": _table("axes", "friction"),
    "lower_limit": _table("axes", "lower"),
    "upper_limit": _table("axes", "upper"),
    "gain": _table("actuators", "gain"),
    "servo_stiffness": _table("actuators", "stiffness"),
    "servo_damping": _table("actuators", "damping"),
    "gear": _table("actuators", "gear"),
    "gravity": _gravity,
    "step": _step,
}
"""Every input by name. Coefficients of surfaces that are equal change together: the smaller of two
equal ones has a kink. Numbers that are 0 or infinite are no inputs: what they stand for is absent."""
