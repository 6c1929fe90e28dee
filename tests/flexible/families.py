"""Take the family of a model that has one."""

from jaxccp.flexible.nodal import NodalFamily
from jaxccp.model import Model


def only(model: Model) -> NodalFamily:
    """Return the family of a model that has no other."""
    (family,) = model.families
    assert isinstance(family, NodalFamily)
    return family
