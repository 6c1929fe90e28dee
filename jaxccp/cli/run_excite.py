"""The work of ``jaxccp excite``."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import typer

from jaxccp.cli.bad_input import bad_input_exits
from jaxccp.cli.identify_config import paths_of
from jaxccp.cli.options import Exit, refuse
from jaxccp.identify import Design, Excitation, Limits, excite
from jaxccp.identify.evaluation import finite
from jaxccp.identify.problem import parameter_of
from jaxccp.identify.report_json import read_known
from jaxccp.io import load


def excite_command(
    model: Path,
    parameters: str,
    limits: str,
    settings: Mapping[str, Any],
    fit: Path | None,
    out: Path | None,
    as_json: bool,
) -> None:
    """Plan a motion, write its file and say what it tells.

    Args:
        model: file of the model.
        parameters: paths between commas.
        limits: as :meth:`jaxccp.identify.Limits.read` has them.
        settings: fields of the design.
        fit: file of an earlier fit.
        out: file of the trajectory.
        as_json: print JSON, not tables.
    """
    with bad_input_exits(), jax.enable_x64(True):
        mechanism = load(model)
        chosen = [parameter_of(one) for one in paths_of(parameters)]
        known = None
        if fit is not None:
            known = read_known(fit)
            chosen = [replace(one, prior=None) for one in chosen]  # in the fit's errors already
        try:
            motion = excite(mechanism, chosen, Limits.read(limits), Design(**settings), known)
        except ValueError as error:
            refuse(str(error))
        files = {} if out is None else {"trajectory": str(motion.save(out))}
    if as_json:
        typer.echo(json.dumps(_as_json(motion) | files))
    else:
        typer.echo("\n".join([str(motion), *(f"{key}: {path}" for key, path in files.items())]))
    if not motion.within_limits:
        raise typer.Exit(Exit.NOT_CONVERGED)


def _as_json(motion: Excitation) -> dict[str, Any]:
    """Return what a motion tells, ready for JSON; null stands for what is infinite."""
    return {
        "criterion": motion.criterion,
        "score": {"random": finite(motion.scores[0]), "optimal": finite(motion.scores[1])},
        "parameters": {
            name: {"before": finite(before), "after": finite(after)}
            for name, before, after in zip(motion.names, motion.before, motion.after, strict=True)
        },
        "limits": [
            {
                "what": one.what,
                "value": one.value,
                "limits": [finite(end) for end in one.limits],
                "kept": one.kept,
            }
            for one in motion.uses
        ],
        "weakest": [str(one) for one in motion.weaknesses],
    }
