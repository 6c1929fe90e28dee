"""MJCF and URDF files, through MuJoCo's compiler (extra ``mjcf``)."""

from jaxccp.io.mjcf.import_report import UnsupportedError
from jaxccp.io.mjcf.keyframes import Keyframe
from jaxccp.io.mjcf.load import Loaded, load

__all__ = ["Keyframe", "Loaded", "UnsupportedError", "load"]
