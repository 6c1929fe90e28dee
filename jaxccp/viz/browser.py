"""Replays in the browser with viser: live, or as one self-contained file."""

import io
import time
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any

import numpy as np
import viser
from matplotlib.colors import to_rgb

from jaxccp.viz.replay import Replay
from jaxccp.viz.surface import Surface, surface

LOOPBACK = "127.0.0.1"
"""Address that only programs on this computer can reach."""
RATE = 30.0
"""Pictures per second [1/s]."""
FORCE = 0.35
"""Length of the arrow of a force equal to the weight of all bodies, relative to the size of the
scene."""
ARROWS = (200, 60, 40)
HEAD = 0.02
"""Length of an arrow's head, relative to the size of the scene; shorter arrows are not drawn."""
SPEEDS = ("0.1", "0.25", "0.5", "1", "2")
NOBODY = "nobody"


@dataclass
class _Stage:
    """A viser scene that shows one instant of a motion."""

    replay: Replay
    frames: dict[int, Any]
    arrows: Any
    surface: Surface | None
    size: float

    def show(self, index: int, forces: bool = True) -> None:
        """Move all bodies to their poses at an instant, and show the arrows of forces if
        ``forces``."""
        replay = self.replay
        for body, frame in self.frames.items():
            frame.position = replay.position[index, body]
            frame.wxyz = replay.quaternion[index, body]
        if self.surface is not None:
            self.surface.show(replay.position[index])
        if self.arrows is not None:
            points = _arrows(replay, index, self.size)
            self.arrows.visible = forces and bool(len(points))
            if len(points):
                self.arrows.points = points


def html(replay: Replay, speed: float = 1.0) -> str:
    """Return an HTML page that plays a motion in a browser, without a network.

    Args:
        replay: the motion.
        speed: ratio of the motion's time to the time of the viewer, above 0.

    Raises:
        ValueError: the speed is not above 0.
    """
    if not speed > 0:
        raise ValueError(f"speed must be above 0, not {speed!r}")
    with redirect_stdout(io.StringIO()):  # viser tells of a server that nobody is to visit
        server = viser.ViserServer(host=LOOPBACK, port=0, verbose=False)
        try:
            stage = _stage(server, replay)
            recorder = server.get_scene_serializer()
            for index in _pictures(replay, speed):
                stage.show(int(index))
                recorder.insert_sleep(1.0 / RATE)
            return recorder.as_html()
        finally:
            server.stop()


def serve(replay: Replay, port: int, follow: str | None = None, host: str = LOOPBACK) -> None:
    """Show a motion at http://localhost:``port`` until interrupted.

    The page has a time line, the speed, the body that the camera follows, and arrows of contact
    forces that can be switched off.

    Args:
        replay: the motion.
        port: number of the port.
        follow: name of the body that the camera follows at first.
        host: address to listen on. Everyone who can reach it can see and control the motion: by
            default programs on this computer, with ``"0.0.0.0"`` everybody on the network.
    """
    server = viser.ViserServer(host=host, port=port, label="jaxccp")
    stage = _stage(server, replay)
    first, last = float(replay.time[0]), float(replay.time[-1])
    span = max(last - first, 1e-6)
    playing = server.gui.add_checkbox("play", True)
    clock = server.gui.add_slider("time [s]", first, first + span, span / 1000, first)
    speed = server.gui.add_dropdown("speed", SPEEDS, initial_value="1")
    movers = [name for name, movable in zip(replay.bodies, replay.movable, strict=True) if movable]
    followed = server.gui.add_dropdown("follow", (NOBODY, *movers), initial_value=follow or NOBODY)
    forces = server.gui.add_checkbox("contact forces", stage.arrows is not None)
    before, last_index, arrows_shown = time.perf_counter(), None, True
    while True:
        instant = time.perf_counter()
        if playing.value:
            later = clock.value + (instant - before) * float(speed.value)
            clock.value = later if later <= last else first
        before = instant
        index = int(replay.indices_at(np.array([clock.value]))[0])
        if index != last_index or forces.value != arrows_shown:
            stage.show(index, forces.value)
            arrows_shown = forces.value
        if followed.value != NOBODY and last_index is not None:
            body = replay.bodies.index(followed.value)
            _shift(server, replay.position[index, body] - replay.position[last_index, body])
        last_index = index
        time.sleep(1.0 / RATE)


