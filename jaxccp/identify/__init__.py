"""Identification of models' parameters from recordings, by exact derivatives of simulations."""

from jaxccp.identify.case import Case
from jaxccp.identify.checks import check
from jaxccp.identify.cross_validation import Comparison, CrossValidation, compare
from jaxccp.identify.evaluation import Evaluation, Predictor, split
from jaxccp.identify.excitation import excite
from jaxccp.identify.excitation_design import Design
from jaxccp.identify.excitation_limits import Limits
from jaxccp.identify.excitation_result import Excitation
from jaxccp.identify.fit import Fit
from jaxccp.identify.impacts import Impacts, law_number
from jaxccp.identify.inverse_dynamics import InverseDynamics
from jaxccp.identify.levenberg_marquardt import Method
from jaxccp.identify.parameter import Parameter, inertial_of
from jaxccp.identify.problem import Problem
from jaxccp.identify.read import read
from jaxccp.identify.recording import Channel, Recording, recording
from jaxccp.identify.report_json import read_values
from jaxccp.identify.restarts import Restarts
from jaxccp.identify.simulate import Simulate
from jaxccp.identify.write_model import write_identified

__all__ = [
    "Case",
    "Channel",
    "Comparison",
    "CrossValidation",
    "Design",
    "Evaluation",
    "Excitation",
    "Fit",
    "Impacts",
    "InverseDynamics",
    "Limits",
    "Method",
    "Parameter",
    "Predictor",
    "Problem",
    "Recording",
    "Restarts",
    "Simulate",
    "check",
    "compare",
    "excite",
    "inertial_of",
    "law_number",
    "read",
    "read_values",
    "recording",
    "split",
    "write_identified",
]
