"""The command line; a command is one file and one line here."""

from typing import Annotated

import typer

from jaxccp import __version__
from jaxccp.cli.identify import identify_command
from jaxccp.cli.simulate import simulate
from jaxccp.cli.solve import solve

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode="markdown", pretty_exceptions_show_locals=False
)
app.command("identify")(identify_command)
app.command()(simulate)
app.command()(solve)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"jaxccp {__version__}")
        raise typer.Exit


@app.callback()
def jaxccp(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Differentiable rigid-body contact as cone complementarity problems.

    Exit codes of every command: 0 done, 1 done but not to the tolerance asked for,
    2 bad input or usage (nothing written).
    """


def main() -> None:
    """Entry point of the ``jaxccp`` script."""
    app()
