"""The laws of normal force by name. To add one, write a file and add it here."""

from jaxccp.model.smooth.flores import flores
from jaxccp.model.smooth.hertz import hertz
from jaxccp.model.smooth.hooke import hooke
from jaxccp.model.smooth.normal_law import NormalLaw
from jaxccp.model.smooth.plain_coulomb import plain_coulomb

NORMAL: dict[str, NormalLaw] = {
    "hooke": hooke,
    "hertz": hertz,
    "plain-coulomb": plain_coulomb,
    "flores": flores,
}
"""The laws of normal force by name."""
