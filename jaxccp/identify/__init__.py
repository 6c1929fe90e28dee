"""Identification of a model's parameters from recorded motion, by gradients through rollouts."""

from jaxccp.identify.evaluate import Errors, Evaluator
from jaxccp.identify.fit import Descent, Fit, Loss, fit
from jaxccp.identify.normal import NormalEquations, normal_equations
from jaxccp.identify.parameters import PARAMETERS
from jaxccp.identify.predict import Experiment
from jaxccp.identify.refine import refine
from jaxccp.identify.toss_segments import Segments, cut, whole
from jaxccp.identify.uncertainty import standard_errors

__all__ = [
    "PARAMETERS",
    "Descent",
    "Errors",
    "Evaluator",
    "Experiment",
    "Fit",
    "Loss",
    "NormalEquations",
    "Segments",
    "cut",
    "fit",
    "normal_equations",
    "refine",
    "standard_errors",
    "whole",
]
