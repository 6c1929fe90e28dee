"""``jaxccp identify``: parameters of any model, or of a tossed cube, from recordings."""

from typing import Any

import typer

from jaxccp.cli.commands.identify_options import (
    ConfigOption,
    DemoOption,
    EvaluateOption,
    FitFolderOption,
    HoldoutOption,
    HorizonsOption,
    IterationsOption,
    ParametersOption,
    PathsArgument,
    ResidualOption,
    RestartsOption,
    ResumeOption,
    SplitSeedOption,
)
from jaxccp.cli.commands.identify_usage import (
    check_evaluation,
    cube_parameters,
    model_request,
    values_of,
)
from jaxccp.cli.commands.scene_argument import (
    ActuatorsOption,
    FloatingOption,
    PackageOption,
    UnsupportedOption,
    is_model,
)
from jaxccp.cli.dataclass_options import finished, with_options
from jaxccp.cli.known_names import METHOD, RESIDUALS, RESTARTS
from jaxccp.cli.options import (
    CacheOption,
    ContactSolverOption,
    JsonOption,
    LawOption,
    PrecisionOption,
    StepperOption,
    is_set,
    present,
)


@finished
@with_options(RESIDUALS, "Any model: the residual")
@with_options({"restarts": RESTARTS}, "Any model: restarts", without=("descents", "seed"))
@with_options({"method": METHOD}, "The iteration", without=("iterations",))
def identify(
    context: typer.Context,
    paths: PathsArgument = None,
    demo: DemoOption = False,
    config: ConfigOption = None,
    evaluate: EvaluateOption = None,
    names: ParametersOption = None,
    residual: ResidualOption = None,
    restarts: RestartsOption = None,
    resume: ResumeOption = None,
    law: LawOption = "ncp",
    stepper: StepperOption = "euler",
    solver: ContactSolverOption = "apgd",
    horizons: HorizonsOption = "40,100",
    iterations: IterationsOption = 30,
    holdout: HoldoutOption = 0.3,
    seed: SplitSeedOption = 0,
    precision: PrecisionOption = 64,
    out: FitFolderOption = None,
    package: PackageOption = None,
    floating: FloatingOption = False,
    actuators: ActuatorsOption = None,
    allow_unsupported: UnsupportedOption = False,
    cache: CacheOption = None,
    as_json: JsonOption = False,
    **settings: Any,
) -> None:
    """Identify parameters of a model from recordings, or of a cube and the ground from tosses.

    Fits a random part of the recordings by Levenberg–Marquardt with exact Jacobians. Reports each
    parameter with its standard error, and the errors of prediction of the other part, before and
    after the fit.

    The default of --solver is that of the cube; the stepper of a model chooses its own.

    Without a model, tosses of a cube are simulated from their second sample to their end. Errors of
    position are in cube widths, those of rotation in degrees: means over a toss's samples, then
    mean and median over tosses. Errors over 10, 20 and 40 samples are in the JSON.

    Exit code: 0 done, 1 the result of the fit is not finite, 2 bad input or usage (nothing
    written).
    """
    set_by_user = {name for name in context.params if is_set(context, name)}
    for path in (*(paths or ()), config, evaluate):
        if path is not None and not any(letter in str(path) for letter in "*?["):
            present(path)
    is_cube = config is None and not (paths and is_model(str(paths[0])))
    if evaluate is not None:
        check_evaluation(set_by_user, is_cube)
    from jaxccp.cli.cache import keep_programs

    if is_cube:
        names_of_cube = cube_parameters(context.params, set_by_user, settings)
        keep_programs(cache)
        from jaxccp.ccp import SOLVERS
        from jaxccp.cli.runs.run_identify import CubeRequest, identify_cube
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
    from jaxccp.cli.runs.run_identify_model import identify_model_command

    identify_model_command(request)
