"""Check frames and films of a motion."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import numpy as np
import pytest
from PIL import Image

from jaxccp.io import InputError
from jaxccp.model import Model, Plane, Sphere
from jaxccp.scene import ModelBuilder
from jaxccp.viz import Stage, write_film
from jaxccp.viz.palette import PALETTE

RADIUS = 0.1


def ball(*place: float) -> tuple[Model, Any]:
    builder = ModelBuilder(gravity=(0, 0, -9.81))
    builder.add_solid(Sphere(RADIUS), 1.0, position=place, name="ball")
    return jax.device_get(builder.build())


def coloured(frame: np.ndarray) -> np.ndarray:
    """Return rows and columns of the pixels in the ball's colour: red above all."""
    red, green, _ = np.moveaxis(frame.astype(int), -1, 0)
    return np.argwhere(red - green > 40)


def test_the_camera_shows_a_ball_as_large_as_it_is() -> None:
    model, state = ball(1.0, 2.0, 3.0)
    stage = Stage(model, np.array([1.0, 2.0, 3.0]), reach=4 * RADIUS)
    pixels = coloured(stage.frame(state.position, state.quaternion))
    np.testing.assert_allclose(np.ptp(pixels, axis=0), 360 / 4, atol=4)
    np.testing.assert_allclose(pixels.mean(axis=0), [180, 240], atol=2)
    assert PALETTE[0] == "#d1603d"


def assert_in_frame(stage: Stage, positions: np.ndarray, quaternions: np.ndarray) -> None:
    """Check that the whole ball is seen at all instants.

    Args:
        stage: the view.
        positions: centres of mass of the bodies [m].
        quaternions: orientations of the bodies.
    """
    for p, q in zip(positions, quaternions, strict=True):
        pixels = coloured(stage.frame(p, q))
        assert len(pixels) > 20 and pixels.min() > 0
        assert pixels[:, 0].max() < 359 and pixels[:, 1].max() < 479


def test_the_camera_goes_along() -> None:
    """The camera follows a body to the sides, not up; all of a motion is in the frame, with a body
    to follow or without."""
    model, state = ball(0.0, 0.0, 0.0)
    positions = np.zeros((3, 2, 3))
    positions[1, 1], positions[2, 1] = (5.0, 3.0, 0.0), (5.0, 3.0, 3.0)
    quaternions = np.tile(state.quaternion, (3, 1, 1))
    stage = Stage.around(model, positions, quaternions, follow=1)
    places = [
        coloured(stage.frame(p, q)).mean(axis=0)
        for p, q in zip(positions, quaternions, strict=True)
    ]
    np.testing.assert_allclose(places[0], places[1], atol=1)
    assert places[2][0] < places[1][0] - 20 and abs(places[2][1] - places[1][1]) < 1
    assert_in_frame(stage, positions, quaternions)
    assert_in_frame(Stage.around(model, positions, quaternions), positions, quaternions)


def test_a_body_of_motion_capture_is_in_the_frame() -> None:
    """A fixed body that moves in a motion counts, one that stays does not."""
    builder = ModelBuilder()
    for name in ("hand", "wall"):
        builder.add_shape(builder.add_fixed(name=name), Sphere(RADIUS))
    model, state = jax.device_get(builder.build())
    positions = np.tile(state.position, (2, 1, 1))
    positions[:, 2] = 9.0
    positions[1, 1] = 1.0, 2.0, 3.0
    stage = Stage.around(model, positions, np.tile(state.quaternion, (2, 1, 1)))
    np.testing.assert_allclose(stage.centre, [0.5, 1.0, 1.5])
    still = Stage.around(model, state.position, state.quaternion)
    assert still.reach > RADIUS


QUARTER = (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)
"""Orientation by a quarter turn about y: z points along x."""


def view_of_a_plane(shape: dict, body: dict, raised: float = 0.0) -> np.ndarray:
    """Return a frame of a plane on a fixed body.

    Args:
        shape: pose of the plane on the body.
        body: pose of the body.
        raised: height by which the body is moved after the model is built [m].
    """
    builder = ModelBuilder()
    builder.add_shape(builder.add_fixed(**body), Plane(), **shape)
    model, state = jax.device_get(builder.build())
    position = state.position + np.array([[0, 0, 0], [0, 0, raised]])
    return Stage(model, np.array([0, 0, 1.0]), 0.5).frame(position, state.quaternion)


