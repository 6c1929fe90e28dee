"""Additions to a model for a simulation of a recording: drives for recorded torques and motions,
and sites for recorded poses."""

from collections.abc import Sequence
from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.identify.inverse_dynamics.couplings import moved_axes
from jaxccp.identify.subject import Subject
from jaxccp.model.sites import Sites
from jaxccp.model.topology import Topology

FOLLOWING = 1e4
"""Stiffness of a servo that imposes a motion, relative to the inertia that it moves divided by h².
Its inverse is the fraction of a deviation that remains after a step."""


def with_drives(
    subject: Subject, torques: tuple[str, ...], motions: tuple[str, ...], h: float, inertia: float
) -> Subject:
    """Return the subject with actuators that impose recorded torques and motions.

    Each axis with a recorded torque gets a motor, each axis that has to follow a recorded motion a
    stiff servo. The model's own actuators do not act on these axes, nor on tendons that move an
    axis with a recorded torque.

    Args:
        subject: the model.
        torques: axes whose torque is an input [N, N m].
        motions: axes whose position is an input [m, rad].
        h: step of simulations [s].
        inertia: largest inertia along any of ``motions`` [kg, kg m²].
    """
    subject = without_actuators(subject, torques, motions)
    model = subject.model
    linkage, actuators = model.topology.linkage, model.actuators
    count, names = len(linkage.actuators), (*torques, *motions)
    if not names:
        return subject
    axes = np.array([linkage.axis(name) for name in names])
    servo = np.arange(len(names)) >= len(torques)
    stiffness = np.where(servo, FOLLOWING * inertia / h**2, 0.0)
    infinite = np.tile([-np.inf, np.inf], (len(names), 1))
    reference = _reference(subject, axes)
    added = {
        "gain": np.where(servo, stiffness, 1.0),
        "offset": -stiffness * reference,
        "stiffness": stiffness,
        "damping": np.zeros(len(names)),
        "gear": np.ones(len(names)),
        "force_limits": infinite,
        "control_limits": infinite,
    }
    longer = {
        name: jnp.concatenate(
            [getattr(actuators, name), jnp.asarray(sources, actuators.gain.dtype)]
        )
        for name, sources in added.items()
    }
    following = count + np.flatnonzero(servo)
    linkage = replace(
        linkage,
        actuators=(*linkage.actuators, *(f"drive:{name}" for name in names)),
        actuated=np.concatenate([linkage.actuated, axes]).astype(int),
        servos=np.concatenate([linkage.servos, following]).astype(int),
        bounded=np.concatenate([linkage.bounded, np.zeros(len(following), bool)]),
    )
    topology = replace(model.topology, linkage=linkage)
    model = replace(model, actuators=replace(actuators, **longer), topology=topology)
    return replace(subject, model=model)


def without_actuators(
    subject: Subject, torques: Sequence[str], motions: Sequence[str] = ()
) -> Subject:
    """Return the subject with zero force of its actuators on these axes.

    An actuator on a tendon exerts none either if it moves an axis with a measured torque, since
    that torque includes its part.

    Args:
        subject: the model.
        torques: names of axes whose torques were measured.
        motions: names of axes that have to follow a motion.
    """
    model = subject.model
    acting, actuators = acting_actuators(model.topology, torques, motions), model.actuators
    if acting.all():
        return subject
    silent = {
        name: jnp.where(acting, getattr(actuators, name), 0.0)
        for name in ("gain", "offset", "stiffness", "damping")
    }
    return replace(subject, model=replace(model, actuators=replace(actuators, **silent)))


def acting_actuators(
    topology: Topology, torques: Sequence[str], motions: Sequence[str]
) -> Bool[np.ndarray, " nm"]:
    """Return the mask of the actuators that act beside recorded torques and motions.

    Args:
        topology: the mechanism.
        torques: names of axes whose torques were measured.
        motions: names of axes that have to follow a motion.
    """
    linkage = topology.linkage
    measured, imposed = ({linkage.axis(name) for name in names} for names in (torques, motions))
    acting = [
        coordinate not in imposed and not measured & moved_axes(topology, coordinate)
        for coordinate in linkage.actuated.tolist()
    ]
    return np.array(acting, bool)


def _reference(subject: Subject, axes: np.ndarray) -> Float[Array, " n"]:
    """Return the value in ``qpos`` of each axis at the model's zero coordinate."""
    places = subject.layout.places.single
    values = jnp.zeros(len(subject.model.topology.linkage.axes), subject.layout.reference.dtype)
    return values.at[places[2]].set(subject.layout.reference)[axes]


def with_frames(subject: Subject, frames: tuple[str, ...]) -> tuple[Subject, np.ndarray]:
    """Return the subject with a site for each frame whose pose was recorded, and the indices of the
    sites.

    A frame is a site of the model, or a body's frame, which gets a new site: for a free body the
    frame of its recorded coordinates, else at the centre of mass that the model has without
    parameters. Parameters do not move it on its body.

    Raises:
        ValueError: the model has neither a site nor a body of that name.
    """
    model = subject.model
    sites, topology = model.sites, model.topology
    free = {int(body): place for place, body in enumerate(subject.layout.places.free[2])}
    index, bodies, positions = [], [], []
    for name in frames:
        if name in sites.names:
            index.append(sites.names.index(name))
            continue
        body = topology.body(name)
        centre = subject.layout.centre[free[body]] if body in free else subject.centre_shift[body]
        index.append(len(sites.names) + len(bodies))
        bodies.append(body)
        positions.append(-centre)
    if bodies:
        position = jnp.concatenate(
            [sites.position, jnp.stack(positions).astype(sites.position.dtype)]
        )
        orientation = jnp.zeros((len(bodies), 4), sites.quaternion.dtype).at[:, 0].set(1.0)
        sites = Sites(
            position,
            jnp.concatenate([sites.quaternion, orientation]),
            (*sites.names, *(f"frame:{topology.bodies[body]}" for body in bodies)),
            (*sites.bodies, *bodies),
        )
        subject = replace(subject, model=replace(model, sites=sites))
    return subject, np.array(index, int)


def largest_inertia(subject: Subject) -> float:
    """Return a rough upper estimate of the inertia along any axis [kg, kg m²]: the mass of all
    bodies that move, for hinges times the square of twice the largest coordinate of a body, plus
    the largest armature."""
    model = subject.model
    free = np.asarray(model.topology.free)
    mass = np.asarray(model.bodies.mass)[free]
    reach = 2.0 * float(np.max(np.abs(np.asarray(subject.state.position)), initial=0.1))
    slides = "slide" in model.topology.linkage.motions
    square = max(reach**2, 1.0) if slides else reach**2
    return float(mass.sum() * square + np.max(np.asarray(model.axes.armature), initial=0.0))
