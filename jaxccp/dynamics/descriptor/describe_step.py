"""The blocks of the problem that a stepper solves in one step."""

from jaxtyping import Array, Float

from jaxccp.dynamics.descriptor.describe import describe
from jaxccp.dynamics.descriptor.descriptor import Descriptor
from jaxccp.dynamics.stepper import StepLength
from jaxccp.dynamics.steppers import EulerStepper
from jaxccp.dynamics.steppers.parts import assemble_step
from jaxccp.dynamics.steppers.settings import ImpulseCarry
from jaxccp.model.model import Model


def describe_step(
    stepper: EulerStepper,
    model: Model,
    carry: ImpulseCarry,
    force: Float[Array, "nb 6"] | None = None,
    control: Float[Array, " nm"] | None = None,
    *,
    h: StepLength | None = None,
) -> Descriptor:
    """Return the blocks H, J, E, f and b of the step that ``stepper.advance`` would take.

    f includes the forces of smooth contacts. If the stepper is implicit in them, H includes their h
    R + h² K, over all velocities at once. Use a stepper with ``eliminate=False`` for blocks over
    the twists of bodies.

    Args:
        stepper: an Euler stepper.
        model: the model.
        carry: carry at the start of the step.
        force: applied force [N] and torque [N m] on each body, world axes.
        control: control of each actuator, 0 when None.
        h: length of the step [s]; that of the settings when None.

    Raises:
        ValueError: the stepper is not an Euler stepper, an array has another shape, or ``h`` is not
            positive; see also :func:`jaxccp.dynamics.describe`.
    """
    return describe(model, assemble_step(stepper, model, carry, force, control, h).system)
