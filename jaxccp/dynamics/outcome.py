"""What a step's impulses lead to, in whatever coordinates."""

from dataclasses import dataclass

from jaxtyping import Array, Float


@dataclass(frozen=True)
class Outcome:
    """The outcome of a step. The twists differ where a bouncing contact acts late in the step: the
    body first flies on."""

    twist: Float[Array, "nb 6"]
    """After the impulses."""
    transport_velocity: Float[Array, "nb 6"] | Float[Array, " nv"]
    """What carries the poses over the step: twists, or velocities of degrees of freedom."""
    scalars: Float[Array, " s"]
    """Impulses of all scalar rows, the eliminated ones included."""
    contacts: Float[Array, "c w"]
    """Impulses of the contacts in the world: linear, then angular where contacts roll."""
    lever_velocity: Float[Array, " nv"] | None = None
    """What would carry the poses had each impulse the delay at which its lever is taken; None where
    all impulses act at the start, and in maximal coordinates."""
    families: tuple[Float[Array, " nv"], ...] = ()
    """Velocities of the model's families after the impulses."""
    turned: Float[Array, "nb 6"] | None = None
    """What the momenta that late impulses add to bodies on joints are more than those of ``twist``,
    since axes and bodies have turned until then; None where they are not looked at."""
