"""What Newton's method finds in a step of second order, and how its linear systems are solved."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.ccp.operators.factors import Factors, dense_factors
from jaxccp.dynamics.second_order.acting import Acting
from jaxccp.dynamics.second_order.arrow import Arrow, Product
from jaxccp.dynamics.second_order.smooth_motion import SmoothMotion, moved
from jaxccp.model.model import Model


@dataclass(frozen=True)
class Unknowns:
    """Accelerations v̇ [m/s², rad/s²], which are to be what forces give at the end of the step.

    M⁻¹ makes all of that depend on all. A long chain of elements is therefore asked for
    M v̇ = f + Aᵀ λ instead, in which velocities meet their neighbours alone; the forces λ that close
    loops and hold tendons are unknowns there, before v̇.
    """

    arrow: Arrow | None
    """The Jacobian of such an equation, if there is a chain."""
    multipliers: int = 0
    """How many λ there are [N, N m]."""

    @staticmethod
    def of(model: Model) -> "Unknowns":
        """Choose them by what meets what in the model."""
        reaches = [family.reach for family in model.families if family.reach is not None]
        if not reaches or len(reaches) < len(model.families) or _meet(model):
            return Unknowns(None)
        counts = [len(family.start().v) for family in model.families]
        held, trees = len(model.topology.linkage.closing), model.topology.dofs.count
        arrow = Arrow(held + trees, sum(counts), max(reaches))
        return Unknowns(arrow, held) if arrow.narrow else Unknowns(None)

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
        holding = there.at.closing().wrenches(force, len(there.turning))
        return jnp.concatenate(
            [force - moved(there).closing, missed - there.at.jacobians.pull(holding)]
        )

    def factorised(self, push: Product, like: Float[Array, " n"]) -> Factors:
        """Factorise the Jacobian, from its products."""
        if self.arrow is not None:
            return self.arrow.factorised(push, like)
        identity = jnp.eye(len(like), dtype=like.dtype)
        return dense_factors(jax.vmap(push, out_axes=1)(identity), symmetric=False)


def _meet(model: Model) -> bool:
    """Whether forces act between two frames of families, which may be far apart in v."""
    topology, linkage = model.topology, model.topology.linkage
    acting = [linkage.bodies, linkage.routing.bodies]
    for group in topology.smooth.pairs if topology.smooth else ():
        acting.append(topology.shape_body[np.stack([group.first, group.second], axis=1)])
    return any((topology.carried[bodies].sum(axis=1) > 1).any() for bodies in acting)
