"""What Newton's method finds in a step of second order, and how its linear systems are solved."""

from dataclasses import dataclass
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxccp.ccp.operators.factors import Factors, dense_factors
from jaxccp.dynamics.second_order.acting import Acting
from jaxccp.dynamics.second_order.arrow import Arrow, Product
from jaxccp.dynamics.second_order.smooth_motion import SmoothMotion, moved
from jaxccp.model.model import Model
from jaxccp.model.state import State


@dataclass(frozen=True)
class Unknowns:
    """Accelerations v̇ [m/s², rad/s²], which are to be what forces give at the end of the step.

    M⁻¹ makes all of that depend on all. A long chain of elements is therefore asked for
    M v̇ = f + Aᵀ λ and A v̇ = −drift instead, in which velocities meet their neighbours alone; the
    forces λ that close loops and hold tendons are unknowns there, before v̇.
    """

    arrow: Arrow | None
    """The Jacobian of such an equation, if there is a chain."""
    multipliers: int = 0
    """How many λ there are [N, N m]."""

    @staticmethod
    def of(model: Model, state: State) -> "Unknowns":
        """Choose them by what meets what in the model."""
        reaches = [family.reach for family in model.families if family.reach is not None]
        if not reaches or len(reaches) < len(model.families):
            return Unknowns(None)
        topology, pairs = model.topology, _pairs(model)
        if (topology.carried[pairs].sum(axis=1) > 1).any():
            # Frames that may be far apart in v meet in one equation.
            return Unknowns(None)
        met, first = [], 0
        for index, (family, here) in enumerate(zip(model.families, state.families, strict=True)):
            frames = np.flatnonzero(topology.family == index)
            met.append(first + family.moving(np.flatnonzero(np.isin(frames, pairs))))
            first += len(here.v)
        held, trees = len(topology.linkage.closing), topology.dofs.count
        met = tuple(map(int, np.concatenate(met)))
        arrow = Arrow(held + trees, first, max(reaches), met, held)
        if not arrow.narrow:
            return Unknowns(None)
        return Unknowns(arrow, held)

    def start(self, motion: SmoothMotion) -> Float[Array, " n"]:
        """What they are at the start of the step."""
        if self.arrow is None:
            return motion.acceleration
        return jnp.concatenate([motion.closing, motion.acceleration])

    def missed(self, x: Float[Array, " n"], there: Acting) -> Float[Array, " n"]:
        """What is to vanish at the end of the step, where ``there`` acts."""
        if self.arrow is None:
            return x - moved(there).acceleration
        force, acceleration = jnp.split(x, [self.multipliers])
        missed = there.at.momenta(acceleration) - there.push
        if not self.multipliers:
            return missed
        rows, at = there.at.closing(), there.at.jacobians
        along = jnp.einsum("rki,rki->r", rows.jacobian, at.twists(acceleration)[rows.bodies])
        missed = missed - at.pull(rows.wrenches(force, len(there.turning)))
        return jnp.concatenate([along + there.drift, missed])

    def factorised(self, push: Product, like: Float[Array, " n"]) -> Factors:
        """Factorise the Jacobian, from its products."""
        if self.arrow is not None:
            return self.arrow.factorised(push, like)
        identity = jnp.eye(len(like), dtype=like.dtype)
        return dense_factors(jax.vmap(push, out_axes=1)(identity), symmetric=False)


def _pairs(model: Model) -> Int[np.ndarray, "k 2"]:
    """Pairs of bodies between which forces of joints, tendons and smooth contacts may act."""
    topology, linkage = model.topology, model.topology.linkage
    pairs = [linkage.bodies]
    for tendon in linkage.routing.bodies:
        pairs.append(np.array([*combinations(tendon, 2)], int).reshape(-1, 2))
    for group in topology.smooth.pairs if topology.smooth else ():
        bodies = topology.shape_body[np.stack([group.first, group.second], axis=1)]
        pairs.append(bodies[topology.moves[bodies].all(axis=1)])
    return np.concatenate(pairs)
