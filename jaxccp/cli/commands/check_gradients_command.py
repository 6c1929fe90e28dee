"""``jaxccp check-gradients``: derivatives of a motion against central differences."""

from typing import Annotated

import typer

from jaxccp.cli.commands.scene_argument import (
    ActuatorsOption,
    FileOptions,
    FloatingOption,
    InitOption,
    KeyframeOption,
    PackageOption,
    SceneArgument,
    SeedOption,
    StepOption,
    UnsupportedOption,
    check_scene_option,
    is_model,
    loading_of,
)
from jaxccp.cli.known_names import INPUTS
from jaxccp.cli.options import (
    CONTACT_SOLVERS,
    CacheOption,
    JsonOption,
    LawOption,
    PrecisionOption,
    StepperOption,
    contact_solver,
    unknown,
)


def _inputs(text: str | None) -> str | None:
    if text is None:
        return None
    names = [name.strip() for name in text.split(",") if name.strip()]
    for name in names:
        if name not in INPUTS:
            raise typer.BadParameter(unknown(name, INPUTS))
    if not names:
        raise typer.BadParameter(f"{text!r} is an empty list")
    return ",".join(names)


TightSolverOption = Annotated[
    str | None,
    typer.Option(
        metavar=f"[{'|'.join(CONTACT_SOLVERS)}]",
        callback=contact_solver,
        help="Algorithm for the cone problem; by default newton, or auto where contacts resist "
        "spinning or rolling. For derivatives in single precision by default that of simulate.",
    ),
]


def check_gradients(
    context: typer.Context,
    scene: SceneArgument,
    steps: Annotated[int, typer.Option(min=1, help="Of the motion that is differentiated.")] = 20,
    inputs: Annotated[
        str | None,
        typer.Option(
            metavar="NAME,…",
            callback=_inputs,
            help=f"What to differentiate in, of {', '.join(INPUTS)}; all of these that the model "
            "has if not given.",
        ),
    ] = None,
    dt: StepOption = None,
    solver: TightSolverOption = None,
    stepper: StepperOption = "euler",
    law: LawOption = "ccp",
    precision: PrecisionOption = 64,
    seed: SeedOption = 0,
    init: InitOption = None,
    keyframe: KeyframeOption = None,
    package: PackageOption = None,
    floating: FloatingOption = False,
    actuators: ActuatorsOption = None,
    allow_unsupported: UnsupportedOption = False,
    cache: CacheOption = None,
    as_json: JsonOption = False,
) -> None:
    """Compare the derivatives of a motion with central differences of it.

    Differentiates the state after --steps steps, as the program would for you, in --inputs, and
    takes central differences of motions in double precision over a sweep of step lengths. Relative
    errors are by the largest derivative of any outcome. A derivative agrees if that is at most
    1e-6, in single precision 0.01. At a kink, where slopes to the left and to the right differ,
    there is none; where the differences are too uncertain it is unresolved.

    The last line has the worst relative error overall and of each input, the modes that the motion
    met, and how many entries were wrong, at kinks, unresolved and not finite; --json prints it as
    one object.

    Exit code: 0 nothing is wrong, 1 a derivative is wrong or not finite, or the motion's solves did
    not converge, 2 bad input or usage.
    """
    from_file = is_model(scene)
    check_scene_option("--seed", context, from_file)
    options = FileOptions(
        keyframe, init, loading_of(package, floating, actuators, allow_unsupported)
    ).check(from_file)
    from jaxccp.cli.cache import keep_programs

    keep_programs(cache)
    from jaxccp.cli.runs.run_check_gradients import check_gradients_command

    check_gradients_command(
        scene=scene,
        from_file=from_file,
        steps=steps,
        inputs=tuple(inputs.split(",")) if inputs else None,
        dt=dt,
        solver=solver,
        stepper=stepper,
        law=law,
        precision=precision,
        seed=seed,
        options=options,
        as_json=as_json,
    )
