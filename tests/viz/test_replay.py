"""Check what a viewer draws of a motion, and the page that plays it."""

import re
import shutil
import socket
import threading
import time
import urllib.request
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from jaxccp.model import Box, Capsule, ConvexMesh, Cylinder, Model, Plane, Sphere
from jaxccp.scene import ModelBuilder

pytest.importorskip("viser")

from jaxccp.viz import browser
from jaxccp.viz.browser import html, serve
from jaxccp.viz.replay import Replay, replay

PORT = 18_431
TIMES = np.linspace(0.0, 1.0, 31)
WEDGE = ConvexMesh([(0, 0, 0), (0.3, 0, 0), (0, 0.3, 0), (0, 0, 0.3)])


def scene() -> Model:
    builder = ModelBuilder()
    builder.add_shape(0, Plane())
    orientation = tuple(np.roll(Rotation.from_rotvec([0.2, 0.5, -0.3]).as_quat(), 1))
    for i, shape in enumerate(
        (Box((0.1, 0.2, 0.15)), Sphere(0.2), Capsule(0.1, 0.2), Cylinder(0.1, 0.2), WEDGE)
    ):
        builder.add_solid(shape, 1.0, position=(i, 0, 0.5), quaternion=orientation)
    return builder.build()[0]


def rising() -> Replay:
    """Return a motion in which all bodies rise by 1 m and turn."""
    model = scene()
    count = len(model.topology.bodies)
    position = np.zeros((len(TIMES), count, 3))
    position[:, 1:, 0] = np.arange(count - 1)
    position[:, 1:, 2] = 0.5 + TIMES[:, None]
    orientation = np.roll(Rotation.from_rotvec(TIMES[:, None] * [0, 0, 1]).as_quat(), 1, axis=1)
    quaternion = np.zeros((len(TIMES), count, 4))
    quaternion[..., 0] = 1.0
    quaternion[:, 1:] = orientation[:, None]
    return replay(model, TIMES, position, quaternion)


def test_solids_are_closed_and_turn_outwards() -> None:
    """Solids have the volumes of their shapes, by meshes in which every corner occurs once."""
    shown = rising()
    expected = [8 * 0.003, 4 / 3 * np.pi * 0.008, np.pi * 0.01 * (0.4 / 3 + 0.4)]
    expected += [np.pi * 0.01 * 0.4, 0.3**3 / 6]
    assert len(shown.grounds) == 1 and len(shown.solids) == 5
    for solid, volume in zip(shown.solids, expected, strict=True):
        a, b, c = np.moveaxis(solid.vertices[solid.triangles], 1, 0)
        # The convex mesh hangs from its centre of mass; the divergence theorem does not mind.
        assert 0.93 * volume < np.sum(np.cross(a, b) * c) / 6 <= volume * (1 + 1e-9), solid.name
        assert len(np.unique(np.round(solid.vertices, 9), axis=0)) == len(solid.vertices)


def test_instants_of_a_film() -> None:
    shown = rising()
    np.testing.assert_array_equal(
        shown.indices_at(np.array([-1.0, 0.0, 0.0334, 0.5, 9.0])), [0, 0, 1, 15, 30]
    )


def test_what_cannot_be_drawn_is_refused() -> None:
    model = scene()
    poses = np.zeros((2, 3, 3)), np.zeros((2, 3, 4))
    with pytest.raises(ValueError, match="the model has 6 bodies"):
        replay(model, np.arange(2.0), *poses)
    wrong = np.full((2, 6, 3), np.nan), np.zeros((2, 6, 4))
    with pytest.raises(ValueError, match="NaN or infinite"):
        replay(model, np.arange(2.0), *wrong)
    with pytest.raises(ValueError, match="the times do not rise"):
        replay(model, np.array([0.0, 0.0]), np.zeros((2, 6, 3)), np.zeros((2, 6, 4)))
    with pytest.raises(ValueError, match=r"speed must be above 0, not 0"):
        html(rising(), speed=0.0)


