"""``jaxccp excite``: the motion of a model to record next, planned."""

from pathlib import Path
from typing import Annotated, Any

import typer

from jaxccp.cli.commands.scene_argument import (
    ActuatorsOption,
    FloatingOption,
    PackageOption,
    UnsupportedOption,
    is_model,
    loading_of,
)
from jaxccp.cli.dataclass_options import finished, with_options
from jaxccp.cli.known_names import DESIGN
from jaxccp.cli.options import CacheOption, JsonOption, present


def _model(path: Path) -> Path:
    """Check, as an option callback, that a path is a model file."""
    if not is_model(str(path)):
        raise typer.BadParameter(f"{path} is no model file: those end in .xml, .mjcf or .urdf")
    return present(path)


def _trajectory(path: Path | None) -> Path | None:
    """Check, as an option callback, that a trajectory can be written to a file of this name."""
    if path is not None and path.suffix not in (".npz", ".csv"):
        raise typer.BadParameter(f"{path} does not end in .npz or .csv")
    return path


@finished
@with_options({"design": DESIGN}, "The motion")
def excite(
    model: Annotated[
        Path,
        typer.Argument(metavar="MODEL", callback=_model, help="MJCF or URDF file of an arm."),
    ],
    parameters: Annotated[
        str,
        typer.Option(
            metavar="PATH,…",
            help='Parameters to identify: paths such as axes[*].friction,bodies["a"].inertial.',
        ),
    ],
    limits: Annotated[
        str,
        typer.Option(
            metavar="KIND[.JOINT]=VALUE,…",
            help="Limits of position, rate, acceleration and torque, VALUE a number or LOW:HIGH, "
            "and of the clearance of shapes [m], such as rate=2,torque.wrist=5. Positions and "
            "torques have the model's limits by default.",
        ),
    ] = "",
    fit: Annotated[
        Path | None,
        typer.Option(
            metavar="FIT.json",
            help="Earlier fit, whose values, standard errors and correlations count as known.",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            callback=_trajectory,
            help="Write the trajectory: .npz or .csv (see docs/identify.md).",
        ),
    ] = None,
    package: PackageOption = None,
    floating: FloatingOption = False,
    actuators: ActuatorsOption = None,
    allow_unsupported: UnsupportedOption = False,
    cache: CacheOption = None,
    as_json: JsonOption = False,
    **settings: Any,
) -> None:
    """Plan the motion to record next: the one that determines the parameters best, within limits.

    The information of measured torques about the parameters is maximised, with exact derivatives of
    inverse dynamics. Printed are the standard errors before and after, the largest use of each
    limit, and the combinations of parameters that are determined worst.

    Exit code: 0 done, 1 the motion exceeds a limit, 2 bad input or usage (nothing written).
    """
    if fit is not None:
        present(fit)
    loading = loading_of(package, floating, actuators, allow_unsupported)
    from jaxccp.cli.cache import keep_programs

    keep_programs(cache)
    from jaxccp.cli.runs.run_excite import excite_command

    values = {name: value for name, value in settings.items() if value is not None}
    excite_command(model, loading, parameters, limits, values, fit, out, as_json)
