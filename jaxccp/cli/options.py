"""Options and exit codes shared by commands, with their checks; nothing here imports JAX."""

import math
import os
from collections.abc import Callable, Collection
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any, NoReturn, get_args

import typer

from jaxccp.cli.known_names import SOLVERS, STEPPERS, ConeType, Law, SmoothStepping
from jaxccp.names import unknown

WRITTEN = (".npz", ".png", ".json")
"""Suffixes of the files that commands write."""


class Exit(IntEnum):
    """Exit codes of the commands; usage errors also exit with 2."""

    DONE = 0
    NOT_CONVERGED = 1
    BAD_INPUT = 2


def refuse(message: str, code: int = Exit.BAD_INPUT) -> NoReturn:
    """Write an error to stderr and exit.

    Args:
        message: description of the bad input, or of the failure.
        code: exit code.

    Raises:
        typer.Exit: always.
    """
    typer.echo(f"Error: {message}", err=True)
    raise typer.Exit(code)


def choice_of(choices: Collection[Any]) -> Callable[[Any], Any]:
    """Return an option callback that only accepts some values, and None where none was given.

    Args:
        choices: the values.

    Raises:
        typer.BadParameter: the callback gets another value.
    """

    def check(value: Any) -> Any:
        if value is not None and value not in choices:
            raise typer.BadParameter(unknown(value, choices))
        return value

    return check


def contact_solver(value: str | None) -> str | None:
    """Check, as an option callback, that a solver supports contacts with round friction cones.

    Raises:
        typer.BadParameter: the solver is unknown, or does not support them.
    """
    if value is None or value in CONTACT_SOLVERS:
        return value
    if value in SOLVERS:
        cones = " or ".join(SOLVERS[value])
        what = f"friction {cones}, not cone" if cones else "no contacts"
        raise typer.BadParameter(f"{value} takes {what}; choose of {', '.join(CONTACT_SOLVERS)}")
    raise typer.BadParameter(unknown(value, CONTACT_SOLVERS))


def not_negative(value: float) -> float:
    """Check, as an option callback, that a number is finite and ≥ 0.

    Raises:
        typer.BadParameter: the number is not.
    """
    if not (math.isfinite(value) and value >= 0):
        raise typer.BadParameter(f"{value} is not a finite number ≥ 0")
    return value


def below_one(value: float) -> float:
    """Check, as an option callback, that a number is ≥ 0 and < 1.

    Raises:
        typer.BadParameter: the number is not.
    """
    if not 0 <= value < 1:
        raise typer.BadParameter(f"{value} is not a number ≥ 0 and < 1")
    return value


def positive(value: float | None) -> float | None:
    """Check, as an option callback, that a number, if one was given, is finite and > 0.

    Raises:
        typer.BadParameter: the number is not.
    """
    if value is not None and not (math.isfinite(value) and value > 0):
        raise typer.BadParameter(f"{value} is not a finite number > 0")
    return value


def is_set(context: typer.Context, name: str) -> bool:
    """Return whether the user gave an option on the command line."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT"


def present(path: Path) -> Path:
    """Check that a file exists; exit with code 2 otherwise."""
    if not path.exists():
        refuse(f"{path}: no such file; check the path")
    return path


def folder(param: typer.CallbackParam, out: Path | None) -> Path | None:
    """Check, as an option callback, that a folder exists or can be made, and can be written to;
    exit with code 2 otherwise."""
    if out is None:
        return out
    option = param.opts[0]
    existing = next(p for p in (out, *out.absolute().parents) if p.exists())
    if not existing.is_dir():
        refuse(f"{existing}: is a file, not a folder; name another folder for {option}")
    if out.suffix in WRITTEN and not out.is_dir():
        refuse(f"{out}: looks like a file; {option} takes the folder to write to")
    if not os.access(existing, os.W_OK | os.X_OK):
        refuse(f"{existing}: cannot be written to; name another folder for {option}")
    return out


CONTACT_SOLVERS = tuple(name for name, shapes in SOLVERS.items() if "cone" in shapes)
SOLVER_HELP = "Algorithm for the cone problem."

SolverOption = Annotated[
    str,
    typer.Option(metavar=f"[{'|'.join(SOLVERS)}]", callback=choice_of(SOLVERS), help=SOLVER_HELP),
]
ContactSolverOption = Annotated[
    str,
    typer.Option(
        metavar=f"[{'|'.join(CONTACT_SOLVERS)}]", callback=contact_solver, help=SOLVER_HELP
    ),
]
LawOption = Annotated[
    Law,
    typer.Option(
        metavar=f"[{'|'.join(get_args(Law))}]",
        callback=choice_of(get_args(Law)),
        help="ccp: the convex problem; ncp: Coulomb's law, without the CCP's lift while sliding.",
    ),
]
StepperOption = Annotated[
    str,
    typer.Option(
        metavar=f"[{'|'.join(STEPPERS)}]",
        callback=choice_of(STEPPERS),
        help="euler: Euler implicit linearized; projected: the same, and positions are projected, "
        "so that joints stay closed and penetration is undone without velocities; the others are "
        "methods of higher order.",
    ),
]
SmoothContactOption = Annotated[
    SmoothStepping,
    typer.Option(
        metavar=f"[{'|'.join(get_args(SmoothStepping))}]",
        callback=choice_of(get_args(SmoothStepping)),
        help="Penalty forces of smooth contacts: those at the start of a step, or linear in the "
        "velocities at its end, which is stable at any step (euler and projected).",
    ),
]
FrictionOption = Annotated[
    ConeType | None,
    typer.Option(
        metavar=f"[{'|'.join(get_args(ConeType))}]",
        callback=choice_of(get_args(ConeType)),
        help="Shape of the friction cones; by default that which the file names, else round.",
    ),
]
PrecisionOption = Annotated[
    int,
    typer.Option(
        metavar="[32|64]", callback=choice_of((32, 64)), help="Bits of the floating-point numbers."
    ),
]
CacheOption = Annotated[
    str | None,
    typer.Option(
        "--cache",
        metavar="DIR|off",
        envvar="JAXCCP_CACHE",
        help="Folder that keeps compiled programs for the next start; by default that of "
        "JAX_COMPILATION_CACHE_DIR, or one in the user's folder for caches.",
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on stdout instead of tables.")]
