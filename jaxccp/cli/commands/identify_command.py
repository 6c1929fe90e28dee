"""``jaxccp identify``: parameters of any model, or of a tossed cube, from recordings."""

from pathlib import Path
from typing import Annotated, Any

import typer

from jaxccp.cli.commands.identify_usage import cube_parameters, is_set, model_request, values_of
from jaxccp.cli.commands.scene_argument import is_model
from jaxccp.cli.dataclass_options import finished, with_options
from jaxccp.cli.known_names import IDENTIFIED, METHOD, PARAMETERS, RESIDUALS, RESTARTS
from jaxccp.cli.options import (
    CacheOption,
    ContactSolverOption,
    JsonOption,
    LawOption,
    PrecisionOption,
    StepperOption,
    choice_of,
    folder,
    present,
)


def _residual(name: str | None) -> str | None:
    return None if name is None else choice_of(RESIDUALS)(name)


MODEL_PANEL = "Any model"


def _horizons(text: str) -> str:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 1 for part in parts):
        raise typer.BadParameter(
            f"{text!r} is not a list of numbers of samples, each at least 2, like 40,100"
        )
    return ",".join(parts)


@finished
@with_options(RESIDUALS, "Any model: the residual")
@with_options({"restarts": RESTARTS}, "Any model: restarts", without=("descents", "seed"))
@with_options({"method": METHOD}, "The iteration", without=("iterations",))
def identify(
    context: typer.Context,
    paths: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[MODEL] DATA…",
            help="A model file and recordings of it: npz, csv, ROS bags, LeRobot data sets, what "
            "jaxccp simulate writes. Without a model tosses of the cube, an npz file: ids, lengths "
            "(t,); q (n, 7): position [m], quaternion wxyz; v (n, 6): velocity [m/s, world], "
            "angular velocity [rad/s, body axes], backward differences; dt [s].",
        ),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Use the embedded synthetic tosses instead of DATA.")
    ] = False,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.toml",
            help="Model, data, parameters with bounds and priors, residual and more, as "
            "docs/identify.md has it; options on the command line count more.",
            rich_help_panel=MODEL_PANEL,
        ),
    ] = None,
    evaluate: Annotated[
        Path | None,
        typer.Option(
            metavar="FIT.json",
            help="Fit nothing: only measure the parameters of this fit.json (of the cube: "
            "params.json) on all of DATA.",
        ),
    ] = None,
    names: Annotated[
        str | None,
        typer.Option(
            "--parameters",
            metavar="NAME,…",
            help="What to identify: of a model paths such as axes[*].friction or "
            f'bodies["fore"].inertial, of the cube {", ".join(PARAMETERS)}.',
            show_default=",".join(IDENTIFIED),
        ),
    ] = None,
    residual: Annotated[
        str | None,
        typer.Option(
            metavar=f"[{'|'.join(RESIDUALS)}]",
            callback=_residual,
            help="How recordings are compared with the model.",
            show_default="simulate",
            rich_help_panel=MODEL_PANEL,
        ),
    ] = None,
    restarts: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Fit from the best N of --draws starts, drawn by priors and bounds, where the "
            "loss has many minima.",
            rich_help_panel="Any model: restarts",
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json",
            help="Write the parameters into this file after every step; where it exists already, "
            "go on from it.",
            rich_help_panel=MODEL_PANEL,
        ),
    ] = None,
    law: LawOption = "ncp",
    stepper: StepperOption = "euler",
    solver: ContactSolverOption = "apgd",
    horizons: Annotated[
        str,
        typer.Option(
            metavar="SAMPLES,…",
            callback=_horizons,
            help="Samples of a toss that are compared with its simulation, one fit for each, which "
            "begins where the one before ended.",
        ),
    ] = "40,100",
    iterations: Annotated[
        int,
        typer.Option(
            min=1,
            help="At most so many steps of Levenberg–Marquardt, of the cube for each horizon.",
        ),
    ] = 30,
    holdout: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=0.99,
            help="Share of the tosses or recordings kept out of the fit, of a single recording of "
            "its samples; 0, of a model, for none.",
        ),
    ] = 0.3,
    seed: Annotated[int, typer.Option(help="Of the split, and of the starts that are drawn.")] = 0,
    precision: PrecisionOption = 64,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            callback=folder,
            help="Write DIR/fit.json and DIR/report.html; of the cube DIR/params.json and "
            "DIR/identify.png too.",
        ),
    ] = None,
    cache: CacheOption = None,
    as_json: JsonOption = False,
    **settings: Any,
) -> None:
    """Identify parameters of a model from recordings, or of a cube and the ground from tosses.

    Fits to a random part of the recordings, and reports each parameter with its standard error, and
    the errors of prediction of the other part, before and after. The fit is Levenberg–Marquardt on
    exact Jacobians. Without a model the tosses of a cube are simulated: errors are those from the
    second sample to the end, position in cube widths, rotation in degrees, mean over a toss's
    samples, then mean and median over tosses; those of 10, 20 and 40 samples are in the JSON.

    Exit code: 0 done, 1 the fit did not come to finite numbers, 2 bad input or usage (nothing
    written).
    """
    set_by_user = {name for name in context.params if is_set(context, name)}
    for path in (*(paths or ()), config, evaluate):
        if path is not None and not any(letter in str(path) for letter in "*?["):
            present(path)
    from jaxccp.cli.cache import keep_programs

    if config is None and not (paths and is_model(str(paths[0]))):
        names_of_cube = cube_parameters(context.params, set_by_user, settings)
        keep_programs(cache)
        from jaxccp.ccp import SOLVERS
        from jaxccp.cli.run_identify import CubeRequest, identify_cube
        from jaxccp.identify.cube.fit import CubeSettings

        request = CubeRequest(
            data=paths[0] if paths else None,
            evaluate=evaluate,
            settings=CubeSettings(names_of_cube, law, stepper, solver=SOLVERS[solver]()),
            horizons=tuple(map(int, horizons.split(","))),
            method=values_of(settings, (METHOD,)) | {"iterations": iterations},
            holdout=holdout,
            seed=seed,
            precision=precision,
            out=out,
            as_json=as_json,
        )
        identify_cube(request)
        return
    request = model_request(context.params, set_by_user, settings)
    keep_programs(cache)
    from jaxccp.cli.run_identify_model import identify_model_command

    identify_model_command(request)
