"""Scalar rows of the problem, and the inputs that families make them from."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import DTypeLike
from jaxtyping import Array, Float, Int

from jaxccp.dynamics.inertia import InverseRoot
from jaxccp.model.kinematics.joint_motion import JointMotion
from jaxccp.model.linkage import Linkage
from jaxccp.model.model import Model
from jaxccp.model.state import Rotors, State

VANISHING = 1e-15
"""Value used for α in 1/α if α is 0 [kg, kg m²]; its 1/α² is finite in float32."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Rows:
    """Scalar rows over k bodies each: lo ≤ λ ≤ hi, u = J V⁺ + bias + compliance λ.

    A compliant row without bounds is also λ = −α J V⁺ − offset, with α = 1/compliance and offset =
    α bias; this form is smooth at α = 0.
    """

    jacobian: Float[Array, "s k w"]
    """J. In maximal coordinates, over the bodies' twists (linear, angular; world): w = 6, zero for
    absent bodies. In reduced coordinates, over all velocities of a mechanism: w = nv and k = 1."""
    bodies: Int[Array, "s k"]
    """Bodies of each row; for rows of joints the first and the second body. 0 for absent bodies and
    in reduced coordinates."""
    bias: Float[Array, " s"]
    """b [m/s, rad/s]."""
    compliance: Float[Array, " s"]
    """Diagonal of E."""
    lo: Float[Array, " s"]
    """Smallest impulse [N s, N m s]."""
    hi: Float[Array, " s"]
    """Largest impulse [N s, N m s]."""
    stiffness: Float[Array, " s"]
    """α of compliant rows [kg, kg m²]; 0 for others."""
    offset: Float[Array, " s"]
    """α b of compliant rows [N s, N m s]; 0 for others."""

    @staticmethod
    def rigid(jacobian: Array, bodies: Array, bias: Array, lo: Array, hi: Array) -> "Rows":
        """Return rows without compliance.

        Args:
            jacobian: J of n rows.
            bodies: bodies of each row.
            bias: b [m/s, rad/s].
            lo: least impulse [N s, N m s].
            hi: largest impulse [N s, N m s].
        """
        zero = jnp.zeros_like(bias)
        return Rows(
            jacobian=jacobian,
            bodies=bodies,
            bias=bias,
            compliance=zero,
            lo=lo,
            hi=hi,
            stiffness=zero,
            offset=zero,
        )

    @staticmethod
    def none(dtype: DTypeLike) -> "Rows":
        """Return an empty set of rows.

        Args:
            dtype: type of the numbers.
        """
        nothing = jnp.zeros(0, dtype)
        bodies = jnp.zeros((0, 2), jnp.int32)
        return Rows.rigid(jnp.zeros((0, 2, 6), dtype), bodies, nothing, nothing, nothing)

    @staticmethod
    def compliant(
        jacobian: Array, bodies: Array, stiffness: Array, offset: Array, lo: Array, hi: Array
    ) -> "Rows":
        """Return rows with λ = −α J V⁺ − offset within their bounds.

        A row with α = 0 has almost no effect, but the right derivative in α.

        Args:
            jacobian: J of n rows.
            bodies: bodies of each row.
            stiffness: α [kg, kg m²].
            offset: α b [N s, N m s]; 0 where α is 0.
            lo: least impulse [N s, N m s].
            hi: largest impulse [N s, N m s].
        """
        alpha = jnp.where(stiffness > 0, stiffness, stiffness + VANISHING)
        return Rows(
            jacobian=jacobian,
            bodies=bodies,
            bias=offset / alpha,
            compliance=1.0 / alpha,
            lo=lo,
            hi=hi,
            stiffness=stiffness,
            offset=offset,
        )

    def select(self, index: np.ndarray) -> "Rows":
        """Return the rows at these indices."""
        return jax.tree.map(lambda leaf: leaf[index], self)

    def velocity(self, twist: Float[Array, "nb 6"]) -> Float[Array, " s"]:
        """Return the velocities J V of the rows."""
        return jnp.einsum("sbi,sbi->s", self.jacobian, twist[self.bodies])

    def residual(self, velocity: Float[Array, " s"], rigid: int) -> Float[Array, " s"]:
        """Return u = J V + b for rigid rows, and α J V + offset for compliant ones.

        Args:
            velocity: J V.
            rigid: number of rigid rows, which come first.
        """
        soft = self.stiffness * velocity + self.offset
        return jnp.concatenate([(velocity + self.bias)[:rigid], soft[rigid:]])

    def wrenches(self, force: Float[Array, " s"], count: int) -> Float[Array, "nb 6"]:
        """Return Jᵀ λ on the bodies: impulses or forces along the rows as wrenches, world axes.

        Args:
            force: forces or impulses along the rows.
            count: number of bodies.
        """
        parts = force[:, None, None] * self.jacobian
        total = jnp.zeros((count, 6), parts.dtype)
        return total.at[self.bodies.reshape(-1)].add(parts.reshape(-1, 6))

    def widened(self, width: int) -> "Rows":
        """Return the same rows, padded to ``width`` bodies each."""
        padding = width - self.bodies.shape[1]
        jacobian = jnp.pad(self.jacobian, ((0, 0), (0, padding), (0, 0)))
        return replace(self, jacobian=jacobian, bodies=jnp.pad(self.bodies, ((0, 0), (0, padding))))

    def whitened(self, root: InverseRoot) -> Float[Array, "s 6*k"]:
        """Return W = J L, the columns of all bodies of a row side by side."""
        linear = root.linear[self.bodies][..., None] * self.jacobian[..., :3]
        angular = jnp.einsum("sbi,sbij->sbj", self.jacobian[..., 3:], root.angular[self.bodies])
        whitened = jnp.concatenate([linear, angular], axis=-1)
        return whitened.reshape(len(whitened), 6 * self.bodies.shape[1])


