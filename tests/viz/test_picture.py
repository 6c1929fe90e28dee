"""Check pictures: every scene is drawn, nothing falls outside, and unusual input does no harm."""

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.figure import Figure

from jaxccp import ModelBuilder, Plane, Sphere
from jaxccp.io import TrajectoryArrays
from jaxccp.scenes.library import SCENES
from jaxccp.viz import picture
from jaxccp.viz.scene import Camera, draw_planes


def still(name: str, samples: int = 3, copies: int = 0) -> tuple:
    """Return the model of a scene and a recording in which nothing moves.

    Args:
        name: name of the scene.
        samples: number of samples.
        copies: number of copies of a batch; 0 for a single motion.
    """
    model, state = SCENES[name](jax.random.key(0))
    lead = (copies,) if copies else ()

    def repeat(leaf: jax.Array) -> np.ndarray:
        return np.broadcast_to(leaf, (*lead, samples, *leaf.shape)).copy()

    zeros = np.zeros((*lead, samples - 1))
    counts = zeros.astype(int)
    recording = TrajectoryArrays(
        model.topology.bodies,
        np.arange(samples) * 0.1,
        repeat(state.position),
        repeat(state.quaternion),
        repeat(state.velocity),
        repeat(state.angular_velocity),
        repeat(jnp.ones(())),
        counts,
        counts,
        counts,
        zeros > 0,
        zeros + 1e-7,
        zeros + 1e-7,
    )
    return model, recording


@pytest.mark.parametrize("name", sorted(SCENES))
def test_all_bodies_are_in_view(name: str) -> None:
    model, recording = still(name)
    figure = picture(model, recording, "ccp", name)
    scene = figure.axes[0]
    for collection in scene.collections:
        if isinstance(collection, PolyCollection):
            for path in collection.get_paths():
                vertices = np.asarray(path.vertices)
                low, high = vertices.min(axis=0), vertices.max(axis=0)
                assert scene.viewLim.x0 <= low[0] and high[0] <= scene.viewLim.x1
                assert scene.viewLim.y0 <= low[1] and high[1] <= scene.viewLim.y1
    assert [ax.get_title(loc="left") for ax in figure.axes[1:]] == [
        "energy [J]",
        "contacts",
        "residual, ccp [m/s]",
    ]


@pytest.mark.parametrize("copies", [0, 3])
def test_draws_single_samples_and_batches(copies: int) -> None:
    model, recording = still("cube-toss", samples=2, copies=copies)
    gaps = replace(recording, residual_ncp=np.full_like(recording.residual_ncp, np.nan))
    for law in ("ccp", "ncp"):
        picture(model, gaps, law, "cube-toss").canvas.draw()


def test_without_a_residual_there_is_no_panel_for_it() -> None:
    model, recording = still("cube-toss")
    none = replace(recording, residual_ccp=np.zeros_like(recording.residual_ccp))
    panels = picture(model, none, "ccp", "cube-toss").axes[1:]
    assert [ax.get_title(loc="left") for ax in panels] == ["energy [J]", "contacts"]
    assert panels[-1].get_xlabel() == "time [s]"


def test_a_model_that_cannot_move_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without any motion all bodies are shown, with motion capture those that it moves."""
    builder = ModelBuilder()
    builder.add_shape(0, Plane())
    for x in (0.0, 5.0):
        builder.add_shape(builder.add_fixed(position=(x, 0, 1)), Sphere(0.5))
    monkeypatch.setitem(SCENES, "fixed", lambda _: builder.build())
    model, recording = still("fixed")
    picture(model, recording, "ccp", "still").canvas.draw()
    recording.position[1:, 2, 2] += 1.0
    picture(model, recording, "ccp", "captured").canvas.draw()


@pytest.mark.parametrize("counts", [(0, 0), (4, 4), (3, 4), (0, 47)])
@pytest.mark.parametrize("copies", [0, 3])
def test_contacts_tick_whole_numbers(counts: tuple[int, int], copies: int) -> None:
    model, recording = still("cube-toss", copies=copies)
    contacts = np.broadcast_to(counts, recording.contacts.shape)
    figure = picture(model, replace(recording, contacts=contacts), "ccp", "cube-toss")
    figure.canvas.draw()
    panel = figure.axes[2]
    low, high = panel.get_ylim()
    ticks = [tick for tick in panel.get_yticks() if low <= tick <= high]
    assert ticks and all(tick == round(tick) for tick in ticks)


def test_camera_keeps_lengths_and_handedness() -> None:
    axes = Camera(30.0, 20.0).project(np.eye(3))
    np.testing.assert_allclose(axes @ axes.T, np.eye(3), atol=1e-12)
    assert np.linalg.det(axes) == pytest.approx(1.0)
    assert axes[2, 1] > 0 and axes[2, 2] > 0


def test_planes_of_a_picture_have_one_grid() -> None:
    """The grids of the ground and of a narrow wall have the pitch that the picture names."""
    builder = ModelBuilder()
    builder.add_shape(0, Plane())
    builder.add_shape(0, Plane(), position=(-1, 0, 0), quaternion=(0.5**0.5, 0, 0.5**0.5, 0))
    builder.add_solid(Sphere(0.1), 1.0)
    model, state = jax.device_get(builder.build())
    points = np.array([[0, 0, 0], [12, 0.5, 0.1]])
    axes = Figure().add_subplot()
    pitch = draw_planes(axes, model, state.position, state.quaternion, points, Camera(0.0, 90.0))
    assert pitch == 1.0
    ground = next(lines for lines in axes.collections if isinstance(lines, LineCollection))
    starts = np.array([segment[0] for segment in ground.get_segments()])
    gaps = np.linalg.norm(np.diff(starts, axis=0), axis=1)
    assert np.isclose(gaps[0], 1.0)


def test_a_picture_of_another_law_is_refused() -> None:
    with pytest.raises(ValueError, match="law must be one of"):
        picture(*still("incline"), "NCP", "a picture")  # type: ignore[arg-type]
