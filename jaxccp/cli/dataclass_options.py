"""Options made of the fields of settings that are dataclasses, without importing what these need.

The source is read, not run: ``--help`` must not wait for JAX.
"""

import ast
import builtins
import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

TYPES: dict[str, type] = {"float": float, "int": int, "str": str}
"""Types of options, by the annotation of a field of a single value."""
SERIES: dict[str, type] = {"tuple[str, ...]": str, "float | tuple[float, ...]": float}
"""Types of the parts of options with several values separated by commas, by the annotation of the
field."""


@dataclass(frozen=True)
class Setting:
    """A field of a dataclass that becomes an option."""

    name: str
    """Name of the field."""
    type: type
    """Type of the option's value."""
    part: builtins.type | None
    """Type of the parts if the field may be a tuple, else None."""
    default: str
    """Source code of the default value; empty if there is none."""
    help: str
    """Help text of the option: the docstring of the field."""

    def value(self, option: Any) -> Any:
        """Return the value of the field for the text of the option; a single number remains a
        number.

        Raises:
            typer.BadParameter: a part is not a number.
        """
        if self.part is None:
            return option
        try:
            parts = tuple(self.part(part.strip()) for part in option.split(",") if part.strip())
        except ValueError:
            hint = f"--{self.name.replace('_', '-')}"
            what = f"{option!r} is no number, nor several with commas"
            raise typer.BadParameter(what, param_hint=hint) from None
        return parts[0] if self.part is float and len(parts) == 1 else parts


def source_of(reference: str) -> tuple[Path, str]:
    """Return the source file and the name of a class.

    Args:
        reference: ``module:Class``.
    """
    module, _, name = reference.partition(":")
    package = find_spec(module.split(".")[0])
    assert package is not None and package.origin is not None
    parts = module.split(".")[1:]
    return Path(package.origin).parent.joinpath(*parts).with_suffix(".py"), name


@cache
def settings_of(reference: str) -> dict[str, Setting]:
    """Return the fields of a dataclass that become options, by name.

    Args:
        reference: ``module:Class``.
    """
    path, name = source_of(reference)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    (body,) = (
        node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == name
    )
    out = {}
    for place, node in enumerate(body):
        if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)):
            continue
        hint = ast.unparse(node.annotation).removesuffix(" | None")
        if hint not in TYPES and hint not in SERIES:
            continue
        default = "" if node.value is None else ast.unparse(node.value)
        default = "" if default == "None" else default.strip("'")
        text = ""
        if place + 1 < len(body):
            below = body[place + 1]
            if isinstance(below, ast.Expr) and isinstance(below.value, ast.Constant):
                text = inspect.cleandoc(str(below.value.value)).replace("``", "").replace("\n", " ")
        field = node.target.id
        out[field] = Setting(field, TYPES.get(hint, str), SERIES.get(hint), default, text)
    return out


def with_options(
    tables: Mapping[str, str], panel: str, without: tuple[str, ...] = ()
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that adds an option to a command for each field of some dataclasses.

    The command receives all of them as keyword arguments; those that the user did not give are
    None.

    Args:
        tables: ``module:Class`` by the name that help has for it.
        panel: heading of the options.
        without: fields to leave out, since the command declares their options itself.
    """
    options: dict[str, dict[str, Setting]] = {}
    for label, reference in tables.items():
        for name, setting in settings_of(reference).items():
            if name not in without:
                options.setdefault(name, {})[label] = setting

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(command)
        parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
        for name, settings in options.items():
            first, *_ = settings.values()
            defaults = {setting.default: None for setting in settings.values() if setting.default}
            option = typer.Option(
                f"--{name.replace('_', '-')}",
                help=_help(settings, len(tables) > 1),
                show_default=" or ".join(defaults) or False,
                rich_help_panel=panel,
            )
            annotation = Annotated[first.type | None, option]
            parameters.append(
                inspect.Parameter(
                    name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation
                )
            )
        (rest,) = (p for p in signature.parameters.values() if p.kind is p.VAR_KEYWORD)
        command.__signature__ = signature.replace(parameters=[*parameters, rest])  # type: ignore[attr-defined]
        command.__annotations__ |= {p.name: p.annotation for p in parameters}
        return command

    return decorate


def _help(settings: Mapping[str, Setting], labelled: bool) -> str:
    """Return the help text of an option; texts of several dataclasses follow their names."""
    texts: dict[str, list[str]] = {}
    for label, setting in settings.items():
        texts.setdefault(setting.help, []).append(label)
    if not labelled:
        return next(iter(texts))
    return " ".join(f"{', '.join(labels)}: {text}" for text, labels in texts.items())


def finished(command: Callable[..., None]) -> Callable[..., None]:
    """Return the command with its variable keyword arguments removed from the signature, as Typer
    requires."""
    signature = inspect.signature(command)
    parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    command.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {p.name: p.annotation for p in parameters}
    return command