def test_contacts_are_drawn_at_the_end_of_their_step() -> None:
    """A rollout of n steps has n reports; its states with the initial one are one more."""
    model, place = scene(), np.array([[[1.0, 2.0, 3.0]], [[4.0, 5.0, 6.0]]])
    contacts: Any = SimpleNamespace(live=np.ones((2, 1), bool), point=place, force=-place)
    for extra in (0, 1):
        time = np.arange(2.0 + extra)
        poses = np.zeros((len(time), 6, 3)), np.zeros((len(time), 6, 4))
        shown = replay(model, time, *poses, contacts)
        np.testing.assert_array_equal(shown.point[extra:], place)
        np.testing.assert_array_equal(shown.force[extra:], -place)
        assert len(shown.force) == len(time) and not shown.force[:extra].any()
    time = np.arange(4.0)
    with pytest.raises(ValueError, match="contacts of 2 steps, but 4 instants"):
        replay(model, time, np.zeros((4, 6, 3)), np.zeros((4, 6, 4)), contacts)


def test_a_page_needs_nothing_else() -> None:
    text = html(rising())
    assert "__VISER_EMBED_DATA__" in text and 3e5 < len(text) < 5e6
    assert not re.search(r'<(?:script|link|img)[^>]+(?:src|href)="https?:', text)


def test_a_server_hands_out_the_viewer() -> None:
    """The server offers the viewer to this computer only, by the one address that no other
    reaches."""
    threading.Thread(target=serve, args=(rising(), PORT), daemon=True).start()
    for _ in range(100):
        try:
            with urllib.request.urlopen(f"http://localhost:{PORT}", timeout=5) as response:
                assert response.status == 200 and b"<html" in response.read()[:500].lower()
                break
        except OSError:
            time.sleep(0.1)
    else:
        pytest.fail("nobody answers")
    # All of 127.0.0.0/8 is this computer: a server of all its addresses answers there too.
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.2", PORT), timeout=5)


class Clock:
    """A slider that ends the program when it is set back."""

    def __init__(self, _: str, low: float, high: float, step: float, value: float) -> None:
        self.range, self.step, self.values = (low, high), step, [value]

    @property
    def value(self) -> float:
        return self.values[-1]

    @value.setter
    def value(self, value: float) -> None:
        self.values.append(value)
        if value <= self.values[-2]:
            raise KeyboardInterrupt


def test_the_clock_runs_over_the_times_of_the_motion(monkeypatch: pytest.MonkeyPatch) -> None:
    """The viewer's clock begins at the first instant, and begins anew after the last one."""
    made, server = [], MagicMock()
    server.gui.add_slider = lambda *how: made.append(Clock(*how)) or made[0]
    server.gui.add_checkbox = lambda _, value: SimpleNamespace(value=value)
    server.gui.add_dropdown = lambda *_, initial_value: SimpleNamespace(value=initial_value)
    monkeypatch.setattr(browser.viser, "ViserServer", lambda **_: server)
    with pytest.raises(KeyboardInterrupt):
        serve(replace(rising(), time=100.0 + 0.1 * TIMES), PORT)
    (clock,) = made
    np.testing.assert_allclose((*clock.range, clock.step), (100.0, 100.1, 1e-4), rtol=1e-9)
    assert clock.values[0] == clock.values[-1] == 100.0
    assert len(clock.values) > 2 and max(clock.values) <= 100.1


@pytest.mark.slow
def test_a_browser_shows_it(tmp_path: Path) -> None:
    """The film plays in a browser: two pictures, some time apart, differ and have the colours of
    bodies."""
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("there is no chromium")
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    image = pytest.importorskip("imageio.v3")
    page_file = tmp_path / "rising.html"
    page_file.write_text(html(rising()))
    flags = ["--no-sandbox", "--use-angle=swiftshader", "--enable-unsafe-swiftshader"]
    pictures = []
    with playwright.sync_playwright() as api:
        shown = api.chromium.launch(executable_path=browser, args=flags)
        page = shown.new_page(viewport={"width": 600, "height": 400})
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(page_file.as_uri())
        # Without a GPU a picture takes seconds, on a busy machine many.
        for _ in range(20):
            page.wait_for_timeout(3000)
            picture = image.imread(page.screenshot(timeout=120_000))[..., :3].astype(float)
            # Between a message of viser's about slow drawing and the time line at the bottom.
            picture = picture[190:350]
            if (np.ptp(picture, axis=2) > 60).mean() > 0.003:
                pictures.append(picture)
            if len(pictures) > 1 and np.abs(pictures[0] - pictures[-1]).max() > 60:
                break
        else:
            pytest.fail("no body is seen, or none moves")
        shown.close()
    assert not [url for url in asked if url.startswith("http")]
