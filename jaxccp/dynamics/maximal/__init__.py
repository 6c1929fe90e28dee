"""Maximal coordinates: six velocities for every body; joints are equality rows, solved along trees
in O(n)."""

from jaxccp.dynamics.maximal.assembly import assemble
from jaxccp.dynamics.maximal.eliminated_delassus import EliminatedDelassus
from jaxccp.dynamics.maximal.maximal_system import MaximalSystem

__all__ = [
    "EliminatedDelassus",
    "MaximalSystem",
    "assemble",
]
