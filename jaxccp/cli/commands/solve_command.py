"""``jaxccp solve``: contact problems from files."""

from pathlib import Path
from typing import Annotated

import typer

from jaxccp.cli.known_names import SOLVERS
from jaxccp.cli.options import (
    CacheOption,
    FrictionOption,
    JsonOption,
    LawOption,
    PrecisionOption,
    SolverOption,
    below_one,
    folder,
    not_negative,
    present,
)


def solve(
    files: Annotated[
        list[Path],
        typer.Argument(
            metavar="FILE.npz",
            help="Problems in the layouts 'delassus', 'bodies', 'system' or 'velocities'.",
        ),
    ],
    solver: SolverOption = "auto",
    law: LawOption = "ccp",
    friction: FrictionOption = None,
    atol: Annotated[
        float, typer.Option(callback=not_negative, help="Absolute tolerance [m/s].")
    ] = 0.0,
    rtol: Annotated[
        float,
        typer.Option(
            callback=below_one,
            help="Relative tolerance, < 1: stop at residual ≤ atol + rtol · max‖r_c‖, "
            "r being the velocities [m/s] at zero impulse, or at what rounding leaves, where that "
            "is more.",
        ),
    ] = 1e-6,
    max_iterations: Annotated[
        int, typer.Option(min=0, help="Iteration limit; the best iterate is kept.")
    ] = 100_000,
    precision: PrecisionOption = 64,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            callback=folder,
            help="Write DIR/NAME.npz for each problem, with 'lam': the impulses [N·s] of all rows "
            "in the file's order.",
        ),
    ] = None,
    cache: CacheOption = None,
    as_json: JsonOption = False,
) -> None:
    """Solve contact problems stored in npz files.

    Finds the impulses λ [N·s] in the friction cones K with velocities u = N λ + r [m/s] in the
    dual cones and λ · u = 0, and reports for each file: name, solver, law, friction, status
    (converged, max_iterations, stalled, non_finite, infeasible or not_unique), iterations, the
    largest and the root-mean-square residual over contacts and single rows [m/s] under the chosen
    law, the largest one divided by max‖r_c‖, the objective ½ λᵀNλ + rᵀλ [J], the seconds spent
    solving and compiling (0 where an earlier file had the same shape), and the numbers of contacts
    and rows.
    --json prints one such object per line. Residuals are evaluated in the precision asked for.

    All files are read before the first is solved. Exit code: 0 all converged, 1 some did not
    (all are reported and written), 2 bad input or usage (nothing is solved or written).
    """
    _check_friction(solver, friction)
    for file in files:
        present(file)
    from jaxccp.cli.cache import keep_programs

    keep_programs(cache)
    from jaxccp.cli.runs.run_solve import solve_command

    solve_command(
        files=files,
        solver=solver,
        law=law,
        friction=friction,
        atol=atol,
        rtol=rtol,
        max_iterations=max_iterations,
        precision=precision,
        out=out,
        as_json=as_json,
    )


def _check_friction(solver: str, friction: str | None) -> None:
    """Check that a solver takes friction cones of the chosen kind.

    Args:
        solver: name of the solver.
        friction: kind of the cones; None for those of the file.

    Raises:
        BadParameter: it does not take them.
    """
    cones = SOLVERS[solver]
    if cones and friction is not None and friction not in cones:
        raise typer.BadParameter(
            f"{solver} takes friction {' or '.join(cones)}, not {friction}", param_hint="--solver"
        )
