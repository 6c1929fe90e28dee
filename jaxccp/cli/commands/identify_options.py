"""Arguments and options of ``jaxccp identify``."""

from pathlib import Path
from typing import Annotated

import typer

from jaxccp.cli.known_names import IDENTIFIED, PARAMETERS, RESIDUALS
from jaxccp.cli.options import choice_of, folder

MODEL_PANEL = "Any model"
"""Heading of the options that are only for models, not for the cube."""


def _horizons(text: str) -> str:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isdecimal() and int(part) > 1 for part in parts):
        raise typer.BadParameter(
            f"{text!r} is not a list of numbers of samples, each at least 2, like 40,100"
        )
    return ",".join(parts)


PathsArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[MODEL] DATA…",
        help="A model file and recordings of it: npz, csv, ROS bags, LeRobot data sets, or files "
        "that jaxccp simulate has written. Without a model file, tosses of the cube, an npz file: "
        "ids, lengths (t,); q (n, 7): position [m], quaternion wxyz; dt [s].",
    ),
]
DemoOption = Annotated[
    bool, typer.Option("--demo", help="Use the embedded synthetic tosses instead of DATA.")
]
ConfigOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.toml",
        help="Model, data, parameters with bounds and priors, residual and more (see "
        "docs/identify.md); options on the command line override it.",
        rich_help_panel=MODEL_PANEL,
    ),
]
EvaluateOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FIT.json",
        help="Do not fit: compute the errors of prediction of this fit.json (for the cube: "
        "params.json) on all of DATA.",
    ),
]
ParametersOption = Annotated[
    str | None,
    typer.Option(
        "--parameters",
        metavar="NAME,…",
        help="Parameters to identify: for a model, paths such as axes[*].friction or "
        f'bodies["fore"].inertial; for the cube, {", ".join(PARAMETERS)}.',
        show_default=",".join(IDENTIFIED),
    ),
]
ResidualOption = Annotated[
    str | None,
    typer.Option(
        metavar=f"[{'|'.join(RESIDUALS)}]",
        callback=choice_of(RESIDUALS),
        help="How recordings are compared with the model.",
        show_default="simulate",
        rich_help_panel=MODEL_PANEL,
    ),
]
RestartsOption = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Fit from the best N of --draws random initial values, drawn from priors and "
        "bounds; for a loss with many minima.",
        rich_help_panel="Any model: restarts",
    ),
]
ResumeOption = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.json",
        help="Write the parameters to this file after every step; if it exists, continue from it.",
        rich_help_panel=MODEL_PANEL,
    ),
]
HorizonsOption = Annotated[
    str,
    typer.Option(
        metavar="SAMPLES,…",
        callback=_horizons,
        help="Numbers of samples of a toss that are compared with its simulation; one fit for "
        "each, starting from the result of the last.",
    ),
]
IterationsOption = Annotated[
    int,
    typer.Option(
        min=1,
        help="Maximum number of Levenberg–Marquardt steps; for the cube, for each horizon.",
    ),
]
HoldoutOption = Annotated[
    float,
    typer.Option(
        min=0.0,
        max=0.99,
        help="Fraction of the tosses or recordings that is not fitted; for a single recording, of "
        "its samples. For a model it may be 0.",
    ),
]
SplitSeedOption = Annotated[
    int,
    typer.Option(min=0, help="Seed of the choice of held-out data, and of random initial values."),
]
FitFolderOption = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        callback=folder,
        help="Write DIR/fit.json and DIR/report.html; for the cube also DIR/params.json and "
        "DIR/identify.png.",
    ),
]
