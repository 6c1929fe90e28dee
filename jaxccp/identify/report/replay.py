"""Measured and simulated motion of a mechanism, as data for the report's page."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from jaxccp.collision.cores import CORES
from jaxccp.collision.manifold import Geometry
from jaxccp.collision.shape_placement import shapes_of_kind
from jaxccp.identify.fit import Fit
from jaxccp.identify.recordings.starts import MeasuredMotion
from jaxccp.identify.report.curves import CaseCurves
from jaxccp.identify.subject import Subject
from jaxccp.model.model import Model
from jaxccp.scene.frames import to_matrix

MOST_FRAMES = 240
"""Maximum number of frames of one recording."""
MOST_NUMBERS = 120_000
"""Maximum number of values in all frames, about 6 bytes each."""
MOST_RECORDINGS = 3
MOST_POINTS = 40
"""Maximum number of points of an outline."""
REACH = 3.0
"""Distance of fixed shapes from the moving bodies, relative to the size of the motion, beyond which
they are not drawn."""


def replay(fit: Fit, curves: CaseCurves) -> dict[str, Any] | None:
    """Return the outlines of bodies and their measured and simulated poses over time, ready for
    JSON; None if no positions were compared.

    Coordinates that were not compared have their measured values in both motions.

    Args:
        fit: the fit.
        curves: curves of one case of the fit.
    """
    problem, case = fit.problem, curves.case
    kinds = {column.channel.partition("[")[0] for column in curves.columns}
    if not kinds & {"position", "pose"}:
        return None
    subject = problem.subject(fit.values, case)
    moving = np.flatnonzero(np.asarray(subject.model.topology.movable))
    recordings = problem.plans[case].recordings[:MOST_RECORDINGS]
    frames = min(MOST_FRAMES, MOST_NUMBERS // (14 * max(len(moving), 1) * len(recordings)))
    motions = []
    qpos, qvel = map(np.asarray, subject.layout.coordinates(subject.model, subject.state))
    for number, recording in enumerate(recordings):
        segments = [item for item in curves.segments if item.recording == number]
        time = np.concatenate([np.zeros(0), *(item.time for item in segments)])
        if not len(time):
            continue
        order = np.argsort(time, kind="stable")
        samples = order[np.unique(np.linspace(0, len(time) - 1, frames).astype(int))]
        motion = MeasuredMotion(subject, recording, np.inf, (qpos, qvel))
        measured = np.stack([motion.at(when)[0] for when in time[samples]])
        simulated = measured.copy()
        simulated_samples = np.concatenate([item.simulated for item in segments])[samples]
        measured_samples = np.concatenate([item.measured for item in segments])[samples]
        for values, coordinates in ((measured_samples, measured), (simulated_samples, simulated)):
            _put(subject, curves, values, coordinates)
        motions.append(
            {
                "name": recording.name,
                "time": np.round(time[samples], 4).tolist(),
                "measured": _poses(subject, measured, moving),
                "simulated": _poses(subject, simulated, moving),
            }
        )
    if not motions:
        return None
    return {"bodies": _outlines(subject, moving), "fixed": _fixed(subject), "motions": motions}


def _put(
    subject: Subject,
    curves: CaseCurves,
    values: Float[np.ndarray, "k o"],
    coordinates: Float[np.ndarray, "k nq"],
) -> None:
    """Write recorded positions and poses into ``coordinates``, in place; missing samples are left
    out."""
    places, topology, channels = subject.layout.places, subject.model.topology, subject.channels
    axes = {
        topology.linkage.axes[axis]: at
        for at, axis in zip(places.single[0], places.single[2], strict=True)
    }
    bodies = {
        topology.bodies[body]: at for at, body in zip(places.free[0], places.free[2], strict=True)
    }
    for column, value in zip(curves.columns, values.T, strict=True):
        kind, _, target = column.channel.partition('["')
        target = target.removesuffix('"]')
        if kind == "position" and target in axes:
            row = channels.names.index(column.channel)
            value = (value - float(channels.offset[row])) / float(channels.scale[row])
            at = axes[target]
        elif kind == "pose" and target in bodies:
            at = bodies[target] + ("x", "y", "z", "qw", "qx", "qy", "qz").index(column.part)
        else:
            continue
        coordinates[:, at] = np.where(np.isfinite(value), value, coordinates[:, at])


def _poses(
    subject: Subject, qpos: Float[np.ndarray, "k nq"], moving: np.ndarray
) -> list[list[float]]:
    """Return position and quaternion of each moving body, one row for each frame."""

    @jax.jit
    @jax.vmap
    def pose(item: jax.Array) -> jax.Array:
        state = subject.layout.state(subject.model, subject.state, item)
        return jnp.concatenate([state.position, state.quaternion], axis=1)[moving]

    return np.round(np.asarray(pose(jnp.asarray(qpos))), 4).reshape(len(qpos), -1).tolist()


def _outlines(subject: Subject, moving: np.ndarray) -> list[dict[str, Any]]:
    """Return the drawing of each moving body: shapes as points with a radius, and lines between its
    joints."""
    model = subject.model
    linkage = model.topology.linkage
    anchor = np.asarray(model.joints.anchor)
    out = []
    for body in moving:
        joints = [
            np.round(anchor[joint, side], 4).tolist()
            for joint, side in np.argwhere(linkage.bodies == body)
        ]
        shapes = [
            _outline(model, int(k)) for k in np.flatnonzero(model.topology.shape_body == body)
        ]
        name = model.topology.bodies[body]
        out.append({"name": name, "joints": joints, "shapes": [item for item in shapes if item]})
    return out


def _fixed(subject: Subject) -> list[dict[str, Any]]:
    """Return the fixed shapes near the motion, in world axes."""
    model, state = subject.model, subject.state
    topology = model.topology
    places_moving = np.asarray(state.position)[topology.movable]
    middle = places_moving.mean(axis=0) if len(places_moving) else np.zeros(3)
    reach = REACH * max(float(np.ptp(places_moving, axis=0).max(initial=0.0)), 0.5)
    out = []
    for shape in np.flatnonzero(~topology.movable[topology.shape_body]):
        body = topology.shape_body[shape]
        outline = _outline(model, int(shape))
        if outline is None:
            continue
        rotation = to_matrix(np.asarray(state.quaternion)[body])
        points = np.array(outline["points"]) @ rotation.T + np.asarray(state.position)[body]
        if np.abs(points - middle).max() < reach:
            out.append({"points": np.round(points, 4).tolist(), "radius": outline["radius"]})
    return out


def _outline(model: Model, shape: int) -> dict[str, Any] | None:
    """Return points of a shape in its body's axes, and the radius of the ball that sweeps them;
    None for a plane or a height field."""
    shapes, kind = model.shapes, model.topology.shapes[shape]
    if kind not in CORES:
        return None
    # In the shape's own frame only its size and radius are used.
    nowhere = jnp.zeros((*shapes.position.shape, 3))
    own = Geometry(shapes.position, nowhere, shapes.size, shapes.radius)
    core = CORES[kind](
        jax.tree.map(lambda leaf: leaf[0], shapes_of_kind(model, kind, own, np.array([shape])))
    )
    points = np.unique(np.asarray(core.points, float)[np.asarray(core.real)], axis=0)
    points = points[_spread(points, MOST_POINTS)]
    angle = np.linspace(0.0, 2 * np.pi, 16, endpoint=False)
    circle = np.stack([np.cos(angle), np.sin(angle), 0 * angle], axis=1)
    rings = np.concatenate([circle, circle[:, [0, 2, 1]], circle[:, [2, 0, 1]]])
    swept = np.unique(np.round(rings @ np.asarray(core.sweep, float).T, 9), axis=0)
    points = (points[:, None] + swept).reshape(-1, 3)
    rotation = to_matrix(np.asarray(shapes.quaternion, float)[shape])
    points = points @ rotation.T + np.asarray(shapes.position, float)[shape]
    return {"points": np.round(points, 4).tolist(), "radius": round(float(core.radius), 4)}


def _spread(points: Float[np.ndarray, "v 3"], count: int) -> Sequence[int]:
    """Return the indices of points that are far apart, chosen greedily."""
    if len(points) <= count:
        return range(len(points))
    kept = [0]
    distance = np.linalg.norm(points - points[0], axis=1)
    while len(kept) < count:
        kept.append(int(np.argmax(distance)))
        distance = np.minimum(distance, np.linalg.norm(points - points[kept[-1]], axis=1))
    return kept
