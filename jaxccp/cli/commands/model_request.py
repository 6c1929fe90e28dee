"""A request to identify a model, as the command line has it."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class ModelRequest:
    """Arguments and options of the command; None and empty ones can be in its configuration
    file."""

    model: Path | None = None
    data: tuple[Path, ...] = ()
    config: Path | None = None
    evaluate: Path | None = None
    parameters: str | None = None
    residual: str | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    """Fields of the residual."""
    method: dict[str, Any] = field(default_factory=dict)
    """Fields of the iteration's settings."""
    restarts: dict[str, Any] = field(default_factory=dict)
    """Fields of the settings of starts that are drawn."""
    resume: Path | None = None
    """File of parameters that the fit goes on from and writes after every step."""
    stepping: dict[str, str] = field(default_factory=dict)
    """Law, stepper and solver of simulations."""
    holdout: float | None = None
    seed: int | None = None
    precision: int = 64
    out: Path | None = None
    as_json: bool = False
