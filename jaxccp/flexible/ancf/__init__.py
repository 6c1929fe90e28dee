"""Elements of the absolute nodal coordinate formulation (ANCF): nodes have position gradients."""

from jaxccp.flexible.ancf.beam_3243 import BEAM_3243
from jaxccp.flexible.ancf.beam_3333 import BEAM_3333
from jaxccp.flexible.ancf.box import FACES, box
from jaxccp.flexible.ancf.brick_3813 import BRICK_3813
from jaxccp.flexible.ancf.brick_3843 import BRICK_3843
from jaxccp.flexible.ancf.cable import CableElements
from jaxccp.flexible.ancf.continuum import ContinuumElements
from jaxccp.flexible.ancf.rope import rope
from jaxccp.flexible.ancf.shape import Shape
from jaxccp.flexible.ancf.shell_3423 import SHELL_3423
from jaxccp.flexible.ancf.shell_3443 import SHELL_3443
from jaxccp.flexible.ancf.shell_3833 import SHELL_3833

SHAPES = {
    shape.name: shape
    for shape in (
        *(BEAM_3243, BEAM_3333),
        *(SHELL_3423, SHELL_3443, SHELL_3833),
        *(BRICK_3813, BRICK_3843),
    )
}
"""The continuum elements by name. To add one, write a file and add its element here."""

__all__ = ["FACES", "SHAPES", "CableElements", "ContinuumElements", "Shape", "box", "rope"]
