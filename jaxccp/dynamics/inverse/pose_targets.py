"""Targets of a mechanism's pose: their errors, and least-squares steps towards them."""

from dataclasses import dataclass, field, replace
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.dynamics.inverse.inverse_dynamics import site_jacobian
from jaxccp.dynamics.rows.row import relative_rotors
from jaxccp.math import quaternion, safe
from jaxccp.model.kinematics.configuration import (
    add_joint_coordinates,
    generalised_velocities,
    integrate_configuration,
    with_loop_coordinates,
)
from jaxccp.model.kinematics.joint_motion import joint_motion
from jaxccp.model.model import Model
from jaxccp.model.state import State

PASSES = 2
"""Number of times that a step is computed again without the axes that it would take across a limit.
"""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class PoseTargets:
    """Targets of a mechanism's pose."""

    model: Model
    """The mechanism."""
    sites: dict[str, Float[Array, " 3"] | Float[Array, " 7"]]
    """Wanted position [m], or position and quaternion (w, x, y, z), of sites and bodies by name."""
    axes: dict[int, float | Float[Array, ""]]
    """Wanted coordinate of axes by index [m, rad]."""
    free: tuple[bool, ...] = field(metadata={"static": True})
    """Mask of the velocities that may be other than zero [nv]."""

    def coordinates(self, state: State) -> Float[Array, " na"]:
        """Return the coordinates of all axes, searched for in the poses of the bodies [m, rad]."""
        if not self.model.topology.linkage.axes:
            return jnp.zeros(0, state.position.dtype)
        return joint_motion(self.model, state).coordinate

    def errors(self, state: State, coordinate: Float[Array, " na"]) -> Float[Array, " e"]:
        """Return the remaining error of each target [m, rad], rotations as vectors in world axes.

        Args:
            state: a pose.
            coordinate: the coordinates of its axes.
        """
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
            wanted = jnp.stack([*map(jnp.asarray, self.axes.values())])
            parts.append(wanted - coordinate[np.array([*self.axes])])
        return jnp.concatenate(parts)

    def jacobian(self, state: State, coordinate: Float[Array, " na"]) -> Float[Array, "e nv"]:
        """Return the Jacobian of the targets' coordinates with respect to the velocities, zero in
        the columns of velocities that are not ``free``.

        Args:
            state: a pose.
            coordinate: the coordinates of its axes.
        """
        parts = [
            site_jacobian(self.model, state, name)[: 3 if len(target) == 3 else 6]
            for name, target in self.sites.items()
        ]
        if self.axes:
            dofs = self.model.topology.dofs
            # The rate of a ball is an angular velocity, its coordinate a rotation vector.
            rates = jax.jacfwd(partial(add_joint_coordinates, self.model, coordinate))(
                jnp.zeros_like(coordinate)
            )[np.array([*self.axes])[:, None], dofs.axes]
            columns = dofs.first_axis + np.arange(len(dofs.axes))
            rows = jnp.zeros((len(self.axes), len(self.free)), rates.dtype)
            parts.append(rows.at[:, columns].set(rates))
        return jnp.concatenate(parts) * jnp.array(self.free)

    def distance_to_limits(
        self, coordinate: Float[Array, " na"]
    ) -> tuple[Float[Array, " nv"], Float[Array, " nv"]]:
        """Return how far each velocity's coordinate can move down (≤ 0) and up (≥ 0) to its limits
        [m, rad], given the coordinates of all axes."""
        linkage = self.model.topology.linkage
        low = jnp.full(len(self.free), -jnp.inf, coordinate.dtype)
        high = -low
        if not len(linkage.axes):
            return low, high
        axes, columns = self._limited_axes(linkage.lower)
        back = self.model.axes.lower[axes] - coordinate[axes]
        low = low.at[columns].set(jnp.minimum(back, 0.0))
        axes, columns = self._limited_axes(linkage.upper)
        forth = self.model.axes.upper[axes] - coordinate[axes]
        high = high.at[columns].set(jnp.maximum(forth, 0.0))
        return low, high

    def _limited_axes(self, limited: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the axes of trees among limited coordinates, and the index of the velocity of
        each. Axes that may not move are left out."""
        dofs = self.model.topology.dofs
        axes = np.intersect1d(limited, dofs.axes)
        columns = dofs.first_axis + np.searchsorted(dofs.axes, axes)
        free = np.array(self.free)[columns]
        return axes[free], columns[free]

    def within_limits(self, state: State) -> State:
        """Return the state with each axis that is beyond a limit, and may move, at the limit."""
        linkage, limits = self.model.topology.linkage, self.model.axes
        displacement = jnp.zeros(len(self.free), state.position.dtype)
        if not (len(linkage.lower) or len(linkage.upper)):
            return state
        coordinate = self.coordinates(state)
        axes, columns = self._limited_axes(linkage.lower)
        below = jnp.maximum(limits.lower[axes] - coordinate[axes], 0.0)
        displacement = displacement.at[columns].add(below)
        axes, columns = self._limited_axes(linkage.upper)
        above = jnp.maximum(coordinate[axes] - limits.upper[axes], 0.0)
        return self.displaced(state, displacement.at[columns].add(-above))

    def excess(self, state: State) -> Float[Array, ""]:
        """Return how far an axis that may move, a ball or a tendon is beyond its limits at most
        [m, rad], at least 0."""
        linkage, axes = self.model.topology.linkage, self.model.axes
        first, count = linkage.balls, len(linkage.axes)
        lower, upper = (
            np.concatenate([self._limited_axes(limited)[0], limited[limited >= count]])
            for limited in (linkage.lower, linkage.upper)
        )
        if not (len(first) or len(lower) or len(upper)):
            return jnp.zeros((), state.position.dtype)
        motion = joint_motion(self.model, state)
        coordinate = jnp.concatenate([motion.coordinate, motion.tendon.length])
        angle = safe.norm(coordinate[first[:, None] + np.arange(3)])
        below = axes.lower[lower] - coordinate[lower]
        above = coordinate[upper] - axes.upper[upper]
        return jnp.max(jnp.concatenate([angle - axes.upper[first], below, above]), initial=0.0)

    def step(self, state: State, damping: Float[Array, ""] | None = None) -> Float[Array, " nv"]:
        """Return the least-squares step towards the targets in tangent coordinates [m, rad].

        A coordinate that the step would take across a limit goes to the limit; the step is then
        computed again for the others.

        Args:
            state: a pose.
            damping: penalty on the length of the step, relative to the largest diagonal entry of
                its matrix; None: no penalty, and the shortest of the steps that do.
        """
        coordinate = self.coordinates(state)
        error, jacobian = self.errors(state, coordinate), self.jacobian(state, coordinate)
        low, high = self.distance_to_limits(coordinate)
        step = _least_squares(jacobian, error, damping)
        for _ in range(PASSES):
            across = (step < low) | (step > high)
            set_back = jnp.where(across, safe.clip(step, low, high), 0.0)
            inside = jacobian * ~across
            step = set_back + _least_squares(inside, error - jacobian @ set_back, damping) * ~across
        return safe.clip(step, low, high)

    def displaced(self, state: State, displacement: Float[Array, " nv"]) -> State:
        """Return the state with its pose displaced and its generalised velocities unchanged.

        Args:
            state: a pose.
            displacement: displacement in tangent coordinates [m, rad].
        """
        motion = joint_motion(self.model, state)
        velocity = generalised_velocities(self.model, state, motion)
        start = replace(state, joint_positions=motion.coordinate)
        after = integrate_configuration(self.model, start, displacement, velocity)
        after = with_loop_coordinates(self.model, after)
        return replace(after, rotors=relative_rotors(self.model, state, motion))


def _least_squares(
    jacobian: Float[Array, "e nv"], error: Float[Array, " e"], damping: Float[Array, ""] | None
) -> Float[Array, " nv"]:
    """Return the least-squares solution with a penalty on its length, or the shortest one.

    Args:
        jacobian: Jacobian of the targets' coordinates.
        error: error that the step is to remove.
        damping: relative to the largest diagonal entry of J Jᵀ; None: no penalty.
    """
    if damping is None:
        return jnp.linalg.pinv(jacobian) @ error
    square = jacobian @ jacobian.T
    scale = jnp.maximum(jnp.max(jnp.diagonal(square)), jnp.finfo(error.dtype).tiny)
    damped = square + damping * scale * jnp.eye(len(error), dtype=error.dtype)
    return jacobian.T @ jnp.linalg.solve(damped, error)
