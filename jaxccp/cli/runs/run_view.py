"""The work of ``jaxccp view``: a motion, simulated or read, shown or written as a page or film."""

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import jax
import jax.numpy as jnp
import numpy as np
import typer
from rich.console import Console
from rich.progress import track

from jaxccp.cli.bad_input import bad_input_exits
from jaxccp.cli.commands.scene_argument import SCENE_STEP, FileOptions, is_model
from jaxccp.cli.known_names import SCENES as KNOWN
from jaxccp.cli.model_file import OpenedModel, captured_poses, open_model
from jaxccp.cli.options import refuse
from jaxccp.dynamics import ContactData, EulerImplicitLinearized, rollout
from jaxccp.io import load_trajectory, write_file
from jaxccp.io.arrays import Arrays
from jaxccp.io.trajectory import rising_times
from jaxccp.model import Model, State
from jaxccp.names import index
from jaxccp.scenes.library import SCENES

if TYPE_CHECKING:
    from jaxccp.viz.replay import Replay

RATE = 60.0
"""Number of instants per second that are kept of a simulation [1/s]."""
FRAMES = 25
"""Number of frames per second of a film [1/s]; a frame lasts a multiple of 10 ms, the unit of time
of gif."""


@dataclass(frozen=True)
class Motion:
    """Poses of a model's nb bodies at n instants."""

    model: Model
    """The model."""
    time: np.ndarray
    """Times [s], (n,)."""
    position: np.ndarray
    """Centres of mass in world axes [m], (n, nb, 3)."""
    quaternion: np.ndarray
    """Orientations of the bodies, (n, nb, 4)."""
    contacts: ContactData | None
    """Contacts of the steps between the instants; None for a recorded motion."""


def view_command(
    *,
    target: str,
    motion: bool,
    page: Path | None,
    film: Path | None,
    port: int,
    host: str,
    speed: float,
    follow: str | None,
    source: str | None,
    copy: int,
    dt: float | None,
    duration: float,
    seed: int,
    options: FileOptions,
) -> None:
    """Simulate or read a motion, then show it or write it as a page or a film.

    Args:
        target: name of a scene, path of a model file, or path of a motion.
        motion: whether ``target`` is a motion.
        page: HTML file to write, or None.
        film: film to write, or None.
        port: port of the viewer.
        host: address of the viewer.
        speed: ratio of the motion's time to the time of the viewer.
        follow: name of the body that the camera follows, or None.
        source: scene or model file of a recorded motion; None: the one that its file names.
        copy: index of the copy to show, in a motion of several.
        dt: length of a step [s]; None: that of the model file or of scenes.
        duration: simulated time [s].
        seed: seed of the scene's random initial state.
        options: how a model file is read, and the initial state.

    Raises:
        typer.Exit: with code 2 for bad input, or if the packages for viewing are not installed.
    """
    if importlib.util.find_spec("viser") is None or importlib.util.find_spec("matplotlib") is None:
        refuse("viewing needs viser and matplotlib: pip install 'jaxccp[viz]'")
    if film is not None:
        from jaxccp.viz.film import check_film

        try:
            check_film(film)
        except ValueError as error:
            refuse(str(error))
    with bad_input_exits():
        whose = _whose(Path(target), source) if motion else target
        model, state, opened = _opened(whose, seed, options)
        if motion:
            shown = _replayed(_recorded(Path(target), model, state, opened, copy), target)
            _check_followed(shown.bodies, shown.movable, follow)
        else:
            _check_followed(model.topology.bodies, model.topology.movable, follow)
            shown = _replayed(_simulated(model, state, dt, duration, opened), target)
        if film is not None:
            _film(model, shown, film, speed, follow)
        if film is None or page is not None:
            _show(shown, page, (host, port), speed, follow)


def _check_followed(bodies: tuple[str, ...], movable: np.ndarray, name: str | None) -> None:
    """Exit with code 2 if none of the bodies has this name, or it does not move."""
    if name is None:
        return
    try:
        body = index("the model", "body", bodies, name)
    except ValueError as error:
        refuse(str(error))
    if not movable[body]:
        refuse(f"body {name!r} does not move: --follow takes one that does")


def _replayed(motion: Motion, name: str) -> "Replay":
    from jaxccp.viz.replay import replay

    try:
        return replay(
            motion.model, motion.time, motion.position, motion.quaternion, motion.contacts
        )
    except ValueError as error:
        refuse(f"{name}: {error}")


