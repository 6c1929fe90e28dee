"""Identification of models' parameters from recordings, by exact derivatives of simulations.

:class:`Problem` is for any model; :class:`Experiment` and :func:`fit` are for tosses of one body.
"""

from jaxccp.identify.checks import check
from jaxccp.identify.cross_validation import Comparison, CrossValidation, compare
from jaxccp.identify.evaluate import Errors, Evaluator
from jaxccp.identify.evaluation import Evaluation, Predictor, split
from jaxccp.identify.fit import Descent, Fit, Loss, fit
from jaxccp.identify.impacts import Impacts, law_number
from jaxccp.identify.inverse_dynamics import InverseDynamics
from jaxccp.identify.levenberg_marquardt import Method
from jaxccp.identify.normal import NormalEquations, normal_equations
from jaxccp.identify.parameter import Parameter, inertial_of
from jaxccp.identify.parameters import PARAMETERS
from jaxccp.identify.predict import Experiment
from jaxccp.identify.problem import Case, Problem
from jaxccp.identify.read import read
from jaxccp.identify.recording import Channel, Recording, recording
from jaxccp.identify.refine import refine
from jaxccp.identify.report_json import read_values
from jaxccp.identify.simulate import Simulate
from jaxccp.identify.toss_segments import Segments, cut, whole
from jaxccp.identify.uncertainty import standard_errors
from jaxccp.identify.write_model import write_identified

__all__ = [
    "PARAMETERS",
    "Case",
    "Channel",
    "Comparison",
    "CrossValidation",
    "Descent",
    "Errors",
    "Evaluation",
    "Evaluator",
    "Experiment",
    "Fit",
    "Impacts",
    "InverseDynamics",
    "Loss",
    "Method",
    "NormalEquations",
    "Parameter",
    "Predictor",
    "Problem",
    "Recording",
    "Segments",
    "Simulate",
    "check",
    "compare",
    "cut",
    "fit",
    "inertial_of",
    "law_number",
    "normal_equations",
    "read",
    "read_values",
    "recording",
    "refine",
    "split",
    "standard_errors",
    "whole",
    "write_identified",
]
