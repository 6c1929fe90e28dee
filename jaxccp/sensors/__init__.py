"""Sensors and coordinates of any model, as functions of its state."""

from jaxccp.sensors.coordinates import Coordinates, coordinates
from jaxccp.sensors.detail import Detail, Meeting
from jaxccp.sensors.registry import KINDS
from jaxccp.sensors.sensors import Sensor, Sensors, instrument

__all__ = [
    "KINDS",
    "Coordinates",
    "Detail",
    "Meeting",
    "Sensor",
    "Sensors",
    "coordinates",
    "instrument",
]
