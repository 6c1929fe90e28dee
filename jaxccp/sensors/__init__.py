"""Sensors and coordinates of any model, as functions of its state."""

from jaxccp.sensors.coordinates.coordinates import Coordinates
from jaxccp.sensors.coordinates.mujoco_coordinates import mujoco_coordinates
from jaxccp.sensors.registry import KINDS
from jaxccp.sensors.sensor_scope import ContactSelection, SensorScope
from jaxccp.sensors.sensors import Sensor, Sensors, attach_sensors

__all__ = [
    "KINDS",
    "ContactSelection",
    "Coordinates",
    "Sensor",
    "SensorScope",
    "Sensors",
    "attach_sensors",
    "mujoco_coordinates",
]
