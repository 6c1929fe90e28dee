"""``jaxccp view``: a motion in the browser, live or as one file, or as a film."""

from pathlib import Path
from typing import Annotated

import typer

from jaxccp.cli.commands.scene_argument import (
    ActuatorsOption,
    DurationOption,
    FileOptions,
    FloatingOption,
    KeyframeOption,
    PackageOption,
    SeedOption,
    StepOption,
    UnsupportedOption,
    is_model,
    loading_of,
    scene_or_model,
)
from jaxccp.cli.known_names import SCENES
from jaxccp.cli.options import CacheOption, folder, is_set, positive, present

MOTION = ".npz"


def _target(value: str) -> str:
    if Path(value).suffix.lower() == MOTION:
        present(Path(value))
        return value
    return scene_or_model(value)


def _model(value: str | None) -> str | None:
    return None if value is None else scene_or_model(value)


def _page(param: typer.CallbackParam, value: Path | None) -> Path | None:
    if value is not None and value.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter(f"{value} does not end in .html")
    return _written(param, value)


def _written(param: typer.CallbackParam, value: Path | None) -> Path | None:
    if value is not None:
        folder(param, value.parent)
    return value


def _check_used(
    context: typer.Context, motion: bool, from_file: bool, page: Path | None, film: Path | None
) -> None:
    """Raise ``typer.BadParameter`` for an option that was given and would have no effect."""
    live = page is None and film is None
    unused = {
        "goes with MOTION.npz": () if motion else ("model", "copy"),
        "goes with what is simulated, not a motion": ("dt", "duration") if motion else (),
        "goes with built-in scenes": ("seed",) if motion or from_file else (),
        "goes with the browser or --film": ("follow",) if page and not film else (),
        "goes with the browser": () if live else ("port", "host"),
        "goes with --html or --film; the browser has its own": ("speed",) if live else (),
    }
    for remedy, names in unused.items():
        for name in names:
            if is_set(context, name):
                raise typer.BadParameter(remedy, param_hint=f"--{name}")


TargetArgument = Annotated[
    str,
    typer.Argument(
        metavar=f"[{'|'.join(SCENES)}|MODEL|MOTION.npz]",
        callback=_target,
        help="Built-in scene, or an MJCF or URDF file (which needs mujoco), to be simulated; "
        "or a motion that jaxccp simulate --out has written.",
    ),
]
PageOption = Annotated[
    Path | None,
    typer.Option(
        "--html",
        metavar="FILE",
        callback=_page,
        help="Write one page that plays the motion, without a network, instead of showing it.",
    ),
]
FilmOption = Annotated[
    Path | None,
    typer.Option(
        "--film",
        metavar="FILE",
        callback=_written,
        help="Write a film, .gif or .mp4 (which needs ffmpeg), instead of showing the motion.",
    ),
]
PortOption = Annotated[
    int, typer.Option(min=1, max=65535, help="Port of the page: localhost:PORT.")
]
HostOption = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS",
        help="Address to listen on: by default for this computer only; with 0.0.0.0 everybody on "
        "the network can watch and control the motion.",
    ),
]
SpeedOption = Annotated[
    float,
    typer.Option(callback=positive, help="Speed of page and film: seconds of motion per second."),
]
FollowOption = Annotated[
    str | None, typer.Option(metavar="BODY", help="Moving body that the camera follows at first.")
]
SourceOption = Annotated[
    str | None,
    typer.Option(
        metavar="SCENE|FILE",
        callback=_model,
        help="Scene or model file of MOTION.npz; not needed if the file names it.",
    ),
]
CopyOption = Annotated[
    int, typer.Option(min=0, help="Index of the copy to show, if MOTION.npz has several.")
]


def view(
    context: typer.Context,
    target: TargetArgument,
    html: PageOption = None,
    film: FilmOption = None,
    port: PortOption = 8080,
    host: HostOption = "127.0.0.1",
    speed: SpeedOption = 1.0,
    follow: FollowOption = None,
    model: SourceOption = None,
    copy: CopyOption = 0,
    dt: StepOption = None,
    duration: DurationOption = 2.0,
    seed: SeedOption = 0,
    keyframe: KeyframeOption = None,
    package: PackageOption = None,
    floating: FloatingOption = False,
    actuators: ActuatorsOption = None,
    allow_unsupported: UnsupportedOption = False,
    cache: CacheOption = None,
) -> None:
    """Show a motion in the browser: every shape, contact forces as arrows, a time line.

    A scene or a model file is simulated first, under the convex law, with the controls of
    --keyframe or none. A recorded motion has no contact forces. Needs viser:
    pip install 'jaxccp[viz]'.

    Exit code: 0 done, 2 bad input or usage (nothing is shown or written).
    """
    motion = Path(target).suffix.lower() == MOTION
    options = FileOptions(
        keyframe, None, loading_of(package, floating, actuators, allow_unsupported)
    ).check(motion or is_model(target), motion)
    _check_used(context, motion, is_model(target), html, film)
    from jaxccp.cli.cache import keep_programs

    keep_programs(cache)
    from jaxccp.cli.runs.run_view import view_command

    view_command(
        target=target,
        motion=motion,
        page=html,
        film=film,
        port=port,
        host=host,
        speed=speed,
        follow=follow,
        source=model,
        copy=copy,
        dt=dt,
        duration=duration,
        seed=seed,
        options=options,
    )
