"""A motion as frames: arrays of pixels, and files of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Float, UInt8
from matplotlib.animation import FFMpegWriter, PillowWriter, writers
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from jaxccp.model import Model
from jaxccp.viz.mesh import polygons, rotation
from jaxccp.viz.palette import FIXED
from jaxccp.viz.scene import Camera, draw_planes, draw_solids
from jaxccp.viz.skin import shades

FILMS = (".gif", ".mp4")
DPI = 100
VIEW = Camera(-60.0, 20.0)
Frame = UInt8[np.ndarray, "height width 3"]


@dataclass(frozen=True)
class Stage:
    """A stage says where the camera stands: it looks at a place, or goes along with a body."""

    model: Model
    centre: Float[np.ndarray, "3"]
    """What is in the middle of a frame [m]; of a body that is followed the height alone."""
    reach: float
    """Half the height of a frame [m]."""
    follow: int | None = None
    """Index of a body."""
    camera: Camera = VIEW
    width: int = 480
    """In pixels; even, as video has it."""
    height: int = 360

    @staticmethod
    def around(
        model: Model,
        position: Float[np.ndarray, "*n nb 3"],
        quaternion: Float[np.ndarray, "*n nb 4"],
        follow: int | None = None,
    ) -> "Stage":
        """Choose the stage for a motion: all that moves stays in the frame, or all that is near the
        body that is followed."""
        spot = np.zeros(3) if follow is None else position[..., follow : follow + 1, :]
        seen = _corners(model, position - spot, quaternion)
        centre = 0.5 * (seen.min(axis=0) + seen.max(axis=0))
        if follow is not None:
            centre[:2] = 0.0
        across = float(np.linalg.norm(seen - centre, axis=1).max())
        if follow is not None:
            centre = centre + position[..., follow, :].reshape(-1, 3).mean(axis=0)
        return Stage(model, centre, max(1.05 * across, 1e-3), follow)

    @cached_property
    def _colours(self) -> dict[int, str]:
        return dict.fromkeys(range(len(self.model.topology.bodies)), FIXED) | shades(self.model)

    def frame(
        self, position: Float[np.ndarray, "nb 3"], quaternion: Float[np.ndarray, "nb 4"]
    ) -> Frame:
        """The bodies at one instant."""
        figure = Figure(figsize=(self.width / DPI, self.height / DPI), dpi=DPI)
        canvas = FigureCanvasAgg(figure)
        self.draw(figure, np.asarray(position, float), np.asarray(quaternion, float))
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[..., :3].copy()

    def draw(self, figure: Figure, position: np.ndarray, quaternion: np.ndarray) -> None:
        """Draw on a figure of this size, in place of what is on it."""
        figure.clear()
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        centre = self.centre.copy()
        if self.follow is not None:
            centre[:2] = position[self.follow, :2]
        wide = self.reach * self.width / self.height
        # As far as the camera sees the ground, or nearly.
        far = 3.0 * max(wide, self.reach)
        rim = np.array([[x, y, 0.0] for x in (-far, far) for y in (-far, far)])
        draw_planes(axes, self.model, centre + rim, self.camera)
        draw_solids(axes, self.model, position, quaternion, self._colours, self.camera, zorder=2)
        x, y, _ = self.camera.project(centre)
        axes.set(xlim=(x - wide, x + wide), ylim=(y - self.reach, y + self.reach))
        axes.set_axis_off()


def check_film(file: Path) -> None:
    """Raise ``ValueError`` unless :func:`write_film` can write a file of that name."""
    kind = file.suffix.lower()
    if kind not in FILMS:
        raise ValueError(f"{file}: a film ends in {' or '.join(FILMS)}, not {kind!r}")
    if kind == ".mp4" and not writers.is_available("ffmpeg"):
        raise ValueError(f"{file}: .mp4 needs the program ffmpeg: install it, or write a .gif")


def write_film(
    file: Path,
    stage: Stage,
    poses: Iterable[tuple[Float[np.ndarray, "nb 3"], Float[np.ndarray, "nb 4"]]],
    rate: int = 25,
) -> None:
    """A file that plays a motion: ``.gif``, or ``.mp4``, which needs the program ffmpeg.

    Args:
        file: to be written.
        stage: where the camera stands.
        poses: positions [m] and orientations of all bodies at each instant.
        rate: of the frames [1/s].

    Raises:
        ValueError: for another ending of the file's name, or where there is no ffmpeg.
    """
    check_film(file)
    figure = Figure(figsize=(stage.width / DPI, stage.height / DPI), dpi=DPI)
    FigureCanvasAgg(figure)
    writer = (PillowWriter if file.suffix.lower() == ".gif" else FFMpegWriter)(fps=rate)
    with writer.saving(figure, str(file), DPI):
        for position, quaternion in poses:
            stage.draw(figure, np.asarray(position, float), np.asarray(quaternion, float))
            writer.grab_frame()


def _corners(
    model: Model, position: Float[np.ndarray, "*n nb 3"], quaternion: Float[np.ndarray, "*n nb 4"]
) -> Float[np.ndarray, "k 3"]:
    """Boxes around the shapes of bodies that move, in all poses; the bodies' places where there are
    none [m]."""
    shapes, topology = model.shapes, model.topology
    moves = np.asarray(topology.moves)
    found = [position[..., moves, :].reshape(-1, 3)]
    for i, body in enumerate(topology.shape_body):
        local = polygons(model, i) if moves[body] else None
        if local is None:
            continue
        in_body = local.reshape(-1, 3) @ rotation(np.asarray(shapes.quaternion[i])).T
        in_body = in_body + np.asarray(shapes.position[i])
        low, high = in_body.min(axis=0), in_body.max(axis=0)
        box = np.array(
            [
                [x, y, z]
                for x in (low[0], high[0])
                for y in (low[1], high[1])
                for z in (low[2], high[2])
            ]
        )
        turned = np.einsum("...ij,kj->...ki", rotation(quaternion[..., body, :]), box)
        found.append((turned + position[..., body, None, :]).reshape(-1, 3))
    return np.concatenate(found)
