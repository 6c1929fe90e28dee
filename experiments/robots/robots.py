"""Describe the recorded robots: how their errors are measured, and what is identified of them.

Measures are those of the data's README. The same parameters are identified of all robots: bodies
within their priors, and for each axis damping, dry friction and armature with priors proportional
to the robot's torques.
"""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import jaxccp
from jaxccp.identify import InverseDynamics, Parameter, Problem, Simulate, inertial_of, read
from jaxccp.identify.recordings.recording import Recording
from jaxccp.io.mjcf.load import Loaded

FOLDER = Path(__file__).resolve().parent
DATA = Path(os.environ.get("JAXCCP_DATA", FOLDER.parents[2] / "shared/data")) / "robots"
ENCODER = 0.05
"""Standard deviation of the offsets between commanded and measured positions [rad]."""
LAWS = ("viscous", "power", "stribeck")
"""Laws of the rate-dependent friction that is added to dry friction: c v; c v and c' |v|^p; or c v,
and more dry friction at low rates."""


@dataclass(frozen=True)
class Robot:
    """The settings with which one robot's recordings are read and measured."""

    model: str
    data: str
    windows: tuple[float, ...]
    """Lengths of the simulations whose errors are measured [s]."""
    filter: float = 20.0
    """Cut-off frequency of the filter of torques [Hz]."""
    start: float = 20.0
    """Cut-off frequency of the filter of the states that simulations start from [Hz]."""
    trim: float = 0.1
    moving: float = 0.1
    h: float = 2e-3
    """Step of simulations [s]."""
    inverse: bool = True
    """Whether inverse dynamics can be compared with a torque or a servo law."""
    simulated: float | None = None
    """Length of the segments whose simulation is fitted [s]; None: inverse dynamics only."""
    follow: tuple[str, ...] = ()
    """Joints without a torque, which follow their recorded positions."""
    servo: bool = False
    """Whether positions are commanded, and torques follow from a servo law."""
    scale: float = 1.0
    """Scale of the priors [N m], of the order of the expected friction."""


ROBOTS = {
    "tx40": Robot("tx40/tx40_coupled.xml", "tx40/tx40.npz", (0.25,), moving=0.05, h=1e-3),
    "tiago": Robot(
        *("tiago/tiago.xml", "tiago/tiago.npz", (0.5, 2.0)),
        filter=3.0,
        start=3.0,
        trim=0.5,
        moving=0.02,
        follow=(*("torso_lift_joint", "arm_5_joint", "arm_6_joint", "arm_7_joint"),),
    ),
    "go2": Robot("go2/go2.xml", "go2/go2.npz", (0.5, 2.0), servo=True),
    "double_pendulum": Robot(
        *("double_pendulum/double_pendulum.xml", "double_pendulum/double_pendulum.npz", (0.5,)),
        filter=5.0,
        trim=0.3,
        simulated=0.5,
        scale=0.1,
    ),
    "double": Robot(
        *("pendulum_chain/double.xml", "pendulum_chain/double.npz", (1.0, 3.0)),
        trim=0.2,
        inverse=False,
        simulated=1.0,
        scale=0.01,
    ),
    "triple": Robot(
        *("pendulum_chain/triple.xml", "pendulum_chain/triple.npz", (1.0, 3.0)),
        trim=0.2,
        inverse=False,
        simulated=1.0,
        scale=0.01,
    ),
}


def opened(robot: Robot, folder: Path) -> tuple[Loaded, list[Recording]]:
    """Return a robot's model and recordings.

    Args:
        robot: settings of the robot.
        folder: folder of the data.
    """
    loaded = jaxccp.load(folder / robot.model)
    columns = {}
    if robot.follow:
        with np.load(folder / robot.data) as arrays:
            names = [str(name) for name in arrays["joint_names"]]
        columns = {f"q[{names.index(name)}]": "motion" for name in robot.follow}
    leave = ["rate*", *(f'torque["{name}"]' for name in robot.follow)]
    return loaded, read(folder / robot.data, loaded, columns=columns, leave_out=leave)


def parameters(robot: Robot, law: str) -> list[Parameter]:
    """Return the parameters to identify for a robot under one of :data:`LAWS`."""
    s = robot.scale
    out = [
        inertial_of("*", prior=0.3),
        Parameter("axes[*].damping", initial=0.1 * s, lower=0, prior=10 * s),
        Parameter("axes[*].friction", initial=0.5 * s, lower=0, prior=s),
        Parameter("axes[*].armature", initial=0.01 * s, lower=0, prior=s),
    ]
    if robot.inverse and robot.servo:
        out.append(Parameter('channels["control*"].offset', initial=0.0, prior=ENCODER))
    elif robot.inverse:
        out.append(Parameter('channels["torque*"].offset', initial=0.0, prior=2 * s))
    if law == "power":
        out += [
            Parameter("axes[*].power_damping", initial=0.1 * s, lower=0, prior=10 * s),
            Parameter("axes[*].damping_power", initial=0.5, lower=0.1, upper=1.0, prior=0.3),
        ]
    if law == "stribeck":
        out += [
            Parameter("axes[*].stribeck_friction", initial=0.2 * s, lower=0, prior=s),
            Parameter("axes[*].stribeck_velocity", initial=0.1, lower=0.01, upper=1.0, prior=0.1),
        ]
    return out


def inverse(robot: Robot, every: float | None = None) -> InverseDynamics:
    """Return the residual that compares torques; ``every``: time between samples [s]."""
    return InverseDynamics(robot.filter, robot.moving, robot.trim, every)


def simulation(robot: Robot, length: float, start: str = "measured") -> Simulate:
    """Return the residual that compares simulations with recordings.

    Args:
        robot: settings of the robot.
        length: length of the simulated segments [s].
        start: how the initial states are found, ``measured`` or ``unknown``.
    """
    return Simulate(
        segment=length, h=robot.h, start=start, cutoff=robot.start, observe=("position",)
    )


def problem(robot: Robot, folder: Path, law: str, residual: Simulate | InverseDynamics) -> Problem:
    """Return the identification problem of a robot.

    Args:
        robot: settings of the robot.
        folder: folder of the data.
        law: one of :data:`LAWS`.
        residual: how recordings are compared.
    """
    loaded, recordings = opened(robot, folder)
    return Problem(loaded, recordings, parameters(robot, law), residual)
