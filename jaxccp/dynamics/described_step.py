"""The blocks of the problem that a step solves, as the stepper has them."""

from jaxtyping import Array, Float

from jaxccp.dynamics.descriptor import Descriptor, describe
from jaxccp.dynamics.reduced_descriptor import ReducedDescriptor
from jaxccp.dynamics.steppers import EulerStepper
from jaxccp.dynamics.steppers.parts import assembled
from jaxccp.dynamics.steppers.settings import ImpulseCarry
from jaxccp.model.model import Model


def describe_step(
    stepper: EulerStepper,
    model: Model,
    carry: ImpulseCarry,
    force: Float[Array, "nb 6"] | None = None,
    control: Float[Array, " nm"] | None = None,
) -> Descriptor | ReducedDescriptor:
    """The blocks H, J, E, f and b of the step that ``stepper.advance`` takes with these arguments.

    Forces of smooth contacts are in f; where the stepper is implicit in them, H has their
    h R + h² K beside those of families, over all velocities at once. Blocks over twists of bodies
    are those of a stepper with ``eliminate=False``.

    Raises:
        ValueError: what :func:`jaxccp.dynamics.describe` refuses.
    """
    return describe(model, assembled(stepper, model, carry, force, control).system)
