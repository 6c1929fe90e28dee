"""What a check of gradients found, input by input."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from jaxccp.testing.differences import Differences
from jaxccp.testing.inputs import Inputs

Verdict = Literal["agrees", "wrong", "kink", "unresolved", "no effect", "non-finite"]

UNCERTAIN = 3.0
"""Times their uncertainty differences may be off."""
ROUNDING = 50.0
"""Machine epsilons of the largest derivative of all that any may be off by."""
NOTHING = 1e-3
"""Times the tolerance, the share of the largest derivative of all, in natural units, below which
one is none at all."""
UNTOLD = 0.1
"""The same for one that is not larger than its uncertainty."""
NOISE = 10.0
"""The same for differences to one side of what is none."""


@dataclass(frozen=True)
class Entry:
    """One number that the motion depends on."""

    label: str
    verdict: Verdict
    error: float
    """Largest difference over the outcomes, by the largest derivative of any of them."""


@dataclass(frozen=True)
class InputReport:
    """One input."""

    name: str
    entries: tuple[Entry, ...]

    @property
    def error(self) -> float:
        """Worst relative error of what is neither at a kink nor unresolved; NaN where all is."""
        told = [e.error for e in self.entries if e.verdict in ("agrees", "wrong")]
        return max(told, default=float("nan"))

    @property
    def verdicts(self) -> dict[Verdict, int]:
        """How many entries have each verdict."""
        return dict(Counter(entry.verdict for entry in self.entries))


@dataclass(frozen=True)
class GradientReport:
    """The derivatives of one motion against central differences."""

    inputs: tuple[InputReport, ...]
    modes: dict[str, int]
    """Steps in which each mode was met (:func:`jaxccp.testing.modes.modes`)."""
    shapes: tuple[str, ...]
    """Kinds of shapes that pushed each other."""
    unconverged: int
    """Steps of the motion whose solve missed the tolerance: there derivatives mean nothing."""
    steps: int
    precision: int
    tolerance: float

    @property
    def error(self) -> float:
        """The worst of all inputs; NaN where none could be told."""
        told = [one.error for one in self.inputs if np.isfinite(one.error)]
        return max(told, default=float("nan"))

    def count(self, verdict: Verdict) -> int:
        """Entries of all inputs with this verdict."""
        return sum(one.verdicts.get(verdict, 0) for one in self.inputs)

    @property
    def passed(self) -> bool:
        """Whether nothing was wrong or not finite."""
        return not self.count("wrong") and not self.count("non-finite")

    def summary(self) -> dict[str, object]:
        """The one object that ``jaxccp check-gradients --json`` prints last."""
        numbers = {one.name: _number(one.error) for one in self.inputs}
        wrong = [
            f"{one.name} {entry.label}: {entry.error:.1e}"
            for one in self.inputs
            for entry in one.entries
            if entry.verdict in ("wrong", "non-finite")
        ]
        return {
            "error": _number(self.error),
            "errors": numbers,
            "modes": self.modes,
            "shapes": self.shapes,
            "agrees": self.count("agrees"),
            "wrong": wrong,
            "kinks": self.count("kink"),
            "unresolved": self.count("unresolved"),
            "no_effect": self.count("no effect"),
            "non_finite": self.count("non-finite"),
            "unconverged_steps": self.unconverged,
            "steps": self.steps,
            "precision": self.precision,
            "tolerance": self.tolerance,
            "passed": self.passed,
        }


def judged(
    inputs: Inputs,
    exact: Float[np.ndarray, "p n"],
    found: Differences,
    tolerance: float,
    precision: int,
) -> tuple[InputReport, ...]:
    """Each entry of each input with its verdict.

    ``agrees``: within the tolerance. ``kink``: slopes to the left and to the right differ.
    ``unresolved``: off by no more than the differences may be, or by the rounding of ``exact``.
    ``no effect``: both are zero as far as can be told. ``wrong``: anything else.
    """
    size = np.max(np.abs(found.value), axis=1, initial=0.0)
    tiny = np.finfo(float).tiny
    gap = np.max(np.abs(exact - found.value), axis=1, initial=0.0)
    error = gap / np.maximum(size, tiny)
    largest = np.max(np.where(np.isfinite(size), size, 0.0), initial=0.0)
    felt = np.max(np.abs(exact), axis=1, initial=0.0)
    most = np.maximum(size, felt)
    told = np.where(most <= UNCERTAIN * found.uncertainty, UNTOLD, NOTHING)
    nothing = most <= told * tolerance * largest
    verdict: np.ndarray = np.full(len(size), "wrong", dtype=object)
    rounding = ROUNDING * float(np.finfo(np.float32 if precision == 32 else float).eps)
    verdict[gap <= UNCERTAIN * found.uncertainty + rounding * largest] = "unresolved"
    verdict[error <= tolerance] = "agrees"
    verdict[nothing] = "no effect"
    sides = np.max(np.maximum(np.abs(found.left), np.abs(found.right)), axis=1, initial=0.0)
    verdict[found.kink & ~(nothing & (sides <= NOISE * tolerance * largest))] = "kink"
    verdict[~np.isfinite(exact).all(axis=1)] = "non-finite"
    reports, at = [], 0
    for one, labels in zip(inputs.parts, inputs.labels, strict=True):
        part = slice(at, at + one.count)
        rows = zip(labels, verdict[part], error[part], strict=True)
        reports.append(InputReport(one.name, tuple(Entry(a, b, float(c)) for a, b, c in rows)))
        at += one.count
    return tuple(reports)


def _number(x: float) -> float | None:
    return x if np.isfinite(x) else None
