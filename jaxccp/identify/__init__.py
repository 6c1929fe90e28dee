"""Parameters of a model from recorded motion, by gradients through rollouts."""

from jaxccp.identify.evaluate import Errors, Evaluator
from jaxccp.identify.fit import Descent, Fit, Loss, fit
from jaxccp.identify.parameters import PARAMETERS
from jaxccp.identify.predict import Experiment
from jaxccp.identify.segments import Segments, cut, whole
from jaxccp.identify.uncertainty import standard_errors

__all__ = [
    "PARAMETERS",
    "Descent",
    "Errors",
    "Evaluator",
    "Experiment",
    "Fit",
    "Loss",
    "Segments",
    "cut",
    "fit",
    "standard_errors",
    "whole",
]
