"""Names that commands offer, listed so that help needs no JAX; a test compares them with the
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
"""Names of ``jaxccp.ccp.SOLVERS`` and the friction cones each supports; without any it takes no
contacts."""

SmoothStepping = Literal["explicit", "implicit"]

STEPPERS = ("euler", "projected", "hht", "newmark", "trapezoidal", "generalised-alpha", "rk4")
"""Names of ``jaxccp.dynamics.steppers.STEPPERS``."""
SOFTENING = ("euler", "projected")
"""Steppers that can be implicit in smooth contact."""
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
"""Names of the scenes of ``jaxccp.scene.library``."""
UrdfActuators = Literal["position", "torque"]
"""The type of the same name in ``jaxccp.io.mjcf.urdf_actuators``."""
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
"""The parameters that are identified by default."""

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
    "dry_friction",
    "stribeck_friction",
    "lower_limit",
    "upper_limit",
    "gain",
    "servo_stiffness",
    "servo_damping",
    "gear",
    "time_constant",
    "gravity",
    "step",
)
"""Names of ``jaxccp.testing.INPUTS``: quantities that derivatives are checked in."""

RESIDUALS = {
    "simulate": "jaxccp.identify.simulation.simulate:Simulate",
    "inverse": "jaxccp.identify.inverse_dynamics.inverse_dynamics:InverseDynamics",
    "impact": "jaxccp.identify.impacts.impacts:Impacts",
}
"""Classes that compare recordings with a model, by the name that --residual has for each."""
METHOD = "jaxccp.identify.estimation.levenberg_marquardt:Method"
"""Settings of the iteration that fits any model."""
RESTARTS = "jaxccp.identify.estimation.restarts:Restarts"
"""Settings of starts that are drawn."""
DESIGN = "jaxccp.identify.excitation.design:Design"
"""Settings of planned motions."""
