"""Inverse kinematics: joint coordinates that bring sites and axes to their targets."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxccp.dynamics.inverse_dynamics import site_jacobian
from jaxccp.dynamics.tangent import retract, tangent_names
from jaxccp.math import quaternion, safe
from jaxccp.math.array_input import Floats
from jaxccp.model.kinematics.joint_motion import joint_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.model.state_input import checked_state
from jaxccp.names import index

REDUCED, INCREASED = 0.3, 4.0
"""Factors of the damping after a step that lowers the error, and after one that does not."""
HIGHEST = 1e6
"""Damping above which the search ends: no step lowers the error."""
PASSES = 2
"""Number of times that a step is computed again without the axes that it would take across a limit.
"""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class InverseKinematics:
    """The result of :func:`inverse_kinematics`."""

    state: State
    """The pose that was found, with the generalised velocities of the initial state."""
    error: Float[Array, ""]
    """Root of the sum of squares of the remaining errors of the targets [m, rad]."""
    iterations: Int[Array, ""]
    """Number of steps tried."""
    converged: Bool[Array, ""]
    """Whether the error is within the tolerance, and balls are within their limits. If the targets
    are out of reach it is not; the state is then the nearest one found."""


def inverse_kinematics(
    model: Model,
    state: State,
    sites: Mapping[str, Float[Floats, " 3"] | Float[Floats, " 7"]],
    joints: Mapping[str, float | Float[Array, ""]] | None = None,
    *,
    fixed: tuple[str, ...] = (),
    damping: float = 1e-2,
    tolerance: float | None = None,
    max_iterations: int = 200,
) -> InverseKinematics:
    """Find a pose in which sites and joints are at their targets, by damped least squares.

    Each step minimises the sum of squares of all errors, in metres and radians, plus the square of
    the step times the damping. The damping follows Levenberg and Marquardt (Sugihara, IEEE Trans.
    Robotics 27, 2011, on its use near singular poses). Axes stay within their limits: an axis that
    a step would take across its limit is set to the limit and left out of that step. Limits of
    balls are not kept, but a pose beyond them does not count as converged.

    It works under ``jit`` and ``vmap``. Derivatives with respect to targets and model are those of
    the solution; if several changes of the pose would do, they are those of the shortest one. They
    are right if the targets are reached.

    Args:
        model: nv degrees of freedom, named by :func:`jaxccp.tangent_names`; no closed loops.
        state: the pose to start from.
        sites: wanted position [m] of sites by name, or position and quaternion (w, x, y, z); the
            name of a body means its centre of mass, with the body's axes.
        joints: wanted coordinates of axes by name [m, rad].
        fixed: names of velocities (:func:`jaxccp.tangent_names`) that are zero; the name of a free
            body, or of a joint with several axes, means all of its velocities.
        damping: damping of the first step, relative to the largest diagonal entry of its matrix J
            Jᵀ.
        tolerance: error at which the targets count as reached [m, rad]; None: 1e-9 in float64 and
            1e-5 in float32.
        max_iterations: number of steps that are tried at most.

    Raises:
        ValueError: a name is not in the model, there is no target, one has another shape, or the
            mechanism has closed loops, couplings or tendons of given length.
    """
    state = checked_state(model, state)
    topology = model.topology
    for present, what in (
        (len(topology.linkage.loops), "closed loops: leave out the joints that close them"),
        (
            len(topology.linkage.routing.bilateral),
            "couplings or tendons of given length: leave them out",
        ),
    ):
        if present:
            raise ValueError(
                f"inverse_kinematics knows no {what}, and make the pose consistent with them "
                "afterwards by jaxccp.close_loops"
            )
    if not sites and not joints:
        raise ValueError("inverse_kinematics: name at least one site or joint")
    targets = {name: jnp.asarray(value, state.position.dtype) for name, value in sites.items()}
    for name, value in targets.items():
        if value.shape not in ((3,), (7,)):
            raise ValueError(
                f"the target of {name!r} must be a position (3 numbers) or a position and a "
                f"quaternion (7 numbers), not of shape {value.shape}"
            )
        index("the model", "site or body", (*model.sites.names, *topology.bodies), name)
    names = tangent_names(model)
    axes = {topology.linkage.axis(name): value for name, value in (joints or {}).items()}
    still = np.zeros(len(names), bool)
    for name in fixed:
        mask = np.array([entry == name or entry.rsplit(".", 1)[0] == name for entry in names])
        if not mask.any():
            index("the model", "velocity", names, name)
        still |= mask
    small = 1e-9 if state.position.dtype == jnp.float64 else 1e-5
    task = _Task(model, targets, axes, tuple((~still).tolist()))
    stop = small if tolerance is None else tolerance
    return task.solve(state, damping, stop, max_iterations)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Task:
    """Targets of a mechanism's pose."""

    model: Model
    sites: dict[str, Float[Array, " 3"] | Float[Array, " 7"]]
    axes: dict[int, float | Float[Array, ""]]
    free: tuple[bool, ...] = field(metadata={"static": True})
    """Mask of the velocities that may be other than zero [nv]."""

    def errors(self, state: State) -> Float[Array, " e"]:
        """Return the remaining error of each target [m, rad], rotations as vectors in world
        axes."""
        model, parts = self.model, []
        for name, target in self.sites.items():
            if name in model.sites.names:
                place = model.sites.index(name)
                position, orientation = (part[place] for part in model.sites.poses(state))
            else:
                body = model.topology.body(name)
                position, orientation = state.position[body], state.quaternion[body]
            parts.append(target[:3] - position)
            if len(target) == 7:
                rotation = quaternion.multiply(
                    quaternion.normalize(target[3:]), quaternion.conjugate(orientation)
                )
                parts.append(quaternion.log(rotation))
        if self.axes:
            coordinate = joint_motion(model, state).coordinate[np.array([*self.axes])]
            parts.append(jnp.stack([*map(jnp.asarray, self.axes.values())]) - coordinate)
        return jnp.concatenate(parts)

    def jacobian(self, state: State) -> Float[Array, "e nv"]:
        """Return the Jacobian of the targets' coordinates with respect to the velocities, zero in
        the columns of velocities that are not ``free``."""
        parts = [
            site_jacobian(self.model, state, name)[: 3 if len(target) == 3 else 6]
            for name, target in self.sites.items()
        ]
        dofs = self.model.topology.dofs
        columns = [
            dofs.first_axis + int(np.flatnonzero(dofs.axes == axis)[0]) for axis in self.axes
        ]
        parts.append(jnp.eye(len(self.free), dtype=state.position.dtype)[np.array(columns, int)])
        return jnp.concatenate(parts) * jnp.array(self.free)

    def room(self, state: State) -> tuple[Float[Array, " nv"], Float[Array, " nv"]]:
        """Return how far each velocity's coordinate can move down (≤ 0) and up (≥ 0) to its limits
        [m, rad]."""
        dofs, linkage = self.model.topology.dofs, self.model.topology.linkage
        low = jnp.full(len(self.free), -jnp.inf, state.position.dtype)
        high = -low
        if not len(linkage.axes):
            return low, high
        coordinate = joint_motion(self.model, state).coordinate

        def places(limited: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            axes = np.intersect1d(limited[limited < len(linkage.axes)], dofs.axes)
            return axes, dofs.first_axis + np.searchsorted(dofs.axes, axes)

        axes, columns = places(linkage.lower)
        back = self.model.axes.lower[axes] - coordinate[axes]
        low = low.at[columns].set(jnp.minimum(back, 0.0))
        axes, columns = places(linkage.upper)
        forth = self.model.axes.upper[axes] - coordinate[axes]
        high = high.at[columns].set(jnp.maximum(forth, 0.0))
        return low, high

    def ball_excess(self, state: State) -> Float[Array, ""]:
        """Return the largest angle by which a ball joint is beyond its limit [rad], at least 0."""
        first = self.model.topology.linkage.balls
        if not len(first):
            return jnp.zeros((), state.position.dtype)
        coordinate = joint_motion(self.model, state).coordinate
        angle = safe.norm(coordinate[first[:, None] + np.arange(3)])
        return jnp.max(angle - self.model.axes.upper[first], initial=0.0)

    def step(self, state: State, damping: Array | float) -> Float[Array, " nv"]:
        """Return the damped step from a state.

        Args:
            state: a pose.
            damping: relative to the largest diagonal entry of the step's matrix.
        """
        error, jacobian = self.errors(state), self.jacobian(state)
        low, high = self.room(state)
        step = _damped(jacobian, error, damping)
        for _ in range(PASSES):
            across = (step < low) | (step > high)
            set_back = jnp.where(across, jnp.clip(step, low, high), 0.0)
            inside = jacobian * ~across
            step = set_back + _damped(inside, error - jacobian @ set_back, damping) * ~across
        return jnp.clip(step, low, high)

    def displaced(self, state: State, displacement: Float[Array, " nv"]) -> State:
        """Return the state with its pose displaced and its generalised velocities unchanged.

        Args:
            state: a pose.
            displacement: displacement in tangent coordinates [m, rad].
        """
        rest = jnp.zeros(
            len(displacement) + (0 if state.activation is None else len(state.activation))
        )
        return retract(
            self.model, state, jnp.concatenate([displacement, rest.astype(displacement.dtype)])
        )

    def solve(
        self, state: State, damping: float, tolerance: float, limit: int
    ) -> InverseKinematics:
        """Return the pose with the smallest error that is found from a state, with its report.

        Args:
            state: the pose to start from.
            damping: damping of the first step.
            tolerance: error at which the targets count as reached [m, rad].
            limit: largest number of steps.
        """

        def going(carry: tuple) -> Bool[Array, ""]:
            _, square, damping, count = carry
            return (square > tolerance**2) & (count < limit) & (damping < HIGHEST)

        def iterate(carry: tuple) -> tuple:
            current, square, damping, count = carry
            after = self.displaced(current, task.step(current, damping))
            lower = jnp.sum(task.errors(after) ** 2)
            better = lower < square
            kept = jax.tree.map(lambda a, b: jnp.where(better, a, b), after, current)
            damping = damping * jnp.where(better, REDUCED, INCREASED)
            return kept, jnp.minimum(lower, square), damping, count + 1

        task: _Task = lax.stop_gradient(self)
        start = lax.stop_gradient(state)
        square = jnp.sum(task.errors(start) ** 2)
        carry = start, square, jnp.asarray(damping, square.dtype), jnp.int32(0)
        pose, square, _, count = lax.while_loop(going, iterate, carry)
        # A further step of length zero provides the derivative of the pose.
        correction = self.step(pose, float(jnp.finfo(square.dtype).eps))
        pose = self.displaced(pose, correction - lax.stop_gradient(correction))
        reached = (square <= tolerance**2) & (self.ball_excess(pose) <= tolerance)
        return InverseKinematics(pose, jnp.sqrt(square), count, reached)


def _damped(
    jacobian: Float[Array, "e nv"], error: Float[Array, " e"], damping: Array | float
) -> Float[Array, " nv"]:
    """Return the least-squares solution with a penalty on its length.

    Args:
        jacobian: Jacobian of the targets' coordinates.
        error: error that the step is to remove.
        damping: relative to the largest diagonal entry of J Jᵀ.
    """
    square = jacobian @ jacobian.T
    scale = jnp.maximum(jnp.max(jnp.diagonal(square)), jnp.finfo(error.dtype).tiny)
    damped = square + damping * scale * jnp.eye(len(error), dtype=error.dtype)
    return jacobian.T @ jnp.linalg.solve(damped, error)
