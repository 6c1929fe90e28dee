"""A request to identify a model, from the command line."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class ModelRequest:
    """Arguments and options of ``jaxccp identify`` for a model; those that are None or empty are
    taken from the configuration file, if any."""

    model: Path | None = None
    """Model file."""
    data: tuple[Path, ...] = ()
    """Files of recordings."""
    load: dict[str, Any] = field(default_factory=dict)
    """Arguments of :func:`jaxccp.load`."""
    config: Path | None = None
    """Configuration file, TOML."""
    evaluate: Path | None = None
    """File of a fit to evaluate; None: fit."""
    parameters: str | None = None
    """Paths of the parameters, separated by commas."""
    residual: str | None = None
    """Name of the residual, a key of :data:`jaxccp.cli.known_names.RESIDUALS`."""
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
    """Fraction of the recordings that is not fitted."""
    seed: int | None = None
    """Seed of the choice of held-out recordings and of random initial values."""
    precision: int = 64
    """Bits of floating-point numbers."""
    out: Path | None = None
    """Folder to write to; None: nothing is written."""
    as_json: bool = False
    """Whether JSON is printed instead of tables."""