def _show(
    shown: "Replay",
    page: Path | None,
    address: tuple[str, int],
    speed: float,
    follow: str | None,
) -> None:
    from jaxccp.viz.browser import html, serve

    if page is not None:
        text = html(shown, speed).encode()
        write_file(page, lambda file: file.write(text))
        typer.echo(f"{page}: {shown.time[-1] - shown.time[0]:.3g} s, {len(text) / 1e6:.1f} MB")
        return
    try:
        host, port = address
        serve(shown, port, follow, host)
    except KeyboardInterrupt:
        typer.echo("")


def _film(model: Model, shown: "Replay", file: Path, speed: float, follow: str | None) -> None:
    from jaxccp.viz.film import Stage, write_film

    whom = None if follow is None else model.topology.body(follow)
    stage = Stage.around(model, shown.position, shown.quaternion, whom)
    span = shown.time[-1] - shown.time[0]
    count = max(1, round(span / speed * FRAMES))
    kept = shown.indices_at(shown.time[0] + np.arange(count) * speed / FRAMES)
    poses = zip(shown.position[kept], shown.quaternion[kept], strict=True)
    drawing = track(poses, "drawing", count, console=Console(stderr=True), transient=True)
    write_film(file, stage, drawing, FRAMES)
    typer.echo(f"{file}: {span:.3g} s, {count} frames")


def _opened(
    source: str, seed: int, options: FileOptions
) -> tuple[Model, State, OpenedModel | None]:
    if is_model(source):
        opened = open_model(Path(source), options)
        return opened.loaded.model, opened.state, opened
    options.check(from_file=False)
    return *SCENES[source](jax.random.key(seed)), None


def _simulated(
    model: Model, state: State, dt: float | None, duration: float, opened: OpenedModel | None
) -> Motion:
    if dt is None:
        dt = SCENE_STEP if opened is None else opened.loaded.timestep
    every = max(1, round(1.0 / (RATE * dt)))
    steps = every * max(1, round(duration / (every * dt)))
    controls = None if opened is None else opened.controls(steps)
    stepper = EulerImplicitLinearized(dt, contact_data=True)
    _, path = rollout(model, state, stepper, steps, controls=controls, every=every, progress=True)

    def joined(first: jax.Array, rest: jax.Array) -> np.ndarray:
        return np.concatenate([np.asarray(first)[None], np.asarray(rest)])

    time = joined(state.time, path.state.time)
    position = joined(state.position, path.state.position)
    quaternion = joined(state.quaternion, path.state.quaternion)
    return Motion(model, time, position, quaternion, path.report.contact_data)


def _whose(path: Path, source: str | None) -> str:
    """Return the scene or model file of a recorded motion; exit with code 2 if it is not known."""
    with Arrays(path) as arrays:
        if source is None:
            source = arrays.text("source") if "source" in arrays else ""
    if source in KNOWN or (is_model(source) and Path(source).exists()):
        return source
    what = f"its model {source!r} is not there" if source else "does not say whose"
    refuse(f"{path}: a motion, {what}: name the scene or the model file with --model")


def _recorded(
    path: Path, model: Model, state: State, opened: OpenedModel | None, copy: int
) -> Motion:
    """Read a motion: for a model file from MuJoCo's coordinates, for a scene from poses."""
    if opened is not None:
        _check_copy(path, copy, 1)
        loaded = opened.loaded
        with Arrays(path) as arrays:
            arrays.require("time", "qpos")
            time = rising_times(arrays)
            qpos = arrays.floats("qpos", len(time), loaded.layout.places.nq)
            moved = loaded.layout.places.mocap_bodies
            captured = captured_poses(arrays, moved, state, len(time))
        rest = jnp.zeros(loaded.layout.places.nv)

        @jax.jit
        @jax.vmap
        def posed(q: jax.Array, place: jax.Array, orientation: jax.Array) -> State:
            start = state
            if len(moved):
                start = loaded.layout.with_mocap(model, state, place, orientation)
            return loaded.layout.state(model, start, q, rest)

        states = posed(*(jnp.asarray(part, float) for part in (qpos, *captured)))
        return Motion(model, time, np.asarray(states.position), np.asarray(states.quaternion), None)
    recording = load_trajectory(path)
    position, quaternion = recording.position, recording.quaternion
    _check_copy(path, copy, len(position) if position.ndim == 4 else 1)
    if position.ndim == 4:
        position, quaternion = position[copy], quaternion[copy]
    return Motion(model, recording.time, position, quaternion, None)


def _check_copy(path: Path, copy: int, count: int) -> None:
    """Exit with code 2 if a motion of ``count`` copies has none of this index."""
    if copy >= count:
        copies = "copy" if count == 1 else "copies"
        refuse(f"{path}: has {count} {copies}: --copy is at most {count - 1}")
