"""Unknowns of Newton's method in a step of second order, and their linear systems."""

from dataclasses import dataclass
from itertools import combinations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float, Int

from jaxccp.ccp.operators.factors import Factors, dense_factors
from jaxccp.dynamics.second_order.applied_forces import AppliedForces
from jaxccp.dynamics.second_order.bordered_band import BorderedBand, Product
from jaxccp.dynamics.second_order.mobility import rotors_on_families
from jaxccp.dynamics.second_order.smooth_motion import SmoothMotion, solve_motion
from jaxccp.model.model import Model
from jaxccp.model.row_order import row_order
from jaxccp.model.state import State

MANY, COLUMNS = 300, 64
"""Columns of a Jacobian above which so many are computed at once: all of them would take memory of
their number times that of a step."""


@dataclass(frozen=True)
class NewtonVariables:
    """The unknowns of Newton's method in a step: the accelerations v̇ at its end [m/s², rad/s²].

    They solve v̇ = M⁻¹ f, with f at the end of the step; M⁻¹ couples all bodies. For a long chain
    of elements the equations are therefore M v̇ = f + Aᵀ λ and A v̇ = −drift, in which each body
    depends on its neighbours alone. The unknowns are then the forces λ along loop and tendon rows,
    followed by v̇.
    """

    band: BorderedBand | None
    """Structure of the Jacobian of a long chain of elements; None: the unknowns are v̇ alone."""
    multipliers: int = 0
    """Number of forces λ [N, N m]."""

    @staticmethod
    def of(model: Model, state: State) -> "NewtonVariables":
        """Return the variables for a model: chain equations if all families are chains and the band
        is narrow.

        Args:
            model: the model.
            state: a state of it.
        """
        reaches = [family.reach for family in model.families if family.reach is not None]
        topology = model.topology
        if not reaches or len(reaches) < len(model.families) or topology.standalone.any():
            return NewtonVariables(None)
        if len(rotors_on_families(model)):
            return NewtonVariables(None)
        pairs = _pairs(model)
        if (topology.family_frames[pairs].sum(axis=1) > 1).any():
            # A joint between two frames couples velocities that may be far apart in v.
            return NewtonVariables(None)
        coupled, first = [], 0
        for index, (family, family_state) in enumerate(
            zip(model.families, state.families, strict=True)
        ):
            frames = np.flatnonzero(topology.family == index)
            coupled.append(first + family.moving(np.flatnonzero(np.isin(frames, pairs))))
            first += len(family_state.v)
        n_multipliers, trees = len(row_order(topology.linkage).loop_rows), topology.dofs.count
        coupled = tuple(map(int, np.concatenate(coupled)))
        arrow = BorderedBand(n_multipliers + trees, first, max(reaches), coupled, n_multipliers)
        if not arrow.is_narrow:
            return NewtonVariables(None)
        return NewtonVariables(arrow, n_multipliers)

    def start(self, motion: SmoothMotion) -> Float[Array, " n"]:
        """Return the values of the variables at the start of the step."""
        if self.band is None:
            return motion.acceleration
        return jnp.concatenate([motion.loop_forces, motion.acceleration])

    def residual(self, x: Float[Array, " n"], end: AppliedForces) -> Float[Array, " n"]:
        """Return the residual of the equations for the variables ``x``.

        Args:
            x: the variables.
            end: forces at the end of the step that they lead to.
        """
        if self.band is None:
            return x - solve_motion(end).acceleration
        force, acceleration = jnp.split(x, [self.multipliers])
        residual_ = end.at.momenta(acceleration) - end.generalised_force
        if not self.multipliers:
            return residual_
        rows, space = end.at.loop_rows(), end.at.space
        row_accelerations = jnp.einsum(
            "rki,rki->r", rows.jacobian, space.twists(acceleration)[rows.bodies]
        )
        residual_ = residual_ - space.pull(rows.wrenches(force, len(end.twist_bias)))
        return jnp.concatenate([row_accelerations + end.constraint_bias, residual_])

    def factorise(self, product: Product, like: Float[Array, " n"]) -> Factors:
        """Factorise the Jacobian of the residual.

        Args:
            product: function that returns the matrix's product with a vector.
            like: a vector like x.
        """
        if self.band is not None:
            return self.band.factorise(product, like)
        identity = jnp.eye(len(like), dtype=like.dtype)
        if len(like) <= MANY:
            return dense_factors(jax.vmap(product, out_axes=1)(identity), symmetric=False)
        columns = lax.map(product, identity, batch_size=COLUMNS)
        return dense_factors(columns.T, symmetric=False)


def _pairs(model: Model) -> Int[np.ndarray, "k 2"]:
    """Return the pairs of bodies between which joints, tendons or smooth contacts may exert
    forces."""
    topology, linkage = model.topology, model.topology.linkage
    pairs = [linkage.bodies]
    for tendon in linkage.routing.bodies:
        pairs.append(np.array([*combinations(tendon, 2)], int).reshape(-1, 2))
    for group in topology.smooth.pairs if topology.smooth else ():
        bodies = topology.shape_body[np.stack([group.first, group.second], axis=1)]
        pairs.append(bodies[topology.movable[bodies].all(axis=1)])
    return np.concatenate(pairs)