def test_a_plane_is_where_its_body_is() -> None:
    """A plane is drawn at the place in the world that its pose on the body and the body's give, of
    a body that is moved later too."""
    above, upright = {"position": (0, 0, 1.0)}, {"quaternion": QUARTER}
    level = view_of_a_plane(above, {})
    np.testing.assert_array_equal(view_of_a_plane({}, above), level)
    np.testing.assert_array_equal(view_of_a_plane({}, {}, raised=1.0), level)
    assert (view_of_a_plane({}, {}) != level).any()
    # The turned body's x axis points down.
    wall = view_of_a_plane({"position": (-1.0, 0, 0)}, upright)
    np.testing.assert_array_equal(wall, view_of_a_plane(above | upright, {}))
    assert (wall != level).any()


def test_a_gif_plays_the_motion(tmp_path: Path) -> None:
    model, state = ball(0.0, 0.0, 0.0)
    poses = [(np.array([np.zeros(3), [0.1 * i, 0, 0]]), state.quaternion) for i in range(3)]
    stage = Stage(model, np.zeros(3), 0.5)
    file = tmp_path / "ball.gif"
    write_film(file, stage, poses, rate=20)
    with Image.open(file) as film:
        assert film.n_frames == 3 and film.size == (480, 360)  # pyright: ignore
        assert film.info["duration"] == 50
        columns = []
        for i in range(3):
            film.seek(i)
            columns.append(coloured(np.asarray(film.convert("RGB")))[:, 1].mean())
    assert columns[0] < columns[1] - 10 < columns[2] - 20


def test_rates_that_a_gif_does_not_have_are_refused(tmp_path: Path) -> None:
    model, _ = ball(0.0, 0.0, 0.0)
    for rate, other in ((3, 4), (15, 20), (30, 25), (60, 50), (100, 50), (125, 50)):
        with pytest.raises(ValueError, match=rf"give rate={other} instead of {rate}, or write"):
            write_film(tmp_path / "a.gif", Stage(model, np.zeros(3), 0.5), [], rate)


def test_a_film_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    model, state = ball(0.0, 0.0, 0.0)
    stage, file = Stage(model, np.zeros(3), 0.5), tmp_path / "new" / "ball.gif"
    pose = state.position, state.quaternion

    def poses(count: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        for _ in range(count):
            yield pose
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_film(file, stage, poses(2))
    assert list(file.parent.iterdir()) == []
    write_film(file, stage, [pose])
    complete = file.read_bytes()
    with pytest.raises(KeyboardInterrupt):
        write_film(file, stage, poses(1))
    assert list(file.parent.iterdir()) == [file] and file.read_bytes() == complete
    with pytest.raises(InputError, match=r"cannot be written .*name another folder"):
        write_film(file / "below.gif", stage, [pose])


def test_a_film_of_another_kind_is_refused(tmp_path: Path) -> None:
    model, _ = ball(0.0, 0.0, 0.0)
    with pytest.raises(ValueError, match=r"ends in \.gif or \.mp4"):
        write_film(tmp_path / "a.avi", Stage(model, np.zeros(3), 0.5), [])


def test_a_film_says_what_is_wrong_with_its_first_pose(tmp_path: Path) -> None:
    """A film without poses is refused, and an error of the first pose is not hidden."""
    model, _ = ball(0.0, 0.0, 0.0)
    stage, file = Stage(model, np.zeros(3), 0.5), tmp_path / "ball.gif"

    def interrupted() -> Iterator[tuple[np.ndarray, np.ndarray]]:
        raise KeyboardInterrupt
        yield

    with pytest.raises(ValueError, match=r"ball\.gif: there is no pose to draw"):
        write_film(file, stage, [])
    with pytest.raises(KeyboardInterrupt):
        write_film(file, stage, interrupted())


def test_a_wall_fills_the_height_of_a_frame() -> None:
    """A wall across the view is seen at the top and at the bottom of a frame."""
    across = {"quaternion": (np.sqrt(0.5), -np.sqrt(0.5), 0.0, 0.0)}
    wall = view_of_a_plane({}, across)
    assert (wall[[2, -3]] != 255).any(axis=-1).mean() > 0.5


def test_the_camera_goes_along_arrays_of_jax() -> None:
    model, state = ball(0.0, 0.0, 0.0)
    positions = np.zeros((3, 2, 3))
    positions[:, 1, 0] = 0.0, 1.0, 2.0
    quaternions = np.broadcast_to(state.quaternion, (3, 2, 4))
    arrays: Any = jax.numpy.asarray(positions), jax.numpy.asarray(quaternions)
    stage = Stage.around(model, *arrays, follow=1)
    same = Stage.around(model, positions, quaternions, follow=1)
    assert stage.reach == same.reach
    np.testing.assert_array_equal(stage.centre, same.centre)
