"""Trees and families, which share a mass matrix: joints give degrees of freedom, not rows."""

from jaxccp.model.topology import DENSE, Topology


def reducible(topology: Topology) -> bool:
    """Tell whether a model can be stepped in reduced coordinates.

    A model with frames of families always can. Any other needs joints that are degrees of freedom,
    and from 1 to :data:`~jaxccp.model.topology.DENSE` degrees of freedom in the dense mass matrix,
    or to ``topology.dense`` if that is more.

    Args:
        topology: topology of the model.
    """
    if topology.family_frames.any():
        return True
    if topology.block_diagonal_mass or not topology.linkage.joints:
        return False
    return 0 < topology.dofs.count <= max(topology.dense, DENSE)
