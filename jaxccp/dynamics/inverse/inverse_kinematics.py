"""Inverse kinematics: joint coordinates that bring sites and axes to their targets."""

from collections.abc import Mapping
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxccp.dynamics.inverse.pose_targets import PoseTargets
from jaxccp.dynamics.tangent import SIX, tangent_names
from jaxccp.math.array_input import Floats
from jaxccp.math.implicit_root import attach
from jaxccp.model.inputs.state_input import checked_state
from jaxccp.model.kinematics.configuration import root_and_free_bodies
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.names import index

REDUCED, INCREASED = 0.3, 4.0
"""Factors of the damping after a step that lowers the error, and after one that does not."""
HIGHEST = 1e6
"""Damping above which the search ends: no step lowers the error."""


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
    """Whether the error is within the tolerance, and axes that may move, balls and tendons are
    within their limits. If the targets are out of reach it is not; the state is then the nearest
    one found."""


def inverse_kinematics(
    model: Model,
    state: State,
    sites: Mapping[str, Float[Floats, " 3"] | Float[Floats, " 7"]],
    joints: Mapping[str, float | Float[Array, ""]] | None = None,
    *,
    fixed: str | tuple[str, ...] = (),
    damping: float = 1e-2,
    tolerance: float | None = None,
    max_iterations: int = 200,
) -> InverseKinematics:
    """Find a pose in which sites and joints are at their targets, by damped least squares.

    Each step minimises the sum of squares of all errors, in metres and radians, plus the square of
    the step times the damping. The damping follows Levenberg and Marquardt (Sugihara, IEEE Trans.
    Robotics 27, 2011, on its use near singular poses). Axes stay within their limits: an axis that
    starts beyond a limit is set to it first, unless it is fixed, and one that a step would take
    across its limit is set to the limit and left out of that step. Limits of balls and tendons are
    not kept, but a pose beyond them does not count as converged.

    It works under ``jit`` and ``vmap``. Derivatives of every order with respect to targets and
    model are those of the solution; if several changes of the pose would do, they are those of the
    shortest one. They are right if the targets are reached.

    Args:
        model: nv degrees of freedom, named by :func:`jaxccp.tangent_names`; no closed loops.
        state: the pose to start from.
        sites: wanted position [m] of sites by name, or position and quaternion (w, x, y, z); the
            name of a body means its centre of mass, with the body's axes.
        joints: wanted coordinates of axes by name [m, rad].
        fixed: names of velocities (:func:`jaxccp.tangent_names`) that are zero; the name of a free
            body or of a joint means all of its velocities. One name may stand alone.
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
                "inverse_kinematics takes the coordinates of all axes as independent, which they "
                f"are not with {what}, and make the pose consistent with them afterwards by "
                "jaxccp.close_loops"
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
    fixed = (fixed,) if isinstance(fixed, str) else fixed
    free = ~np.isin(names, _velocities(model, names, fixed))
    small = 1e-9 if state.position.dtype == jnp.float64 else 1e-5
    task = PoseTargets(model, targets, axes, tuple(free.tolist()))
    stop = small if tolerance is None else tolerance
    return _solve(task, state, damping, stop, max_iterations)


def _velocities(model: Model, names: tuple[str, ...], given: tuple[str, ...]) -> list[str]:
    """Return the names of velocities that given names mean.

    Args:
        model: the model.
        names: names of all velocities.
        given: names of velocities, joints and free bodies.

    Raises:
        ValueError: a name means none.
    """
    linkage, parts = model.topology.linkage, {name: {name} for name in names}
    for axis, joint in zip(linkage.axes, linkage.owner, strict=True):
        parts.setdefault(linkage.joints[joint], set()).add(axis)
    for place in root_and_free_bodies(model.topology):
        body = model.topology.bodies[place]
        parts.setdefault(body, set()).update(f"{body}.{part}" for part in SIX)
    for name in given:
        index("inverse_kinematics: fixed", "velocity, joint or free body", (*parts,), name)
    return [part for name in given for part in parts[name]]


def _solve(
    task: PoseTargets, state: State, damping: float, tolerance: float, limit: int
) -> InverseKinematics:
    """Return the pose with the smallest error that is found from a state, with its report.

    Args:
        task: the targets.
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
        after = fixed.displaced(current, fixed.step(current, damping))
        lower = jnp.sum(fixed.errors(after, fixed.coordinates(after)) ** 2)
        better = lower < square
        kept = jax.tree.map(lambda a, b: jnp.where(better, a, b), after, current)
        damping = damping * jnp.where(better, REDUCED, INCREASED)
        return kept, jnp.where(better, lower, square), damping, count + 1

    fixed, start = lax.stop_gradient((task, state))
    start = fixed.within_limits(start)
    square = jnp.sum(fixed.errors(start, fixed.coordinates(start)) ** 2)
    carry = start, square, jnp.asarray(damping, square.dtype), jnp.int32(0)
    pose, square, _, count = lax.while_loop(going, iterate, carry)
    pose = attach(_slope, pose, task)
    reached = (square <= tolerance**2) & (task.excess(pose) <= tolerance)
    return InverseKinematics(pose, jnp.sqrt(square), count, reached)


def _slope(pose: State, task: PoseTargets, change: PoseTargets) -> State:
    """Return the change of a pose that reaches its targets.

    Args:
        pose: the pose.
        task: the targets.
        change: change of the targets and of the model.
    """

    def after_step(task: PoseTargets) -> State:
        return task.displaced(pose, task.step(pose))

    return jax.jvp(after_step, (task,), (change,))[1]
