"""The problem of a step, in the coordinates that suit its model."""

from jaxtyping import Array, Float

from jaxccp.collision.detect import Contacts
from jaxccp.dynamics import maximal, reduced
from jaxccp.dynamics.smooth import Resistance
from jaxccp.dynamics.system import System
from jaxccp.model.kinematics.joint_motion import JointMotion, joint_motion, tree_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State


def assemble_system(
    model: Model,
    state: State,
    contacts: Contacts,
    h: Float[Array, ""] | float,
    force: Float[Array, "nb 6"] | None = None,
    control: Float[Array, " nm"] | None = None,
    resistance: Resistance | None = None,
    *,
    shares_mass_matrix: bool,
    eliminate: bool = True,
) -> tuple[System, JointMotion | None]:
    """Assemble the problem of a step.

    Args:
        model: the model.
        state: the state at the start of the step.
        contacts: the contacts there.
        h: length of the step [s].
        force: applied force [N] and torque [N m] on each body, world axes, or None.
        control: control of each actuator, 0 when None.
        resistance: resistance of the smooth contacts whose forces are in ``force``, or None; only
            for bodies that share a mass matrix.
        shares_mass_matrix: whether one mass matrix couples the bodies along the joints of trees;
            if not, each body has its own, and all joints are rows.
        eliminate: whether to solve beforehand for equality rows: those of loops and of tendons of
            given length beside trees, those of all joints without trees.

    Returns:
        The problem, and the motion of joints and tendons; None for a model without them whose
        bodies do not share a mass matrix.

    Raises:
        ValueError: the model has families, and its bodies do not share a mass matrix.
    """
    if shares_mass_matrix:
        motion = tree_motion(model, state)
        system = reduced.assemble(
            model, state, contacts, h, force, motion, control, resistance, eliminate
        )
        return system, motion
    motion = joint_motion(model, state) if model.topology.linkage.linked else None
    return maximal.assemble(model, state, contacts, h, force, motion, control, eliminate), motion
