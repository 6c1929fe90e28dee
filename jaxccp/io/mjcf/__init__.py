"""MJCF and URDF files, through MuJoCo's compiler (extra ``mjcf``)."""

from jaxccp.io.mjcf.findings import UnsupportedError
from jaxccp.io.mjcf.keyframes import Keyframe
from jaxccp.io.mjcf.layout import Layout
from jaxccp.io.mjcf.load import Loaded, load
from jaxccp.io.mjcf.sensors import Sensors
from jaxccp.io.mjcf.sites import Sites

__all__ = ["Keyframe", "Layout", "Loaded", "Sensors", "Sites", "UnsupportedError", "load"]
