"""``jaxccp identify``: parameters of a tossed cube from recorded poses."""

from pathlib import Path
from typing import Annotated

import typer

from jaxccp.cli.known_names import IDENTIFIED, PARAMETERS
from jaxccp.cli.options import (
    CacheOption,
    ContactSolverOption,
    JsonOption,
    LawOption,
    PrecisionOption,
    StepperOption,
    folder,
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


def _horizons(text: str) -> str:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 1 for part in parts):
        raise typer.BadParameter(
            f"{text!r} is not a list of numbers of samples, each at least 2, like 40,100"
        )
    return ",".join(parts)


def identify(
    data: Annotated[
        Path | None,
        typer.Argument(
            metavar="DATA.npz",
            help="Tosses: ids, lengths (t,); q (n, 7): position [m], quaternion wxyz; v (n, 6): "
            "velocity [m/s, world], angular velocity [rad/s, body axes], backward differences; "
            "dt [s].",
        ),
    ] = None,
    demo: Annotated[
        bool, typer.Option("--demo", help="Use the embedded synthetic tosses instead of DATA.")
    ] = False,
    evaluate: Annotated[
        Path | None,
        typer.Option(
            metavar="PARAMS.json", help="Fit nothing: only measure these parameters on all of DATA."
        ),
    ] = None,
    names: Annotated[
        str,
        typer.Option(
            "--parameters",
            metavar="NAME,…",
            callback=_names,
            help=f"What to identify, of {', '.join(PARAMETERS)}.",
        ),
    ] = ",".join(IDENTIFIED),
    law: LawOption = "ncp",
    stepper: StepperOption = "euler",
    solver: ContactSolverOption = "apgd",
    horizons: Annotated[
        str,
        typer.Option(
            metavar="SAMPLES,…",
            callback=_horizons,
            help="Lengths of the rollouts compared with the recording, one descent for each.",
        ),
    ] = "40,100",
    iterations: Annotated[
        int, typer.Option(min=1, help="Of gradient descent, for each horizon.")
    ] = 60,
    batch: Annotated[int, typer.Option(min=1, help="Rollouts per iteration.")] = 48,
    holdout: Annotated[
        float, typer.Option(min=0.01, max=0.99, help="Share of the tosses kept out of the fit.")
    ] = 0.3,
    seed: Annotated[int, typer.Option(help="Of the split and the minibatches.")] = 0,
    precision: PrecisionOption = 32,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", callback=folder, help="Write DIR/params.json and DIR/identify.png."
        ),
    ] = None,
    cache: CacheOption = None,
    json_wanted: JsonOption = False,
) -> None:
    """Identify parameters of a cube and the ground from recorded tosses.

    Fits to a random part of the tosses by gradients through vmapped rollouts, and reports each
    parameter with its standard error, and the errors of rollouts from the second sample to the
    end of the other tosses, before and after: position in cube widths, rotation in degrees, mean
    over a toss's samples, then mean and median over tosses. Short-horizon errors (10, 20, 40
    samples) are in the JSON.

    Exit code: 0 done, 1 the fit did not come to finite numbers, 2 bad input or usage (nothing
    written).
    """
    if demo == (data is not None):
        raise typer.BadParameter("give either DATA.npz or --demo")
    for path in (data, evaluate):
        if path is not None:
            present(path)
    from jaxccp.cli.cache import keep_programs

    keep_programs(cache)
    from jaxccp.cli.run_identify import identify_command

    identify_command(
        data=data,
        evaluate=evaluate,
        names=tuple(names.split(",")),
        law=law,
        stepper=stepper,
        solver=solver,
        horizons=tuple(map(int, horizons.split(","))),
        iterations=iterations,
        batch=batch,
        holdout=holdout,
        seed=seed,
        precision=precision,
        out=out,
        json_wanted=json_wanted,
    )
