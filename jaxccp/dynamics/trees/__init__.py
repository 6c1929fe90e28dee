"""Trees and families, which share a mass matrix: joints give degrees of freedom, not rows."""

from jaxccp.model.topology import DENSE, Topology


def reducible(topology: Topology) -> bool:
    """Tell whether a model can be stepped in reduced coordinates.

    It needs joints or families, something that moves, and few enough degrees of freedom of the
    rigid bodies for one dense mass matrix.

    Args:
        topology: topology of the model.
    """
    if topology.family_frames.any():
        return True
    if topology.block_diagonal_mass or not topology.linkage.joints:
        return False
    return 0 < topology.dofs.count <= DENSE
