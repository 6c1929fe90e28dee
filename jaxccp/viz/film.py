"""Films of a motion: frames as arrays of pixels, and files."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import IO

import numpy as np
from jaxtyping import Bool, Float, UInt8
from matplotlib.animation import FFMpegWriter, PillowWriter, writers
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import ArrayLike

from jaxccp.io import write_file
from jaxccp.model import Model
from jaxccp.viz.mesh import polygons, rotation
from jaxccp.viz.replay import moving_bodies
from jaxccp.viz.scene import Camera, draw_planes, draw_solids
from jaxccp.viz.skin import body_colours

FILMS = (".gif", ".mp4")
GIF_RATES = (50, 25, 20, 10, 5, 4, 2, 1)
"""Frames per second of a ``.gif`` [1/s]: a frame lasts whole hundredths of a second there, and
browsers slow down frames of a single one."""
DPI = 100
VIEW = Camera(-60.0, 20.0)
Frame = UInt8[np.ndarray, "height width 3"]


@dataclass(frozen=True)
class Stage:
    """The view of a film: a camera at a fixed place, or one that follows a body."""

    model: Model
    """The model that is drawn."""
    centre: Float[np.ndarray, "3"]
    """Point in the middle of a frame [m]; if a body is followed, only its height is used."""
    reach: float
    """Half the height of a frame [m]."""
    follow: int | None = None
    """Index of the body that the camera follows; None: the camera does not move."""
    camera: Camera = VIEW
    """Direction of view."""
    width: int = 480
    """Width of a frame in pixels; video needs an even number."""
    height: int = 360
    """Height of a frame in pixels; video needs an even number."""

    @staticmethod
    def around(
        model: Model,
        position: Float[np.ndarray, "*n nb 3"],
        quaternion: Float[np.ndarray, "*n nb 4"],
        follow: int | None = None,
    ) -> "Stage":
        """Return a view in which everything that moves stays inside the frames.

        Args:
            model: the model that moves.
            position: centres of mass of its bodies at all instants [m].
            quaternion: orientations of its bodies at all instants.
            follow: index of the body that the camera follows; None: the camera does not move.
        """
        position, quaternion = _as_numpy((position, quaternion))
        moving = moving_bodies(model, position, quaternion)
        if follow is not None:  # to the sides, not up
            position = position - position[..., follow : follow + 1, :] * [1.0, 1.0, 0.0]
        corners = _corners(model, moving, position, quaternion)
        centre = 0.5 * (corners.min(axis=0) + corners.max(axis=0))
        if follow is not None:
            centre[:2] = 0.0
        across = float(np.linalg.norm(corners - centre, axis=1).max())
        return Stage(model, centre, max(1.05 * across, 1e-3), follow)

    @cached_property
    def _colours(self) -> dict[int, str]:
        return dict(enumerate(body_colours(self.model)))

    def frame(
        self, position: Float[np.ndarray, "nb 3"], quaternion: Float[np.ndarray, "nb 4"]
    ) -> Frame:
        """Return a picture of the bodies at one instant."""
        figure = Figure(figsize=(self.width / DPI, self.height / DPI), dpi=DPI)
        canvas = FigureCanvasAgg(figure)
        self.draw(figure, *_as_numpy((position, quaternion)))
        canvas.draw()
        return np.asarray(canvas.buffer_rgba())[..., :3].copy()

    def draw(self, figure: Figure, position: np.ndarray, quaternion: np.ndarray) -> None:
        """Draw the bodies on a figure; its previous contents are removed.

        Args:
            figure: a figure of the size of a frame.
            position: centres of mass of the bodies [m], (nb, 3).
            quaternion: orientations of the bodies, (nb, 4).
        """
        figure.clear()
        axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
        centre = self.centre.copy()
        if self.follow is not None:
            centre[:2] = position[self.follow, :2]
        wide = self.reach * self.width / self.height
        # About the part of the ground that the camera sees.
        extent = 3.0 * max(wide, self.reach)
        rim = np.array(list(product((-extent, extent), repeat=3)))
        pose = position, quaternion
        draw_planes(axes, self.model, *pose, centre + rim, self.camera)
        draw_solids(axes, self.model, *pose, self._colours, self.camera, zorder=2)
        x, y, _ = self.camera.project(centre)
        axes.set(xlim=(x - wide, x + wide), ylim=(y - self.reach, y + self.reach))
        axes.set_axis_off()


def check_film(file: Path) -> None:
    """Check that :func:`write_film` can write a file of this name.

    Args:
        file: the file.

    Raises:
        ValueError: the name has another suffix, or the program ffmpeg is missing.
    """
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
    """Write a film of a motion as ``.gif``, or as ``.mp4``, which needs the program ffmpeg.

    Args:
        file: the file to write; it appears when it is complete, in a folder that is made.
        stage: the view.
        poses: positions [m] and orientations of all bodies at each instant.
        rate: frames per second [1/s]; for ``.gif`` one of :data:`GIF_RATES`.

    Raises:
        ValueError: the name has another suffix, the program ffmpeg is missing, the format does not
            have the rate, or there are no poses.
        InputError: the folder cannot be made or written to.
    """
    check_film(file)
    gif = file.suffix.lower() == ".gif"
    if gif and rate not in GIF_RATES:
        nearest = min(GIF_RATES, key=lambda other: abs(other - rate))
        raise ValueError(
            f"{file}: frames of a .gif last whole hundredths of a second, two or more: give "
            f"rate={nearest} instead of {rate}, or write an .mp4"
        )
    figure = Figure(figsize=(stage.width / DPI, stage.height / DPI), dpi=DPI)
    FigureCanvasAgg(figure)
    rest = iter(poses)
    first = next(rest, None)
    if first is None:
        raise ValueError(f"{file}: there is no pose to draw: give at least one")
    # Drawn before the writer begins: without a frame it would fail and hide why.
    stage.draw(figure, *_as_numpy(first))
    writer = (PillowWriter if gif else FFMpegWriter)(fps=rate)

    def write(out: IO[bytes]) -> None:
        # ffmpeg takes the name of a file, and from its suffix what to make.
        with TemporaryDirectory() as folder:
            made = Path(folder) / f"film{file.suffix.lower()}"
            with writer.saving(figure, str(made), DPI):
                writer.grab_frame()
                for pose in rest:
                    stage.draw(figure, *_as_numpy(pose))
                    writer.grab_frame()
            with made.open("rb") as film:
                copyfileobj(film, out)

    write_file(file, write)


def _as_numpy(pose: tuple[ArrayLike, ArrayLike]) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions and orientations of a pose as NumPy arrays."""
    position, quaternion = pose
    return np.asarray(position, float), np.asarray(quaternion, float)


def _corners(
    model: Model,
    moving: Bool[np.ndarray, " nb"],
    position: Float[np.ndarray, "*n nb 3"],
    quaternion: Float[np.ndarray, "*n nb 4"],
) -> Float[np.ndarray, "k 3"]:
    """Return the corners of boxes around the shapes of moving bodies in all poses [m], and the
    bodies' centres of mass [m]."""
    topology = model.topology
    corners = [position[..., moving, :].reshape(-1, 3)]
    for i, body in enumerate(topology.shape_body):
        in_body = polygons(model, i) if moving[body] else None
        if in_body is None:
            continue
        low, high = in_body.min(axis=(0, 1)), in_body.max(axis=(0, 1))
        box = np.array(
            [
                [x, y, z]
                for x in (low[0], high[0])
                for y in (low[1], high[1])
                for z in (low[2], high[2])
            ]
        )
        rotated = np.einsum("...ij,kj->...ki", rotation(quaternion[..., body, :]), box)
        corners.append((rotated + position[..., body, None, :]).reshape(-1, 3))
    return np.concatenate(corners)
