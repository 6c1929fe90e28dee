"""Families of models that have one."""

from jaxccp.flexible.nodal import NodalFamily
from jaxccp.model import Model


def only(model: Model) -> NodalFamily:
    """The family of a model that has no other."""
    (family,) = model.families
    assert isinstance(family, NodalFamily)
    return family
