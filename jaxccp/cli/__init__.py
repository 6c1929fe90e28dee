"""The command line; a command has a file of options in ``commands``, a file in ``runs`` that does
its work, and a line here.

Modules that are needed for ``--help`` and for usage errors import neither JAX nor anything that
takes as long.
"""

from typing import Annotated

import typer

from jaxccp.cli import commands

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode="markdown", pretty_exceptions_show_locals=False
)
app.command("check-gradients")(commands.check_gradients)
app.command("excite")(commands.excite)
app.command("identify")(commands.identify)
app.command("simulate")(commands.simulate)
app.command("solve")(commands.solve)
app.command("view")(commands.view)


def _version(requested: bool) -> None:
    if requested:
        from jaxccp import __version__

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
    """Run the ``jaxccp`` script."""
    app()
