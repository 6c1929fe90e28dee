"""The work of ``jaxccp excite``."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import jax
import typer

from jaxccp.cli.bad_input import bad_input_exits
from jaxccp.cli.identify_config import paths_of
from jaxccp.cli.options import Exit, refuse
from jaxccp.identify import Design, Limits, excite
from jaxccp.identify.problem import parameter_of
from jaxccp.identify.report.as_json import read_known
from jaxccp.io import load


def excite_command(
    model: Path,
    loading: Mapping[str, Any],
    parameters: str,
    limits: str,
    settings: Mapping[str, Any],
    fit: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Plan a motion to identify parameters, write it to a file and report.

    Args:
        model: the model file.
        loading: arguments of :func:`jaxccp.load`.
        parameters: paths of the parameters, separated by commas.
        limits: limits of the motion, as :meth:`jaxccp.identify.Limits.read` takes them.
        settings: values of the fields of :class:`jaxccp.identify.Design`.
        fit: file of an earlier fit whose values and standard errors count as known.
        out: file that the trajectory is written to.
        as_json: whether JSON is printed, not tables.

    Raises:
        typer.Exit: with code 1 if the motion exceeds a limit, with code 2 for bad input.
    """
    with bad_input_exits(), jax.enable_x64(True):
        mechanism = load(model, **loading)
        for line in mechanism.ignored:
            typer.echo(f"Note: left out: {line}", err=True)
        unknowns = [parameter_of(path) for path in paths_of(parameters)]
        earlier = None if fit is None else read_known(fit)
        try:
            motion = excite(mechanism, unknowns, Limits.read(limits), Design(**settings), earlier)
        except ValueError as error:
            refuse(str(error))
        files = {} if out is None else {"trajectory": str(motion.save(out))}
    if as_json:
        typer.echo(json.dumps(motion.summary() | files))
    else:
        typer.echo("\n".join([str(motion), *(f"{key}: {path}" for key, path in files.items())]))
    if not motion.within_limits:
        raise typer.Exit(Exit.NOT_CONVERGED)
