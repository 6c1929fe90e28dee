"""Setup of a motion: all that it starts from and is driven by."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.dynamics.rows.row import rates
from jaxccp.dynamics.tangent import difference, retract
from jaxccp.model import Model, State, forward_kinematics, joint_motion
from jaxccp.model.state import Rotors


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Setup:
    """A model and a state whose bodies are placed by :meth:`start` after all changes."""

    model: Model
    """The model."""
    state: State
    """The state."""
    coordinate: Float[Array, " na"]
    """Coordinates of the joints' axes [m, rad], kept where anchors or centres of mass move."""
    rate: Float[Array, " na"]
    """Rates of the joints' axes [m/s, rad/s], kept too."""
    rotors: Float[Array, " k"]
    """Rates of the rotors of axes and tendons [m/s, rad/s], kept too."""
    change: Float[Array, " 2*nv+ma"]
    """Change of the state in tangent coordinates."""
    force: Float[Array, "nb 6"]
    """Force [N] and torque [N m] on each body in every step."""
    control: Float[Array, " nm"]
    """Addition to the controls of every step."""
    stretch: Float[Array, ""]
    """Relative change of the length of a step."""

    @staticmethod
    def of(model: Model, state: State) -> "Setup":
        """Make the setup of a motion without changes.

        Args:
            model: the model.
            state: its initial state.
        """
        zero = jnp.zeros((), state.position.dtype)
        coordinate = rate = jnp.zeros_like(state.joint_positions)
        linkage, rotor_rates = model.topology.linkage, state.rotors.rate
        if linkage.linked:
            motion = joint_motion(model, state)
            coordinate, rate = motion.coordinate, motion.rate
            rotor_rates = rotor_rates + rates(linkage, motion, state.twist - state.rotors.twist)
        return Setup(
            model=model,
            state=state,
            coordinate=coordinate,
            rate=rate,
            rotors=rotor_rates,
            change=jnp.zeros_like(difference(model, state, state)),
            force=jnp.zeros((len(model.topology.bodies), 6), zero.dtype),
            control=jnp.zeros(len(model.topology.linkage.actuators), zero.dtype),
            stretch=zero,
        )

    def start(self) -> State:
        """Return the state with its bodies placed by the joints, and then changed."""
        linkage = self.model.topology.linkage
        state = self.state
        if linkage.joints:
            state = forward_kinematics(self.model, state, self.coordinate, self.rate)
        if linkage.linked:
            state = replace(state, rotors=Rotors(self.rotors, state.twist))
        return retract(self.model, state, self.change)

    def in_double(self) -> "Setup":
        """Return the same numbers in double precision."""
        return self._cast(jnp.float64)

    def in_single(self) -> "Setup":
        """Return the nearest numbers in single precision."""
        return self._cast(jnp.float32)

    def _cast(self, dtype: type) -> "Setup":
        def cast(leaf: Array) -> Array:
            return leaf.astype(dtype) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf

        return jax.tree.map(cast, jax.tree.map(jnp.asarray, self))


def with_model(setup: Setup, **parts: object) -> Setup:
    """Return the setup with other parts of the model."""
    return replace(setup, model=replace(setup.model, **parts))
