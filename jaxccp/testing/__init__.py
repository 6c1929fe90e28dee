"""Checks of a user's own model: do its derivatives agree with differences of its values?"""

from jaxccp.testing.check import check_gradients
from jaxccp.testing.explain import GradientExplanation, explain_gradient
from jaxccp.testing.gradient_report import Entry, GradientReport, InputReport, Verdict
from jaxccp.testing.inputs import INPUTS

__all__ = [
    "INPUTS",
    "Entry",
    "GradientExplanation",
    "GradientReport",
    "InputReport",
    "Verdict",
    "check_gradients",
    "explain_gradient",
]
