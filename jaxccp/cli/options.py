"""Options and exit codes that commands share."""

import math
import os
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from enum import IntEnum
from pathlib import Path
from typing import Annotated, Any, get_args

import typer

from jaxccp.ccp import SOLVERS, Law
from jaxccp.ccp.cones import Friction
from jaxccp.io import InputError


class Exit(IntEnum):
    """What a command says by its exit code; usage errors are 2 as well."""

    DONE = 0
    NOT_CONVERGED = 1
    BAD_INPUT = 2


@contextmanager
def bad_input_exits() -> Iterator[None]:
    """Turn an :class:`InputError` into its message on stderr and exit code 2."""
    try:
        yield
    except InputError as error:
        typer.echo(f"Error: {error}", err=True)
        raise typer.Exit(Exit.BAD_INPUT) from None


def check_folder(out: Path) -> None:
    """Refuse a folder that cannot be written to, before the work is done."""
    existing = next(p for p in (out, *out.absolute().parents) if p.exists())
    if not existing.is_dir():
        raise InputError(existing, "is a file, not a folder", "name another folder for --out")
    if not os.access(existing, os.W_OK | os.X_OK):
        raise InputError(existing, "cannot be written to", "name another folder for --out")


def one_of(choices: Collection[Any]) -> Callable[[Any], Any]:
    """Option callback that refuses what is not in ``choices``."""

    def check(value: Any) -> Any:
        if value not in choices:
            known = ", ".join(map(str, choices))
            raise typer.BadParameter(f"{value!r} is not one of {known}")
        return value

    return check


def not_negative(value: float) -> float:
    """Option callback that refuses negative, infinite and NaN numbers."""
    if not (math.isfinite(value) and value >= 0):
        raise typer.BadParameter(f"{value} is not a finite number ≥ 0")
    return value


def check_friction(solver: str, friction: Friction) -> None:
    """Refuse a solver that does not take this shape of friction cones."""
    takes = SOLVERS[solver].friction
    if friction not in takes:
        shapes = f"friction {' or '.join(takes)}, not {friction}" if takes else "no contacts"
        raise typer.BadParameter(f"{solver} takes {shapes}", param_hint="--solver")


SolverOption = Annotated[
    str,
    typer.Option(
        metavar=f"[{'|'.join(SOLVERS)}]",
        callback=one_of(SOLVERS),
        help="Algorithm for the cone problem.",
    ),
]
LawOption = Annotated[
    Law,
    typer.Option(
        metavar=f"[{'|'.join(get_args(Law))}]",
        callback=one_of(get_args(Law)),
        help="ccp: the convex problem; ncp: Coulomb's law, without the CCP's lift while sliding.",
    ),
]
FrictionOption = Annotated[
    Friction,
    typer.Option(
        metavar=f"[{'|'.join(get_args(Friction))}]",
        callback=one_of(get_args(Friction)),
        help="Shape of the friction cones: round, or the square or octagon around it, with two "
        "sides along each tangent.",
    ),
]
PrecisionOption = Annotated[
    int,
    typer.Option(
        metavar="[32|64]", callback=one_of((32, 64)), help="Bits of the floating-point numbers."
    ),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print JSON on stdout, not a table.")]
