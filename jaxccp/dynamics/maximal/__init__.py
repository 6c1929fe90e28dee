"""Six velocities for every body: joints are equality rows, solved for along trees in O(n)."""

from jaxccp.dynamics.maximal.eliminated_delassus import EliminatedDelassus
from jaxccp.dynamics.maximal.maximal_system import MaximalSystem, assemble
from jaxccp.dynamics.maximal.poses import advance, corrected, reactions

__all__ = [
    "EliminatedDelassus",
    "MaximalSystem",
    "advance",
    "assemble",
    "corrected",
    "reactions",
]
