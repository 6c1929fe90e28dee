"""Bodies seen by a camera: shaded solids, ground and paths, drawn on ordinary flat axes.

The view is a parallel projection. To hide surfaces, those that face away are left out, and the
others are painted from the farthest to the nearest.
"""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.colors import to_rgb

from jaxccp.model import Model
from jaxccp.viz.mesh import EDGED, normals, rotation
from jaxccp.viz.mesh import polygons as mesh
from jaxccp.viz.skin import patches

GROUND = "#efece6"
GRID = "#d5d0c6"
LIGHT = np.array([0.35, -0.25, 0.9]) / np.linalg.norm([0.35, -0.25, 0.9])


@dataclass(frozen=True)
class Camera:
    """A direction of view, by azimuth and elevation [degrees]."""

    azimuth: float
    elevation: float

    def project(self, points: Float[np.ndarray, "*k 3"]) -> Float[np.ndarray, "*k 3"]:
        """Return the coordinates of points to the right, upwards and towards the camera [m]."""
        a, e = np.radians([self.azimuth, self.elevation])
        towards = np.array([np.cos(e) * np.cos(a), np.cos(e) * np.sin(a), np.sin(e)])
        right = np.array([-np.sin(a), np.cos(a), 0.0])
        return points @ np.stack([right, np.cross(towards, right), towards], axis=1)


def draw_solids(
    axes: Axes,
    model: Model,
    position: Float[np.ndarray, "nb 3"],
    quaternion: Float[np.ndarray, "nb 4"],
    colours: dict[int, str],
    camera: Camera,
    *,
    alpha: float = 1.0,
    zorder: float,
) -> Float[np.ndarray, "k 3"]:
    """Draw rigid bodies as shaded solids, and flexible ones as patches, at one pose of the model.

    Args:
        axes: axes to draw on.
        model: the model.
        position: centres of mass of its bodies [m].
        quaternion: orientations of its bodies.
        colours: colours by the index of the body; other bodies are left out.
        camera: direction of view.
        alpha: opacity, 1 for opaque.
        zorder: order of drawing; larger ones are drawn over smaller ones.

    Returns:
        The corners of all polygons drawn [m].
    """
    topology = model.topology
    polygons, faces, edges = [], [], []
    for i, kind in enumerate(topology.shapes):
        body = int(topology.shape_body[i])
        in_body = mesh(model, i) if body in colours else None
        if in_body is None:
            continue
        world = in_body @ rotation(quaternion[body]).T + position[body]
        normal = normals(world)
        front = camera.project(normal)[:, 2] > 0
        shade = 0.62 + 0.38 * np.clip(normal[front] @ LIGHT, 0.0, 1.0)
        rgb = shade[:, None] * np.array(to_rgb(colours[body]))
        polygons.append(world[front])
        faces.append(rgb)
        edges.append(rgb * (0.55 if kind in EDGED else 1.0))
    rigid = sum(map(len, polygons))
    world, rgb = patches(model, position, colours)
    if len(world):
        # Patches are visible from both sides.
        normal = normals(world)
        shade = 0.62 + 0.38 * np.abs(normal @ LIGHT)
        polygons.append(world)
        faces.append(shade[:, None] * rgb)
        edges.append(rgb * 0.8)
    if not polygons:
        return np.zeros((0, 3))
    flat = camera.project(np.concatenate(polygons))
    order = np.argsort(flat[:, :, 2].mean(axis=1))
    axes.add_collection(
        PolyCollection(
            list(flat[order, :, :2]),
            facecolors=np.concatenate(faces)[order],
            edgecolors=np.concatenate(edges)[order],
            linewidths=np.where(order < rigid, 0.4, 1.5),
            alpha=alpha,
            zorder=zorder,
        )
    )
    return np.concatenate(polygons).reshape(-1, 3)


def draw_paths(
    axes: Axes, position: Float[np.ndarray, "n nb 3"], colours: dict[int, str], camera: Camera
) -> None:
    """Draw the paths of the bodies' centres of mass.

    Args:
        axes: axes to draw on.
        position: position of each body at n instants [m].
        colours: colours by the index of the body; other bodies are left out.
        camera: direction of view.
    """
    for body, colour in colours.items():
        x, y, _ = camera.project(position[:, body]).T
        axes.plot(x, y, color=colour, linewidth=0.9, alpha=0.6, zorder=3)


def draw_planes(
    axes: Axes,
    model: Model,
    position: Float[np.ndarray, "nb 3"],
    quaternion: Float[np.ndarray, "nb 4"],
    points: Float[np.ndarray, "k 3"],
    camera: Camera,
) -> float | None:
    """Draw a patch with a grid of each plane, around some points, at one pose of the model.

    Args:
        axes: axes to draw on.
        model: the model, with its planes.
        position: centres of mass of its bodies [m].
        quaternion: orientations of its bodies.
        points: points that the patches must contain [m].
        camera: direction of view.

    Returns:
        The pitch of the grid [m], None if there is no plane.
    """
    planes = [i for i, kind in enumerate(model.topology.shapes) if kind == "plane"]
    if not planes:
        return None
    # One for all planes, since the picture names one.
    pitch = _round_length(np.ptp(points, axis=0).max() / 12)
    shapes = model.shapes
    for i in planes:
        body = int(model.topology.shape_body[i])
        turn = rotation(quaternion[body])
        frame = turn @ rotation(np.asarray(shapes.quaternion[i]))
        origin = turn @ np.asarray(shapes.position[i]) + position[body]
        local = (points - origin) @ frame[:, :2]
        low, high = local.min(axis=0), local.max(axis=0)
        low, high = np.floor(low / pitch - 0.5), np.ceil(high / pitch + 0.5)
        x, y = (pitch * np.arange(low[k], high[k] + 1) for k in range(2))
        lines = [[(a, y[0]), (a, y[-1])] for a in x] + [[(x[0], b), (x[-1], b)] for b in y]
        corners = [(x[0], y[0]), (x[-1], y[0]), (x[-1], y[-1]), (x[0], y[-1])]
        grid = camera.project(np.array(lines) @ frame[:, :2].T + origin)
        patch = camera.project(np.array(corners) @ frame[:, :2].T + origin)
        axes.add_collection(PolyCollection([patch[:, :2]], facecolors=GROUND, zorder=0))
        axes.add_collection(
            LineCollection(list(grid[:, :, :2]), colors=GRID, linewidths=0.7, zorder=1)
        )
    return pitch


def _round_length(length: float) -> float:
    """Return the smallest number of the form 1, 2 or 5 times a power of ten that is at least
    ``length``."""
    power = 10.0 ** np.floor(np.log10(max(length, 1e-6)))
    return float(next(step * power for step in (1, 2, 5, 10) if step * power >= length))
