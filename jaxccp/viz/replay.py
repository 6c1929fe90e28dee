"""A motion as a viewer draws it: solids on bodies, ground, poses and contact forces over time."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxccp.dynamics import ContactData
from jaxccp.model import Model
from jaxccp.viz.mesh import polygons, rotation
from jaxccp.viz.palette import FIXED, PALETTE
from jaxccp.viz.skin import Skin, skin, things

SHARP = ("box", "convex", "height_field", "cylinder")
"""Kinds whose facets are drawn flat."""


@dataclass(frozen=True)
class Solid:
    """Triangles of one shape in the frame of its body."""

    name: str
    body: int
    vertices: Float[np.ndarray, "v 3"]
    """[m]"""
    triangles: Int[np.ndarray, "t 3"]
    """Counter-clockwise seen from outside."""
    sharp: bool
    """Whether edges between triangles are seen."""


@dataclass(frozen=True)
class Ground:
    """A plane in the frame of its body."""

    name: str
    body: int
    position: Float[np.ndarray, "3"]
    quaternion: Float[np.ndarray, "4"]


@dataclass(frozen=True)
class Replay:
    """n instants of a motion of nb bodies, of one copy."""

    bodies: tuple[str, ...]
    moves: Bool[np.ndarray, " nb"]
    solids: tuple[Solid, ...]
    grounds: tuple[Ground, ...]
    colours: tuple[str, ...]
    """Of each body."""
    skin: Skin
    """Of all flexible bodies."""
    time: Float[np.ndarray, " n"]
    """[s]"""
    position: Float[np.ndarray, "n nb 3"]
    quaternion: Float[np.ndarray, "n nb 4"]
    point: Float[np.ndarray, "n c 3"]
    """Where contacts push [m]; c is 0 where forces are not known."""
    force: Float[np.ndarray, "n c 3"]
    """On their second bodies, 0 where nothing pushes [N]."""
    weight: float
    """Of all rigid bodies that move together [N], by which forces are drawn; the largest force
    where none moves."""

    def nearest(self, times: Float[np.ndarray, " k"]) -> Int[np.ndarray, " k"]:
        """The last instants before these times [s], or at them."""
        found = np.searchsorted(self.time, np.asarray(times) + 1e-9, side="right") - 1
        return np.clip(found, 0, len(self.time) - 1)


def replay(
    model: Model,
    time: np.ndarray,
    position: np.ndarray,
    quaternion: np.ndarray,
    contacts: ContactData | None = None,
) -> Replay:
    """What is to be drawn of a motion.

    Args:
        model: whose shapes are drawn.
        time: of each instant [n], rising [s].
        position: of all bodies [n nb 3].
        quaternion: likewise [n nb 4].
        contacts: of the step that led to each instant but the first [n - 1 c], if forces are to be
            drawn: ``StepReport.contact_data``.

    Raises:
        ValueError: the motion is of other bodies than the model's, or holds NaN or infinity.
    """
    topology = model.topology
    count = len(topology.bodies)
    if position.shape != (len(time), count, 3) or quaternion.shape != (len(time), count, 4):
        raise ValueError(
            f"the motion has poses of shape {position.shape} and {quaternion.shape}, but the model "
            f"has {count} bodies and there are {len(time)} instants: give the motion of this model"
        )
    if not (np.isfinite(position).all() and np.isfinite(quaternion).all()):
        raise ValueError("the motion holds NaN or infinite numbers: end it where they begin")
    point = force = np.zeros((len(time), 0, 3))
    if contacts is not None:
        acts = np.asarray(contacts.live)[..., None]
        point = _delayed(np.where(acts, contacts.point, 0.0))
        force = _delayed(np.where(acts, contacts.force, 0.0))
    largest = float(np.linalg.norm(force, axis=-1).max(initial=0.0))
    mass = float(np.sum(np.where(topology.free, model.bodies.mass, 0.0)))
    weight = mass * float(np.linalg.norm(np.asarray(model.gravity)))
    return Replay(
        topology.bodies,
        np.asarray(topology.moves),
        tuple(_solids(model)),
        tuple(_grounds(model)),
        _colours(model),
        skin(model, range(count)),
        np.asarray(time, float),
        np.asarray(position, float),
        np.asarray(quaternion, float),
        point,
        force,
        weight or mass or largest or 1.0,
    )


def _delayed(of_steps: np.ndarray) -> np.ndarray:
    """Return values at the instants that steps lead to, and nothing at the first."""
    return np.concatenate([np.zeros_like(of_steps[:1]), of_steps])


def _colours(model: Model) -> tuple[str, ...]:
    found = [FIXED] * len(model.topology.bodies)
    for rank, bodies in enumerate(things(model)):
        for body in bodies:
            found[body] = PALETTE[rank % len(PALETTE)]
    return tuple(found)


def _name(model: Model, shape: int) -> str:
    return f"{shape:03d}-{model.topology.shape_names[shape]}".replace("/", "-")


def _solids(model: Model) -> list[Solid]:
    shapes, topology, found = model.shapes, model.topology, []
    for i, kind in enumerate(topology.shapes):
        quads = polygons(model, i)
        if quads is None:
            continue
        corners = quads @ rotation(np.asarray(shapes.quaternion[i])).T
        vertices = (corners + np.asarray(shapes.position[i])).reshape(-1, 3)
        halves = np.array([[0, 1, 2], [0, 2, 3]])
        triangles = (4 * np.arange(len(quads))[:, None, None] + halves).reshape(-1, 3)
        vertices, triangles = _welded(vertices, triangles)
        body = int(topology.shape_body[i])
        found.append(Solid(_name(model, i), body, vertices, triangles, kind in SHARP))
    return found


def _welded(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mesh with each corner once and without triangles of no area, so that round
    surfaces are smooth."""
    size = max(float(np.ptp(vertices, axis=0).max()), 1e-12)
    _, kept, place = np.unique(
        np.round(vertices / size, 9), axis=0, return_index=True, return_inverse=True
    )
    triangles = place.reshape(-1)[triangles]
    a, b, c = triangles.T
    return vertices[kept], triangles[(a != b) & (b != c) & (a != c)]


def _grounds(model: Model) -> list[Ground]:
    shapes, topology = model.shapes, model.topology
    return [
        Ground(
            _name(model, i),
            int(topology.shape_body[i]),
            np.asarray(shapes.position[i], float),
            np.asarray(shapes.quaternion[i], float),
        )
        for i, kind in enumerate(topology.shapes)
        if kind == "plane"
    ]
