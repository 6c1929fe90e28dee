"""Mechanisms in reduced coordinates: joints give degrees of freedom in place of equality rows."""

from jaxccp.dynamics.reduced.advance import advance, moved, settle
from jaxccp.dynamics.reduced.reduced_system import ReducedSystem, assemble
from jaxccp.dynamics.reduced.shake import corrected
from jaxccp.dynamics.reduced.tree_reaction import reactions
from jaxccp.model.model import DENSE, Topology


def reducible(topology: Topology) -> bool:
    """Whether there are joints or families, something that moves, and a small mass matrix of
    the rigid bodies."""
    families = bool(topology.carried.any())
    return families or (bool(topology.linkage.joints) and 0 < topology.dofs.count <= DENSE)


__all__ = [
    "ReducedSystem",
    "advance",
    "assemble",
    "corrected",
    "moved",
    "reactions",
    "reducible",
    "settle",
]
