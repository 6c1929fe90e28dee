"""The kinds of sensors, by the names that MuJoCo gives them; a new one is a function and a line."""

from jaxccp.sensors import (
    contact_pairs,
    frame,
    frame_wrench,
    joint_coordinates,
    range_finder,
    reaction_forces,
    subtree,
)
from jaxccp.sensors.reading import Kind

KINDS = {
    "jointpos": Kind("axis", joint_coordinates.coordinate),
    "jointvel": Kind("axis", joint_coordinates.rate),
    "ballquat": Kind("ball", joint_coordinates.ball_orientation),
    "ballangvel": Kind("ball", joint_coordinates.ball_rate),
    "tendonpos": Kind("tendon", joint_coordinates.tendon_length),
    "tendonvel": Kind("tendon", joint_coordinates.tendon_rate),
    "tendonactfrc": Kind("tendon", joint_coordinates.tendon_actuator_force),
    "actuatorpos": Kind("actuator", joint_coordinates.actuator_length),
    "actuatorvel": Kind("actuator", joint_coordinates.actuator_rate),
    "actuatorfrc": Kind("actuator", joint_coordinates.actuator_force),
    "framepos": Kind("frame", frame.position, relative=True),
    "framequat": Kind("frame", frame.orientation, relative=True),
    "framexaxis": Kind("frame", frame.axis(0), relative=True),
    "frameyaxis": Kind("frame", frame.axis(1), relative=True),
    "framezaxis": Kind("frame", frame.axis(2), relative=True),
    "framelinvel": Kind("frame", frame.linear_velocity, relative=True),
    "frameangvel": Kind("frame", frame.angular_velocity, relative=True),
    "framelinacc": Kind("frame", frame.linear_acceleration, "acceleration"),
    "frameangacc": Kind("frame", frame.angular_acceleration, "acceleration"),
    "accelerometer": Kind("frame", frame.accelerometer, "acceleration"),
    "velocimeter": Kind("frame", frame.velocimeter),
    "gyro": Kind("frame", frame.gyro),
    "magnetometer": Kind("frame", frame.magnetometer),
    "rangefinder": Kind("frame", range_finder.length, counts="body"),
    "force": Kind("frame", frame_wrench.force, "both", counts="subtree"),
    "torque": Kind("frame", frame_wrench.torque, "both", counts="subtree"),
    "zonetouch": Kind("frame", reaction_forces.zone_touch, "report", counts="body"),
    "contact": Kind("frame", contact_pairs.contacts, "report", counts="pairs"),
    "subtreecom": Kind("bodies", subtree.centre),
    "subtreelinvel": Kind("bodies", subtree.centre_velocity),
    "subtreeangmom": Kind("bodies", subtree.angular_momentum),
    "clock": Kind("all", subtree.clock),
    "e_kinetic": Kind("all", subtree.kinetic),
    "e_potential": Kind("all", subtree.potential),
    # In MuJoCo these have another meaning or do not exist; zonetouch is MuJoCo's touch.
    "touch": Kind("body", reaction_forces.touch, "report"),
    "contactforce": Kind("body", reaction_forces.contact_force, "report"),
    "contacttorque": Kind("body", reaction_forces.contact_torque, "report"),
    "jointforce": Kind("joint", reaction_forces.joint_force, "report"),
    "jointtorque": Kind("joint", reaction_forces.joint_torque, "report"),
}
"""Kinds of sensors by MuJoCo's names, except ``touch``, which sums over a whole body: MuJoCo's
``touch`` is ``zonetouch``."""
