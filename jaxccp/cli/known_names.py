"""Names that commands accept, listed so that help needs no JAX; a test compares them with the
registries."""

from typing import Literal

Law = Literal["ccp", "ncp"]
ConeType = Literal["cone", "pyramid", "octagon"]

ALL: tuple[ConeType, ...] = ("cone", "pyramid", "octagon")
SOLVERS: dict[str, tuple[ConeType, ...]] = {
    "auto": ALL,
    "admm": ALL,
    "apgd": ALL,
    "bb": ALL,
    "cg": (),
    "dantzig": ("pyramid",),
    "gradient-newton": ALL,
    "minres": (),
    "newton": ("cone",),
    "pjacobi": ALL,
    "psor": ALL,
    "sipgs": ("cone", "pyramid"),
}
"""Names of ``jaxccp.ccp.SOLVERS``, with the friction cones that each supports; a solver without any
cannot solve contacts."""

SmoothStepping = Literal["explicit", "implicit"]

STEPPERS = ("euler", "projected", "hht", "newmark", "trapezoidal", "generalised-alpha", "rk4")
"""Names of ``jaxccp.dynamics.steppers.STEPPERS``."""
SOFTENING = ("euler", "projected")
"""Steppers with an implicit treatment of smooth contact."""
SCENES = (
    "cube-toss",
    "stack",
    "incline",
    "billiards",
    "granular-smc",
    "cable",
    "beam",
    "cloth-on-sphere",
)
"""Names of the scenes of ``jaxccp.scenes.library``."""
UrdfActuators = Literal["position", "torque"]
"""Kinds of actuators, as in ``jaxccp.io.mjcf.urdf.actuators``."""
MODEL_FILES = (".xml", ".mjcf", ".urdf")

PARAMETERS = (
    "friction",
    "restitution",
    "impact_friction",
    "inertia",
    "half_width",
    "rounding",
    "ground_height",
    "ground_tilt_x",
    "ground_tilt_y",
    "compliance",
    "damping",
    "gravity",
)
"""Names of the parameters of ``jaxccp.identify.cube.fit``."""
IDENTIFIED = (
    "friction",
    "impact_friction",
    "restitution",
    "inertia",
    "half_width",
    "rounding",
    "ground_height",
    "gravity",
)
"""Parameters of the cube that are identified by default."""

INPUTS = (
    "pose",
    "velocity",
    "activation",
    "control",
    "force",
    "mass",
    "centre_of_mass",
    "inertia",
    "friction",
    "impact_friction",
    "pair_friction",
    "rolling",
    "restitution",
    "compliance",
    "contact_damping",
    "young_modulus",
    "poisson_ratio",
    "contact_coefficients",
    "adhesion",
    "size",
    "radius",
    "mesh_scale",
    "anchors",
    "stiffness",
    "damping",
    "rest",
    "armature",
    "damping_polynomial",
    "power_damping",
    "damping_power",
    "dry_friction",
    "stribeck_friction",
    "stribeck_velocity",
    "lower_limit",
    "upper_limit",
    "gain",
    "actuator_offset",
    "servo_stiffness",
    "servo_damping",
    "gear",
    "time_constant",
    "gravity",
    "step",
)
"""Names of ``jaxccp.testing.INPUTS``: quantities whose derivatives can be checked."""

RESIDUALS = {
    "simulate": "jaxccp.identify.simulation.simulate:Simulate",
    "inverse": "jaxccp.identify.inverse_dynamics.inverse_dynamics:InverseDynamics",
    "impact": "jaxccp.identify.impacts.impacts:Impacts",
}
"""Classes of residuals, by their names for --residual."""
METHOD = "jaxccp.identify.estimation.levenberg_marquardt:Method"
"""Class of the settings of the iteration."""
RESTARTS = "jaxccp.identify.estimation.restarts:Restarts"
"""Class of the settings of random starts."""
DESIGN = "jaxccp.identify.excitation.design:Design"
"""Class of the settings of planned motions."""
