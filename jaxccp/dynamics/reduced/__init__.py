"""Mechanisms in reduced coordinates: joints give degrees of freedom in place of equality rows."""

from jaxccp.dynamics.reduced.advance import advance, settle
from jaxccp.dynamics.reduced.reaction import reactions
from jaxccp.dynamics.reduced.system import ReducedSystem, assemble
from jaxccp.model.model import Topology

DENSE = 100
"""Degrees of freedom up to which the mass matrix is stored and factorised as a whole."""


def reducible(topology: Topology) -> bool:
    """Whether all joints are in trees, no tendon is held, and the mass matrix is small."""
    linkage, dofs = topology.linkage, topology.dofs
    loops = dofs.closes_loops or len(linkage.routing.held)
    return bool(linkage.joints) and not loops and dofs.count <= DENSE


__all__ = ["ReducedSystem", "advance", "assemble", "reactions", "reducible", "settle"]
