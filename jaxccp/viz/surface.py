"""Flexible bodies in the browser: their patches as meshes of viser's, coloured by their stretch.

A mesh of viser's has one colour. So there is a mesh of each of a few shades: all have the same
vertices, of which a recording keeps one copy, and each has the triangles that have its shade at the
instant. Patches that are lines are segments, which have colours of their own.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import viser
from jaxtyping import Float, Int

from jaxccp.viz.replay import Replay
from jaxccp.viz.skin import MIN_STRETCH, STRETCHED, Skin

SHADES = 15
LINE = 0.006
"""Thickness of lines, relative to the size of the scene."""
COVERED = 0.95
"""Quantile of the stretch, over all patches and instants, for which the darkest colours are
used."""
HALVES = np.array([[0, 1, 2], [0, 2, 3]])


@dataclass
class Surface:
    """The patches of all flexible bodies of a scene."""

    lines: Any
    """Line segments of viser; None if there are no lines."""
    meshes: list[Any]
    """Mesh of each shade of colour; empty if there are only lines."""
    ends: Int[np.ndarray, "l 2"]
    """Bodies at the ends of each line."""
    nodes: Int[np.ndarray, " v"]
    """Bodies at the vertices of the meshes."""
    triangles: Int[np.ndarray, "t 3"]
    """Vertices of each triangle; a triangle is half of a quadrilateral patch."""
    patch: Int[np.ndarray, " t"]
    """Index of the patch of each triangle."""
    line: Int[np.ndarray, " l"]
    """Indices of the patches that are lines."""
    skin: Skin
    """Patches of all flexible bodies."""
    largest: float
    """Stretch for which the darkest colours are used."""

    def show(self, position: Float[np.ndarray, "nb 3"]) -> None:
        """Move the patches with the bodies, and colour them by their stretch."""
        stretch = self.skin.stretch(position) / self.largest
        part = 0.5 + 0.5 * np.clip(stretch, -1.0, 1.0)
        if self.lines is not None:
            colour = np.round(255 * STRETCHED(part[self.line])[:, None, :3])
            self.lines.points = position[self.ends]
            self.lines.colors = np.repeat(colour, 2, axis=1).astype(np.uint8)
        shade = np.round(part[self.patch] * (SHADES - 1))
        for index, mesh in enumerate(self.meshes):
            faces = self.triangles[shade == index]
            mesh.visible = bool(len(faces))
            if len(faces):
                mesh.vertices = position[self.nodes]
                mesh.faces = faces


def surface(scene: viser.SceneApi, replay: Replay, size: float) -> Surface | None:
    """Add the patches of a motion to a scene.

    Args:
        scene: scene of viser to which the patches are added.
        replay: the motion.
        size: size of the scene [m].

    Returns:
        The patches; None if there are none.
    """
    corners = replay.skin.corners
    if not len(corners):
        return None
    linear = (corners[:, 0] == corners[:, 3]) & (corners[:, 1] == corners[:, 2])
    line, flat = np.flatnonzero(linear), np.flatnonzero(~linear)
    ends = corners[line, :2]
    nodes, vertex = np.unique(corners[flat], return_inverse=True)
    triangles = vertex.reshape(-1, 4)[:, HALVES].reshape(-1, 3)
    # The second half of a triangle has no area.
    kept = triangles[:, 1] != triangles[:, 2]
    triangles, patch = triangles[kept], np.repeat(flat, 2)[kept]
    lines = None
    if len(line):
        points = replay.position[0][ends]
        black = np.zeros(points.shape, np.uint8)
        lines = scene.add_line_segments("/flexible/lines", points, black, thickness=LINE * size)
    meshes = [
        scene.add_mesh_simple(
            f"/flexible/{index:02d}",
            replay.position[0][nodes],
            triangles,
            color=STRETCHED(index / (SHADES - 1))[:3],
            flat_shading=True,
            # Patches are visible from both sides.
            side="double",
        )
        for index in range(SHADES if len(flat) else 0)
    ]
    # With the maximum, a short impact would leave all other instants without colour.
    stretch = [np.abs(replay.skin.stretch(position)) for position in replay.position]
    largest = max(float(np.quantile(stretch, COVERED)), MIN_STRETCH)
    return Surface(
        lines=lines,
        meshes=meshes,
        ends=ends,
        nodes=nodes,
        triangles=triangles,
        patch=patch,
        line=line,
        skin=replay.skin,
        largest=largest,
    )