def _stage(server: viser.ViserServer, replay: Replay) -> _Stage:
    scene = server.scene
    scene.set_up_direction("+z")
    scene.world_axes.visible = False
    scene.configure_default_lights(enabled=True, cast_shadow=True)
    centre, size = _extent(replay)
    server.initial_camera.look_at = centre
    server.initial_camera.position = centre + size * np.array([0.45, -0.7, 0.35])
    drawn = {part.body for part in (*replay.solids, *replay.grounds)}
    frames = {
        body: scene.add_frame(_place(replay, body), show_axes=False) for body in sorted(drawn)
    }
    for solid in replay.solids:
        scene.add_mesh_simple(
            f"{_place(replay, solid.body)}/{solid.name}",
            solid.vertices,
            solid.triangles,
            color=to_rgb(replay.colours[solid.body]),
            flat_shading=solid.sharp,
        )
    cell = 10.0 ** np.floor(np.log10(size))
    for ground in replay.grounds:
        scene.add_grid(
            f"{_place(replay, ground.body)}/{ground.name}",
            infinite_grid=True,
            cell_size=cell / 5,
            section_size=cell,
            fade_distance=20 * size,
            plane_color=(239, 236, 230),
            plane_opacity=1.0,
            shadow_opacity=0.3,
            position=ground.position,
            wxyz=ground.quaternion,
        )
    arrows = None
    if replay.force.shape[1]:
        arrows = scene.add_arrows(
            "/contact forces",
            np.zeros((1, 2, 3)),
            ARROWS,
            shaft_radius=HEAD / 5 * size,
            head_radius=HEAD / 2 * size,
            head_length=HEAD * size,
            visible=False,
        )
    stage = _Stage(replay, frames, arrows, surface(scene, replay, size), size)
    stage.show(0)
    return stage


def _place(replay: Replay, body: int) -> str:
    return f"/bodies/{body:03d}-{replay.bodies[body].replace('/', '-')}"


def _extent(replay: Replay) -> tuple[np.ndarray, float]:
    """Return the centre and the length of the diagonal of a box around all moving bodies at all
    instants [m]."""
    reach = np.zeros(len(replay.bodies))
    for solid in replay.solids:
        radius = float(np.linalg.norm(solid.vertices, axis=1).max())
        reach[solid.body] = max(reach[solid.body], radius)
    low = (replay.position - reach[:, None])[:, replay.movable].min(axis=(0, 1))
    high = (replay.position + reach[:, None])[:, replay.movable].max(axis=(0, 1))
    return 0.5 * (low + high), max(float(np.linalg.norm(high - low)), 1e-3)


def _pictures(replay: Replay, speed: float) -> np.ndarray:
    """Return the indices of the instants shown in a film with :data:`RATE` pictures per second."""
    step = speed / RATE
    span = replay.time[-1] - replay.time[0]
    return replay.indices_at(replay.time[0] + step * np.arange(int(span / step) + 1))


def _arrows(replay: Replay, index: int, size: float) -> np.ndarray:
    """Return start and end of the arrow of each force that is large enough to be drawn [k 2 3]."""
    arrow = FORCE * size / replay.weight * replay.force[index]
    long = np.linalg.norm(arrow, axis=1) > HEAD * size
    point = replay.point[index][long]
    return np.stack([point, point + arrow[long]], axis=1)


def _shift(server: viser.ViserServer, displacement: np.ndarray) -> None:
    """Move every client's camera together with the point that it looks at."""
    for client in server.get_clients().values():
        with client.atomic():
            client.camera.position = client.camera.position + displacement
            client.camera.look_at = client.camera.look_at + displacement
