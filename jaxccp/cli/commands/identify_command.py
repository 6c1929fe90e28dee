"""``jaxccp identify``: parameters of any model, or of a tossed cube, from recordings."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from jaxccp.cli.commands.model_request import ModelRequest
from jaxccp.cli.commands.scene_argument import is_model
from jaxccp.cli.dataclass_options import finished, settings_of, with_options
from jaxccp.cli.known_names import IDENTIFIED, METHOD, PARAMETERS, RESIDUALS
from jaxccp.cli.options import (
    CacheOption,
    ContactSolverOption,
    JsonOption,
    LawOption,
    PrecisionOption,
    StepperOption,
    folder,
    one_of,
    present,
    unknown,
)


def _names(text: str) -> str:
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in PARAMETERS:
            raise typer.BadParameter(unknown(name, PARAMETERS))
    if not names or len(set(names)) < len(names):
        raise typer.BadParameter(f"{text!r} is an empty or repeated list")
    return ",".join(names)


def _residual(name: str | None) -> str | None:
    return None if name is None else one_of(RESIDUALS)(name)


CUBE_ONLY = ("demo", "horizons")
"""Options that go with tosses of the cube alone."""
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
    seed: Annotated[int, typer.Option(help="Of the split.")] = 0,
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
    json_wanted: JsonOption = False,
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
    set_by_user = {name for name in context.params if _is_set(context, name)}
    for path in (*(paths or ()), config, evaluate):
        if path is not None and not any(letter in str(path) for letter in "*?["):
            present(path)
    from jaxccp.cli.cache import keep_programs

    if config is None and not (paths and is_model(str(paths[0]))):
        chosen = _cube_usage(context.params, set_by_user, settings)
        keep_programs(cache)
        from jaxccp.ccp import SOLVERS
        from jaxccp.cli.run_identify import CubeRequest, identify_cube
        from jaxccp.identify.cube import CubeSettings

        request = CubeRequest(
            data=paths[0] if paths else None,
            evaluate=evaluate,
            settings=CubeSettings(chosen, law, stepper, solver=SOLVERS[solver]()),
            horizons=tuple(map(int, horizons.split(","))),
            method=_values(settings, (METHOD,)) | {"iterations": iterations},
            holdout=holdout,
            seed=seed,
            precision=precision,
            out=out,
            as_json=json_wanted,
        )
        identify_cube(request)
        return
    request = _model_request(context.params, set_by_user, settings)
    keep_programs(cache)
    from jaxccp.cli.run_identify_model import identify_model_command

    identify_model_command(request)


def _cube_usage(
    options: dict[str, Any], set_by_user: set[str], settings: dict[str, Any]
) -> tuple[str, ...]:
    """Return the parameters of the cube; refuse options that go with model files."""
    method = _values(settings, (METHOD,))
    for name in ("residual", *settings):
        if name in set_by_user and name not in method:
            raise typer.BadParameter("goes with a model file", param_hint=_option(name))
    if options["holdout"] == 0:
        raise typer.BadParameter("some tosses have to be held out", param_hint="--holdout")
    if options["demo"] == bool(options["paths"]) or len(options["paths"] or ()) > 1:
        raise typer.BadParameter("give either DATA.npz or --demo, or a model file and DATA")
    names = options["names"]
    return tuple(_names(",".join(IDENTIFIED) if names is None else names).split(","))


def _model_request(
    options: dict[str, Any], set_by_user: set[str], settings: dict[str, Any]
) -> ModelRequest:
    """Return what is asked for of a model; refuse options that go with tosses of the cube."""
    for name in CUBE_ONLY:
        if name in set_by_user:
            raise typer.BadParameter("goes with tosses of the cube", param_hint=_option(name))
    paths = options["paths"] or []
    has_model = bool(paths) and is_model(str(paths[0]))
    if has_model and len(paths) < 2 and options["config"] is None:
        raise typer.BadParameter("give recordings of the model too", param_hint="DATA")
    chosen = {name: options[name] for name in set_by_user & set(options)}
    method = _values(settings, (METHOD,)) | {
        name: chosen[name] for name in ("iterations",) if name in chosen
    }
    return ModelRequest(
        model=paths[0] if has_model else None,
        data=tuple(paths[has_model:]),
        config=options["config"],
        evaluate=options["evaluate"],
        parameters=options["names"],
        residual=options["residual"],
        settings=_values(settings, RESIDUALS.values()),
        method=method,
        stepping={name: chosen[name] for name in ("law", "stepper", "solver") if name in chosen},
        holdout=chosen.get("holdout"),
        seed=chosen.get("seed"),
        precision=options["precision"],
        out=options["out"],
        as_json=options["json_wanted"],
    )


def _is_set(context: typer.Context, name: str) -> bool:
    """Return whether an option was written, not left to its default."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def _option(name: str) -> str:
    """Return what an option is called on the command line."""
    return "--" + name.replace("_", "-")


def _values(settings: dict[str, Any], references: Iterable[str]) -> dict[str, Any]:
    """Return the values of the options for fields of some classes."""
    fields = {name: one for ref in references for name, one in settings_of(ref).items()}
    return {
        name: fields[name].value(value)
        for name, value in settings.items()
        if name in fields and value is not None
    }
