"""``jaxccp view``: a motion in the browser, live or as one file, or as a film."""

from pathlib import Path
from typing import Annotated

import typer

from jaxccp.cli.commands.scene_argument import (
    ActuatorsOption,
    FileOptions,
    FloatingOption,
    KeyframeOption,
    PackageOption,
    SeedOption,
    StepOption,
    UnsupportedOption,
    is_model,
    packages_of,
    scene_or_model,
)
from jaxccp.cli.known_names import SCENES
from jaxccp.cli.options import CacheOption, positive, present

MOTION = ".npz"


def _target(value: str) -> str:
    if Path(value).suffix.lower() == MOTION:
        present(Path(value))
        return value
    return scene_or_model(value)


def _model(value: str | None) -> str | None:
    return None if value is None else scene_or_model(value)


def _page(value: Path | None) -> Path | None:
    if value is not None and value.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter(f"{value} does not end in .html")
    return value


def view(
    target: Annotated[
        str,
        typer.Argument(
            metavar=f"[{'|'.join(SCENES)}|MODEL|MOTION.npz]",
            callback=_target,
            help="Built-in scene, or an MJCF or URDF file (which needs mujoco), to be simulated; "
            "or a motion that jaxccp simulate --out has written.",
        ),
    ],
    html: Annotated[
        Path | None,
        typer.Option(
            "--html",
            metavar="FILE",
            callback=_page,
            help="Write one page that plays the motion, without a network, in place of showing it.",
        ),
    ] = None,
    film: Annotated[
        Path | None,
        typer.Option(
            "--film",
            metavar="FILE",
            help="Write a film, .gif or .mp4 (which needs ffmpeg), in place of showing the motion.",
        ),
    ] = None,
    port: Annotated[
        int, typer.Option(min=1, max=65535, help="Where the browser finds it: localhost:PORT.")
    ] = 8080,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Where it listens: by default for this computer only; 0.0.0.0: for everybody on "
            "the network, who may then watch and steer.",
        ),
    ] = "127.0.0.1",
    speed: Annotated[
        float,
        typer.Option(callback=positive, help="Of page and film: seconds of motion a second."),
    ] = 1.0,
    follow: Annotated[
        str | None, typer.Option(metavar="BODY", help="That the camera follows from the start.")
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(
            metavar="SCENE|FILE",
            callback=_model,
            help="Whose motion MOTION.npz is; not needed where the file says it.",
        ),
    ] = None,
    copy: Annotated[int, typer.Option(min=0, help="Which of a batch in MOTION.npz.")] = 0,
    dt: StepOption = None,
    duration: Annotated[float, typer.Option(callback=positive, help="Simulated time [s].")] = 2.0,
    seed: SeedOption = 0,
    keyframe: KeyframeOption = None,
    package: PackageOption = None,
    floating: FloatingOption = False,
    actuators: ActuatorsOption = None,
    allow_unsupported: UnsupportedOption = False,
    cache: CacheOption = None,
) -> None:
    """Show a motion in the browser: every shape, contact forces as arrows, a time line.

    Simulates a scene or a model file first, under the convex law and with no controls but those of
    --keyframe; of a recorded motion contact forces are not known. Needs viser:
    pip install 'jaxccp[viz]'.

    Exit code: 0 done, 2 bad input or usage (nothing is shown or written).
    """
    motion = Path(target).suffix.lower() == MOTION
    options = FileOptions(
        keyframe, None, packages_of(package), floating, actuators, allow_unsupported
    ).check(motion or is_model(target), motion)
    from jaxccp.cli.cache import keep_programs

    keep_programs(cache)
    from jaxccp.cli.run_view import view_command

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
