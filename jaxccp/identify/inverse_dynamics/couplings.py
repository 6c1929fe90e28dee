"""Axes that tendons and loops move, and torques of axes that are coupled to each other."""

from collections.abc import Iterable
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.model.tendons.routing import polynomial
from jaxccp.model.topology import Topology


@dataclass(frozen=True)
class Couplings:
    """Couplings of axes, through which the torque at one axis moves the others as well.

    A coupling A q̇ = 0 exerts the forces Aᵀ λ, which no recording contains. For each coupling one
    axis, the follower, is eliminated with λ: what it needs is added to the torques of the others.
    """

    terms: np.ndarray
    """Index of each term of these couplings in ``Routing.terms`` [m]."""
    rows: np.ndarray
    """Number of the coupling of each term [m]."""
    columns: np.ndarray
    """Place of the axis of each term among the mechanism's axes [m]."""
    followers: np.ndarray
    """Place of each coupling's follower among the mechanism's axes [c]."""

    @staticmethod
    def of(topology: Topology, axes: np.ndarray, compared: Iterable[int]) -> "Couplings":
        """Return the couplings that act on compared axes, directly or through others.

        Args:
            topology: the mechanism.
            axes: axes of the mechanism, in the order of the rates ``qvel``.
            compared: the axes whose torques are compared.

        Raises:
            ValueError: a loop, or a tendon of given length that is no coupling, acts on them.
        """
        linkage, routing = topology.linkage, topology.linkage.routing
        coupled = {int(t): moved_axes(topology, len(linkage.axes) + t) for t in routing.bilateral}
        paths = [t for t in coupled if t in routing.segments[:, 0]]
        closed = {
            f"tendon {routing.tendons[t]!r} has a given length": coupled.pop(t) for t in paths
        }
        for joint in linkage.loops:
            ends = axes_between(topology, *linkage.bodies[joint])
            closed[f"joint {linkage.joints[joint]!r} closes a loop"] = ends
        compared, reached = set(compared), set(compared)
        for _ in coupled:
            reached = reached.union(*(a for a in coupled.values() if a & reached))
        for what, moved in closed.items():
            if moved & reached:
                names = ", ".join(linkage.axes[axis] for axis in sorted(moved & reached))
                raise ValueError(
                    f"{what}, whose force on {names} inverse dynamics does not know: take "
                    "Simulate, or leave out the torques or controls of these joints"
                )
        acting = [t for t, moved in coupled.items() if moved & reached]
        terms = np.flatnonzero(np.isin(routing.terms[:, 0], acting))
        place = {int(axis): number for number, axis in enumerate(axes)}
        followers: list[int] = []
        for tendon in acting:
            own = [int(axis) for t, axis in routing.terms[terms] if t == tendon]
            free = [axis for axis in own if place[axis] not in followers]
            # Axes without a recorded torque follow those with one, whatever the order of terms.
            followers.append(place[min(free or own, key=lambda axis: axis in compared)])
        return Couplings(
            terms,
            np.array([acting.index(t) for t in routing.terms[terms, 0]], int),
            np.array([place[int(axis)] for axis in routing.terms[terms, 1]], int),
            np.array(followers, int),
        )

    def reduced(
        self, model: Model, state: State, force: Float[Array, " nv"]
    ) -> Float[Array, " nv"]:
        """Return forces along the axes with those of followers transmitted to the other axes, and
        0 for followers [N, N m].

        Args:
            model: the mechanism.
            state: its pose.
            force: forces along its axes.
        """
        if not len(self.followers):
            return force
        axes = model.topology.linkage.routing.terms[self.terms, 1]
        coefficients = model.tendons.polynomial[self.terms]
        slope = polynomial(coefficients, state.joint_positions[axes])[1]
        jacobian = jnp.zeros((len(self.followers), len(force)), slope.dtype)
        jacobian = jacobian.at[self.rows, self.columns].add(slope)
        multiplier = jnp.linalg.solve(jacobian[:, self.followers].T, force[self.followers])
        return force - multiplier @ jacobian


def axes_between(topology: Topology, first: int, second: int) -> set[int]:
    """Return the axes that move two bodies relative to each other, as a tree without its loops.

    Args:
        topology: the mechanism.
        first: a body.
        second: another one.
    """
    dofs = topology.dofs
    one_sided = (dofs.supports[first] ^ dofs.supports[second])[dofs.first_axis :]
    return {int(axis) for axis in dofs.axes[one_sided]}


def moved_axes(topology: Topology, coordinate: int) -> set[int]:
    """Return the axes that a force along a coordinate moves: the axis itself, or the axes that
    change the length of a tendon.

    Args:
        topology: the mechanism.
        coordinate: index of an axis, or the number of axes plus the index of a tendon.
    """
    linkage = topology.linkage
    tendon, routing = coordinate - len(linkage.axes), linkage.routing
    if tendon < 0:
        return {int(coordinate)}
    moved = {int(axis) for number, axis in routing.terms if number == tendon}
    for number, *points in routing.segments:
        if number == tendon:
            first, second = routing.point_body[points]
            moved |= axes_between(topology, first, second)
    return moved
