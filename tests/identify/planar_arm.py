"""Define a planar arm of two links, with base parameters derived by hand, and its motions."""

import numpy as np

from jaxccp.identify import recording
from jaxccp.identify.recordings.recording import Recording

JOINTS = ("hip", "knee")
LENGTHS, MASSES, CENTRES = (0.3, 0.25), (1.2, 0.8), (0.15, 0.1)
SPINS = (0.02, 0.01)
"""Moments of inertia about the centres of mass [kg m²]."""
XML = f"""<mujoco><compiler angle="radian"/><worldbody>
<body name="upper"><joint name="hip" axis="0 1 0" range="-2 2"/>
  <inertial pos="{CENTRES[0]} 0 0" mass="{MASSES[0]}"
    diaginertia="{SPINS[0]} {SPINS[0]} {SPINS[0]}"/>
  <body name="lower" pos="{LENGTHS[0]} 0 0"><joint name="knee" axis="0 1 0" range="-2.5 2.5"/>
    <inertial pos="{CENTRES[1]} 0 0" mass="{MASSES[1]}"
      diaginertia="{SPINS[1]} {SPINS[1]} {SPINS[1]}"/></body></body></worldbody></mujoco>"""


def base_of(link_masses, moments, spins):
    """Return the six base parameters of the arm: first moments x and z and moment of inertia of
    each link.

    Moments are about the joint of the link; those of the first link include the second's mass at
    its end.

    Args:
        link_masses: masses [kg].
        moments: mass times centre from the joint, x and z of each link [kg m].
        spins: moments of inertia about the joints [kg m²].
    """
    (_, second_mass), length = link_masses, LENGTHS[0]
    first = [
        moments[0][0] + second_mass * length,
        moments[0][1],
        spins[0] + second_mass * length**2,
    ]
    return np.array([*first, *moments[1], spins[1]])


def regressor(q, rate, gain):
    """Return the torques of hip and knee for unit base parameters [2 6], from the Lagrangian of the
    arm.

    A link turned by a about +y has its x axis at (cos a, −sin a) in the plane (x, z).

    Args:
        q: angles of the joints [rad].
        rate: their rates [rad/s].
        gain: their accelerations [rad/s²].
    """
    length, gravity = LENGTHS[0], 9.81
    angle, speed, faster = np.cumsum(q), np.cumsum(rate), np.cumsum(gain)
    relative_angle = q[1]
    cosine, sine = np.cos(relative_angle), np.sin(relative_angle)
    # Of absolute angles: d/dt ∂L/∂ȧ − ∂L/∂a, columns X1 Z1 J1 X2 Z2 J2.
    out = np.zeros((2, 6))
    out[0, 0], out[0, 1] = -gravity * np.cos(angle[0]), -gravity * np.sin(angle[0])
    out[0, 2] = faster[0]
    out[0, 3] = length * (faster[1] * cosine - speed[1] ** 2 * sine)
    out[0, 4] = length * (faster[1] * sine + speed[1] ** 2 * cosine)
    out[1, 3] = length * (faster[0] * cosine + speed[0] ** 2 * sine)
    out[1, 4] = length * (faster[0] * sine - speed[0] ** 2 * cosine)
    out[1, 3] += -gravity * np.cos(angle[1])
    out[1, 4] += -gravity * np.sin(angle[1])
    out[1, 5] = faster[1]
    return np.stack([out[0] + out[1], out[1]])


def swing(seconds: float = 2.0) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return times, angles, rates and accelerations of a motion of both joints."""
    time = np.arange(0.0, seconds, 0.01)[:, None]
    speed, phase, size = np.array([3.0, 4.1]), np.array([0.3, 1.0]), np.array([0.9, 1.1])
    wave = speed * time + phase
    return (
        time[:, 0],
        size * np.sin(wave),
        size * speed * np.cos(wave),
        -size * speed**2 * np.sin(wave),
    )


def recorded(time, q, torque, noise: float = 0.01, name: str = "swing") -> Recording:
    """Return a recording of positions and torques of both joints.

    Args:
        time: times of the samples [s].
        q: angles of the joints [rad], one column per joint.
        torque: torques of the joints [N m], one column per joint.
        noise: standard deviation of the torques [N m].
        name: name of the recording.
    """
    return recording(
        time,
        name,
        noise={"torque": noise},
        position=dict(zip(JOINTS, q.T, strict=True)),
        torque=dict(zip(JOINTS, torque.T, strict=True)),
    )
