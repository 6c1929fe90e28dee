"""The data of a motion for a viewer: solids, ground, poses and contact forces over time."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Float, Int

from jaxccp.dynamics import ContactData
from jaxccp.model import Model
from jaxccp.viz.mesh import polygons
from jaxccp.viz.skin import Skin, body_colours, skin

SHARP = ("box", "convex", "height_field", "cylinder")
"""Kinds of shapes whose facets are shaded flat."""


@dataclass(frozen=True)
class Solid:
    """The triangles of one shape, in the frame of its body."""

    name: str
    """Name of the shape."""
    body: int
    """Index of its body."""
    vertices: Float[np.ndarray, "v 3"]
    """Corners of the triangles [m]."""
    triangles: Int[np.ndarray, "t 3"]
    """Indices of each triangle's vertices, counter-clockwise seen from outside."""
    sharp: bool
    """Whether triangles are shaded flat, so that edges are visible."""


@dataclass(frozen=True)
class Ground:
    """A plane in the frame of its body."""

    name: str
    """Name of the shape."""
    body: int
    """Index of its body."""
    position: Float[np.ndarray, "3"]
    """Position of the plane in the body's frame [m]."""
    quaternion: Float[np.ndarray, "4"]
    """Orientation of the plane in the body's frame (w, x, y, z)."""


@dataclass(frozen=True)
class Replay:
    """A motion of nb bodies at n instants, with everything that a viewer draws."""

    bodies: tuple[str, ...]
    """Names of the bodies."""
    movable: Bool[np.ndarray, " nb"]
    """Whether each body can move, or does in the motion, as of motion capture; all if none does."""
    solids: tuple[Solid, ...]
    """Shapes of the bodies, except planes."""
    grounds: tuple[Ground, ...]
    """Planes of the bodies."""
    colours: tuple[str, ...]
    """Colour of each body."""
    skin: Skin
    """Patches of all flexible bodies."""
    time: Float[np.ndarray, " n"]
    """Time of each instant [s]."""
    position: Float[np.ndarray, "n nb 3"]
    """Centres of mass in world axes [m]."""
    quaternion: Float[np.ndarray, "n nb 4"]
    """Orientations of the bodies."""
    point: Float[np.ndarray, "n c 3"]
    """Contact points in world axes [m]; c is 0 if forces are not known."""
    force: Float[np.ndarray, "n c 3"]
    """Contact forces on the second bodies in world axes [N]; 0 in slots without a contact."""
    weight: float
    """Force whose arrow has the unit length [N]: the weight of all rigid bodies that are not fixed;
    without gravity, their mass times 1 m/s²; the largest force if there are no such bodies."""

    def indices_at(self, times: Float[np.ndarray, " k"]) -> Int[np.ndarray, " k"]:
        """Return the indices of the last instants at or before some times [s]."""
        instants = np.searchsorted(self.time, np.asarray(times) + 1e-9, side="right") - 1
        return np.clip(instants, 0, len(self.time) - 1)


def replay(
    model: Model,
    time: np.ndarray,
    position: np.ndarray,
    quaternion: np.ndarray,
    contacts: ContactData | None = None,
) -> Replay:
    """Return a motion with everything that a viewer draws.

    Args:
        model: the model whose shapes are drawn.
        time: times of the instants, rising [s], (n,).
        position: centres of mass of the bodies [m], (n, nb, 3).
        quaternion: orientations of the bodies, (n, nb, 4).
        contacts: ``StepReport.contact_data`` of the step before each instant, (n, c), or before
            each but the first, (n − 1, c); None: no forces are drawn.

    Raises:
        ValueError: the motion has other bodies than the model, holds NaN or infinity, has times
            that do not rise, or has another number of instants than the contacts.
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
    if not (np.diff(time) > 0).all():
        raise ValueError("the times do not rise from instant to instant: sort the motion by time")
    point = force = np.zeros((len(time), 0, 3))
    if contacts is not None:
        live = np.asarray(contacts.live)[..., None]
        missing = len(time) - len(live)
        if missing not in (0, 1):
            raise ValueError(
                f"there are contacts of {len(live)} steps, but {len(time)} instants: give those of "
                "the step before each instant, or before each but the first"
            )
        first = (missing, 0), (0, 0), (0, 0)
        point = np.pad(np.where(live, contacts.point, 0.0), first)
        force = np.pad(np.where(live, contacts.force, 0.0), first)
    largest = float(np.linalg.norm(force, axis=-1).max(initial=0.0))
    mass = float(np.sum(np.where(topology.free, model.bodies.mass, 0.0)))
    weight = mass * float(np.linalg.norm(np.asarray(model.gravity)))
    return Replay(
        bodies=topology.bodies,
        movable=moving_bodies(model, position, quaternion),
        solids=tuple(_solids(model)),
        grounds=tuple(_grounds(model)),
        colours=tuple(body_colours(model)),
        skin=skin(model, range(count)),
        time=np.asarray(time, float),
        position=np.asarray(position, float),
        quaternion=np.asarray(quaternion, float),
        point=point,
        force=force,
        weight=weight or mass or largest or 1.0,
    )


def moving_bodies(
    model: Model, position: Float[np.ndarray, "*n nb 3"], quaternion: Float[np.ndarray, "*n nb 4"]
) -> Bool[np.ndarray, " nb"]:
    """Return the mask of the bodies that can move, or do in a motion, as those of motion capture;
    of all bodies if none does.

    Args:
        model: the model.
        position: centres of mass of its bodies at all instants [m].
        quaternion: orientations of its bodies at all instants.
    """
    poses = np.concatenate([position, quaternion], axis=-1).reshape(-1, position.shape[-2], 7)
    moving = np.asarray(model.topology.movable) | (np.ptp(poses, axis=0) > 0).any(axis=-1)
    return moving if moving.any() else ~moving


def _name(model: Model, shape: int) -> str:
    return f"{shape:03d}-{model.topology.shape_names[shape]}".replace("/", "-")


def _solids(model: Model) -> list[Solid]:
    topology, solids = model.topology, []
    for i, kind in enumerate(topology.shapes):
        quads = polygons(model, i)
        if quads is None:
            continue
        vertices = quads.reshape(-1, 3)
        halves = np.array([[0, 1, 2], [0, 2, 3]])
        triangles = (4 * np.arange(len(quads))[:, None, None] + halves).reshape(-1, 3)
        vertices, triangles = _welded(vertices, triangles)
        body = int(topology.shape_body[i])
        solids.append(Solid(_name(model, i), body, vertices, triangles, kind in SHARP))
    return solids


def _welded(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the mesh with duplicate vertices merged and triangles of zero area removed, so that
    round surfaces are shaded smoothly."""
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
