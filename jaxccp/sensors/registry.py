"""The kinds of sensors, by the names that MuJoCo gives them; a new one is a function and a line."""

from jaxccp.sensors import along, force, frame, total
from jaxccp.sensors.reading import Kind

KINDS = {
    "jointpos": Kind("axis", along.coordinate),
    "jointvel": Kind("axis", along.rate),
    "ballquat": Kind("ball", along.ball_orientation),
    "ballangvel": Kind("ball", along.ball_rate),
    "tendonpos": Kind("tendon", along.tendon_length),
    "tendonvel": Kind("tendon", along.tendon_rate),
    "tendonactfrc": Kind("tendon", along.tendon_force),
    "actuatorpos": Kind("actuator", along.actuator_length),
    "actuatorvel": Kind("actuator", along.actuator_rate),
    "actuatorfrc": Kind("actuator", along.actuator_force),
    "framepos": Kind("frame", frame.position),
    "framequat": Kind("frame", frame.orientation),
    "framexaxis": Kind("frame", frame.axis(0)),
    "frameyaxis": Kind("frame", frame.axis(1)),
    "framezaxis": Kind("frame", frame.axis(2)),
    "framelinvel": Kind("frame", frame.linear_velocity),
    "frameangvel": Kind("frame", frame.angular_velocity),
    "framelinacc": Kind("frame", frame.linear_acceleration, "acceleration"),
    "frameangacc": Kind("frame", frame.angular_acceleration, "acceleration"),
    "accelerometer": Kind("frame", frame.accelerometer, "acceleration"),
    "velocimeter": Kind("frame", frame.velocimeter),
    "gyro": Kind("frame", frame.gyro),
    "magnetometer": Kind("frame", frame.magnetometer),
    "subtreecom": Kind("bodies", total.centre),
    "subtreelinvel": Kind("bodies", total.centre_velocity),
    "subtreeangmom": Kind("bodies", total.angular_momentum),
    "clock": Kind("all", total.clock),
    "e_kinetic": Kind("all", total.kinetic),
    "e_potential": Kind("all", total.potential),
    # These have another meaning in MuJoCo, or none.
    "touch": Kind("body", force.touch, "report"),
    "contactforce": Kind("body", force.contact_force, "report"),
    "contacttorque": Kind("body", force.contact_torque, "report"),
    "jointforce": Kind("joint", force.joint_force, "report"),
    "jointtorque": Kind("joint", force.joint_torque, "report"),
}