def body_rows(linkage: Linkage, motion: JointMotion) -> tuple[Array, np.ndarray]:
    """Return the Jacobian and the bodies of rows along all axes, then all tendons.

    Args:
        linkage: joints and tendons.
        motion: motion of the joints.
    """
    pairs, bodies = linkage.bodies[linkage.owner], linkage.routing.bodies
    jacobian = motion.axis
    if len(bodies):
        padding = bodies.shape[1] - 2
        pairs = np.concatenate([np.pad(pairs, ((0, 0), (0, padding))), bodies])
        jacobian = jnp.pad(jacobian, ((0, 0), (0, padding), (0, 0)))
        jacobian = jnp.concatenate([jacobian, motion.tendon.row])
    return jacobian, pairs


def rates(linkage: Linkage, motion: JointMotion, twist: Float[Array, "nb 6"]) -> Float[Array, " k"]:
    """Return the rates of all axes, then of all tendons [m/s, rad/s].

    Args:
        linkage: joints and tendons.
        motion: motion of the joints.
        twist: twists of the bodies (linear, angular; world).
    """
    jacobian, bodies = body_rows(linkage, motion)
    return jnp.einsum("kbi,kbi->k", jacobian, twist[bodies])


def relative_rotors(model: Model, state: State, motion: JointMotion) -> Rotors:
    """Return the rotors with rates relative to their axes and tendons [m/s, rad/s], stored for
    twists of zero.

    In a state with other velocities, :attr:`Step.rotor_rate` then adds the rates of its axes.

    Args:
        model: the model.
        state: the state before its pose or velocities change.
        motion: motion of its joints.
    """
    rotors = state.rotors
    ahead = rotors.rate - rates(model.topology.linkage, motion, rotors.twist)
    return Rotors(ahead, jnp.zeros_like(rotors.twist))


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Step:
    """The inputs from which each family makes its rows for one step."""

    model: Model
    """The model."""
    state: State
    """The state at the start of the step."""
    motion: JointMotion
    """Motion of joints and tendons there."""
    h: Float[Array, ""] | float
    """Length of the step [s]."""
    control: Float[Array, " nm"]
    """Control of each actuator."""
    coordinate_jacobian: Float[Array, "k nv"] | None = None
    """Rates of all axes, then of all tendons, per velocity, in reduced coordinates; None in maximal
    ones."""

    @property
    def end(self) -> Float[Array, ""]:
        """Time at the end of the step [s]."""
        return self.state.time + self.h

    @property
    def coordinate(self) -> Float[Array, " k"]:
        """Coordinates of all axes, then of all tendons [m, rad]."""
        return jnp.concatenate([self.motion.coordinate, self.motion.tendon.length])

    @property
    def rate(self) -> Float[Array, " k"]:
        """Rates of all axes, then of all tendons [m/s, rad/s]."""
        return jnp.concatenate([self.motion.rate, self.motion.tendon.rate])

    @property
    def rotor_rate(self) -> Float[Array, " k"]:
        """Rates of the rotors before the step [m/s, rad/s].

        They differ from J V: between two steps the poses change J, and the gyroscopic torque
        changes V. Neither exerts a force on the rotors, yet the change of J V is as large as that
        by a force in one step.
        """
        rotors = self.state.rotors
        change = self.state.twist - rotors.twist
        return rotors.rate + rates(self.model.topology.linkage, self.motion, change)

    def jacobian(self, index: np.ndarray) -> tuple[Array, Array]:
        """Return the Jacobian and the bodies of rows along the axes and tendons at these
        indices."""
        if self.coordinate_jacobian is not None:
            rows = self.coordinate_jacobian[index][..., None, :]
            return rows, jnp.zeros((*index.shape, 1), jnp.int32)
        jacobian, bodies = body_rows(self.model.topology.linkage, self.motion)
        return jacobian[index], jnp.asarray(bodies[index], jnp.int32)

    def body_wrenches(self, index: np.ndarray, force: Float[Array, " k"]) -> Float[Array, "nb 6"]:
        """Return the wrenches on the bodies (world) of forces along axes and tendons [N, N m].

        Args:
            index: indices of the axes and tendons.
            force: force along each.
        """
        jacobian, bodies = body_rows(self.model.topology.linkage, self.motion)
        parts = force[:, None, None] * jacobian[index]
        total = jnp.zeros((self.state.position.shape[0], 6), force.dtype)
        return total.at[bodies[index].reshape(-1)].add(parts.reshape(-1, 6))
