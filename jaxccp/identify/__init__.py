"""Identification of models' parameters from recordings, by exact derivatives of simulations."""

from jaxccp.identify.case import Case
from jaxccp.identify.checks.check import check
from jaxccp.identify.estimation.cross_validation import Comparison, CrossValidation, compare
from jaxccp.identify.estimation.evaluation import Evaluation, Predictor, split
from jaxccp.identify.estimation.levenberg_marquardt import Method
from jaxccp.identify.estimation.restarts import Restarts
from jaxccp.identify.excitation.design import Design
from jaxccp.identify.excitation.excite import excite
from jaxccp.identify.excitation.limits import Limits
from jaxccp.identify.excitation.result import Excitation
from jaxccp.identify.fit import Fit
from jaxccp.identify.impacts.impacts import Impacts, law_number
from jaxccp.identify.inverse_dynamics.inverse_dynamics import InverseDynamics
from jaxccp.identify.parameters.parameter import Parameter
from jaxccp.identify.parameters.problem_parameters import inertial_of
from jaxccp.identify.problem import Problem
from jaxccp.identify.read import read
from jaxccp.identify.recordings.recording import Channel, Recording, recording
from jaxccp.identify.report.as_json import read_values
from jaxccp.identify.report.write_model import write_identified
from jaxccp.identify.simulation.simulate import Simulate

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
