"""A request to identify a model, from the command line."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class ModelRequest:
    """Arguments and options of ``jaxccp identify`` for a model; those that are None or empty are
    taken from the configuration file, if any."""

    model: Path | None = None
    data: tuple[Path, ...] = ()
    config: Path | None = None
    evaluate: Path | None = None
    parameters: str | None = None
    residual: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    """Values of fields of the residual."""
    method: dict[str, Any] = field(default_factory=dict)
    """Values of fields of the iteration's settings."""
    restarts: dict[str, Any] = field(default_factory=dict)
    """Values of fields of the settings of random starts."""
    resume: Path | None = None
    """File of parameters that the fit continues from, and writes after every step."""
    stepping: dict[str, str] = field(default_factory=dict)
    """Contact law, stepper and solver of the simulations."""
    holdout: float | None = None
    seed: int | None = None
    precision: int = 64
    out: Path | None = None
    as_json: bool = False
