"""Dynamics: the cone problem of a step, time steppers, rollouts, statics and linearisation."""

from jaxccp.dynamics.acceleration import Acceleration, accelerations, mean_acceleration
from jaxccp.dynamics.contact.contact_data import ContactData, Mode
from jaxccp.dynamics.descriptor.describe import KRMBlocks, describe
from jaxccp.dynamics.descriptor.describe_step import describe_step
from jaxccp.dynamics.descriptor.descriptor import Descriptor
from jaxccp.dynamics.descriptor.mass_matrix import BodyMassMatrix, FactoredMassMatrix, MassMatrix
from jaxccp.dynamics.descriptor.matrices import Coo, Matrices, matrices
from jaxccp.dynamics.inertia import energy, momentum
from jaxccp.dynamics.inverse.inverse_dynamics import inverse_dynamics, mass_matrix, site_jacobian
from jaxccp.dynamics.inverse.inverse_kinematics import InverseKinematics, inverse_kinematics
from jaxccp.dynamics.linearise import Linearisation, linearise
from jaxccp.dynamics.projection import close_loops
from jaxccp.dynamics.rollouts.adaptive import AdaptiveReport, AdaptiveStatus, rollout_adaptive
from jaxccp.dynamics.rollouts.batch import rollout_batch
from jaxccp.dynamics.rollouts.capacity import with_capacity
from jaxccp.dynamics.rollouts.rollout import Trajectory, fit_capacity, rollout
from jaxccp.dynamics.statics.equilibrium import Equilibrium, equilibrium
from jaxccp.dynamics.statics.modes import Modes, modes
from jaxccp.dynamics.step import StepSystem, assemble_system
from jaxccp.dynamics.step_report import StepReport
from jaxccp.dynamics.stepper import Carry, Stepper
from jaxccp.dynamics.steppers import STEPPERS
from jaxccp.dynamics.steppers.euler import EulerImplicitLinearized
from jaxccp.dynamics.steppers.generalised_alpha import GeneralisedAlpha
from jaxccp.dynamics.steppers.hht import HHT
from jaxccp.dynamics.steppers.newmark import Newmark, Trapezoidal
from jaxccp.dynamics.steppers.projected import EulerImplicitProjected
from jaxccp.dynamics.steppers.rk4 import RungeKutta4
from jaxccp.dynamics.tangent import difference, retract, tangent_names

__all__ = [
    "HHT",
    "STEPPERS",
    "Acceleration",
    "AdaptiveReport",
    "AdaptiveStatus",
    "BodyMassMatrix",
    "Carry",
    "ContactData",
    "Coo",
    "Descriptor",
    "Equilibrium",
    "EulerImplicitLinearized",
    "EulerImplicitProjected",
    "FactoredMassMatrix",
    "GeneralisedAlpha",
    "InverseKinematics",
    "KRMBlocks",
    "Linearisation",
    "MassMatrix",
    "Matrices",
    "Mode",
    "Modes",
    "Newmark",
    "RungeKutta4",
    "StepReport",
    "StepSystem",
    "Stepper",
    "Trajectory",
    "Trapezoidal",
    "accelerations",
    "assemble_system",
    "close_loops",
    "describe",
    "describe_step",
    "difference",
    "energy",
    "equilibrium",
    "fit_capacity",
    "inverse_dynamics",
    "inverse_kinematics",
    "linearise",
    "mass_matrix",
    "matrices",
    "mean_acceleration",
    "modes",
    "momentum",
    "retract",
    "rollout",
    "rollout_adaptive",
    "rollout_batch",
    "site_jacobian",
    "tangent_names",
    "with_capacity",
]
