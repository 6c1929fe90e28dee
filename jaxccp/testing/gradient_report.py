"""Report of a check of gradients, input by input."""

from collections import Counter
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Float

from jaxccp.io.output import finite
from jaxccp.testing.differences import Differences
from jaxccp.testing.inputs import Inputs

Verdict = Literal["agrees", "wrong", "kink", "unresolved", "no effect", "non-finite"]
"""Verdict on the derivative in one number."""

UNCERTAIN = 3.0
"""Error of differences that is accepted, in units of their uncertainty."""
ROUNDING = 50.0
"""Error that any derivative may have, in machine epsilons of the largest of all."""
NOTHING = 1e-3
"""A derivative counts as zero if it is at most this, times the tolerance, times the largest
derivative of all, in the natural units of the inputs."""
UNRESOLVED_SHARE = 0.1
"""The same factor for a derivative that is at most ``UNCERTAIN`` times its uncertainty."""
NOISE = 10.0
"""The same factor for the one-sided differences of a derivative that counts as zero; if they are
larger, there may be a kink."""


@dataclass(frozen=True)
class Entry:
    """Result for one number that the motion depends on."""

    label: str
    """Name of the number."""
    verdict: Verdict
    """Verdict on its derivative."""
    error: float
    """Largest error over the outcomes, relative to the largest derivative of any of them."""


@dataclass(frozen=True)
class InputReport:
    """Results for one input."""

    name: str
    """Name of the input."""
    entries: tuple[Entry, ...]
    """Result for each of its numbers."""

    @property
    def error(self) -> float:
        """Worst relative error of the entries that agree or are wrong; NaN if there are none."""
        errors = [e.error for e in self.entries if e.verdict in ("agrees", "wrong")]
        return max(errors, default=float("nan"))

    @property
    def verdicts(self) -> dict[Verdict, int]:
        """Number of entries with each verdict."""
        return dict(Counter(entry.verdict for entry in self.entries))


@dataclass(frozen=True)
class GradientReport:
    """The derivatives of one motion against central differences."""

    inputs: tuple[InputReport, ...]
    """Results for each input."""
    modes: dict[str, int]
    """Number of steps with each mode (:func:`jaxccp.testing.modes.modes`)."""
    shapes: tuple[str, ...]
    """Pairs of kinds of shapes of bodies between which contact forces act
    (:func:`jaxccp.testing.modes.shape_pairs`)."""
    unconverged: int
    """Number of steps whose solve missed the tolerance: there derivatives mean nothing."""
    steps: int
    """Number of steps of the motion."""
    precision: int
    """64 or 32 bits."""
    tolerance: float
    """Relative error above which a derivative counts as wrong."""

    @property
    def error(self) -> float:
        """Worst error of all inputs; NaN where none was resolved."""
        errors = [input_.error for input_ in self.inputs if np.isfinite(input_.error)]
        return max(errors, default=float("nan"))

    def count(self, verdict: Verdict) -> int:
        """Return the number of entries of all inputs with this verdict."""
        return sum(input_.verdicts.get(verdict, 0) for input_ in self.inputs)

    @property
    def passed(self) -> bool:
        """True if no derivative was wrong or not finite."""
        return not self.count("wrong") and not self.count("non-finite")

    def summary(self) -> dict[str, object]:
        """Return the object that ``jaxccp check-gradients --json`` prints last."""
        numbers = {input_.name: finite(input_.error) for input_ in self.inputs}
        wrong = [
            f"{input_.name} {entry.label}: {entry.error:.1e}"
            for input_ in self.inputs
            for entry in input_.entries
            if entry.verdict in ("wrong", "non-finite")
        ]
        return {
            "error": finite(self.error),
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


def judge_inputs(
    inputs: Inputs,
    exact: Float[np.ndarray, "p n"],
    differences: Differences,
    tolerance: float,
    precision: int,
) -> tuple[InputReport, ...]:
    """Return each input with the verdicts on its entries.

    ``non-finite``: ``exact`` has NaN or infinity. ``kink``: slopes to the left and to the right
    differ. ``no effect``: both are zero as far as can be told. ``agrees``: within the tolerance.
    ``unresolved``: beyond it, but by no more than the uncertainty of the differences and the
    rounding of ``exact``; or the differences have NaN or infinity. ``wrong``: anything else. The
    first that holds is the verdict.

    Args:
        inputs: the inputs.
        exact: derivatives to check.
        differences: central differences.
        tolerance: relative error above which a derivative counts as wrong.
        precision: 64 or 32 bits.
    """
    size = np.max(np.abs(differences.value), axis=1, initial=0.0)
    tiny = np.finfo(float).tiny
    gap = np.max(np.abs(exact - differences.value), axis=1, initial=0.0)
    error = gap / np.maximum(size, tiny)
    largest = np.max(np.where(np.isfinite(size), size, 0.0), initial=0.0)
    exact_size = np.max(np.abs(exact), axis=1, initial=0.0)
    largest_size = np.maximum(size, exact_size)
    share = np.where(largest_size <= UNCERTAIN * differences.uncertainty, UNRESOLVED_SHARE, NOTHING)
    nothing = largest_size <= share * tolerance * largest
    verdict: np.ndarray = np.full(len(size), "wrong", dtype=object)
    rounding = ROUNDING * float(np.finfo(np.float32 if precision == 32 else float).eps)
    verdict[gap <= UNCERTAIN * differences.uncertainty + rounding * largest] = "unresolved"
    verdict[~np.isfinite(differences.value).all(axis=1)] = "unresolved"
    verdict[error <= tolerance] = "agrees"
    verdict[nothing] = "no effect"
    sides = np.max(
        np.maximum(np.abs(differences.left), np.abs(differences.right)), axis=1, initial=0.0
    )
    verdict[differences.kink & ~(nothing & (sides <= NOISE * tolerance * largest))] = "kink"
    verdict[~np.isfinite(exact).all(axis=1)] = "non-finite"
    reports, at = [], 0
    for input_, labels in zip(inputs.parts, inputs.labels, strict=True):
        part = slice(at, at + input_.count)
        rows = zip(labels, verdict[part], error[part], strict=True)
        reports.append(InputReport(input_.name, tuple(Entry(a, b, float(c)) for a, b, c in rows)))
        at += input_.count
    return tuple(reports)
