"""Equality rows along trees of bodies, eliminated in two passes of 6 × 6 blocks.

In whitened velocities w (the mass matrix is the identity) the rows of a body that hangs on p read
S w + S_p w_p + E λ + r = 0 and its momentum X w = y + Sᵀ λ, X and y being those of the body with
all that hangs on it. With D = S X⁻¹ Sᵀ + E and B = X⁻¹ Sᵀ D⁻¹

    w = T w_p + G y − B r,      T = −B S_p,  G = X⁻¹ − B S X⁻¹,
    X_p += S_pᵀ D⁻¹ S_p,        y_p += Tᵀ y − S_pᵀ D⁻¹ r,
    λ = −Bᵀ y − D⁻¹ (S_p w_p + r).

Leaves first, this is Gaussian elimination of the saddle system without fill-in (Baraff, SIGGRAPH
1996), and with E for springs and rotors Featherstone's articulated bodies (Rigid Body Dynamics
Algorithms, 2008, ch. 7): nothing is subtracted from X, which stays above the identity.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.scipy.linalg import solve_triangular
from jaxtyping import Array, Float

from jaxccp.dynamics.free_bodies.forest import Forest


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Articulated:
    """Factors of the equality rows along trees, by step and place of the forest
    (:class:`jaxccp.dynamics.free_bodies.forest.Forest`)."""

    transfer: Float[Array, "steps w 6 6"]
    """T: velocity of the body per velocity of its parent."""
    mobility: Float[Array, "steps w 6 6"]
    """G: velocity of the body per momentum, if its parent is fixed."""
    spread: Float[Array, "steps w 6 k"]
    """B: velocity of the body per velocity error of its rows."""
    stiffness: Float[Array, "steps w k k"]
    """D⁻¹: impulses per velocity error of the rows."""
    parent_rows: Float[Array, "steps w k 6"]
    """S_p: part of the rows on the parent."""
    forest: Forest = field(metadata={"static": True})
    """Order in which the bodies are processed."""

    def solve(
        self, free_velocity: Float[Array, "nb 6"], r: Float[Array, " m"]
    ) -> tuple[Float[Array, "nb 6"], Float[Array, " m"]]:
        """Solve w − Wᵀ λ = w_free and W w + E λ = −``r`` for w and λ, over the rows of the trees.

        Args:
            free_velocity: w_free, whitened velocity of each body without these rows.
            r: right-hand side of each row.
        """
        forest = self.forest
        r = jnp.append(r, 0.0)[forest.rows]
        rigid = jnp.einsum("swij,swj->swi", self.stiffness, r)
        joint_force = -jnp.einsum("swij,swi->swj", self.parent_rows, rigid)
        body_force = jnp.concatenate([free_velocity, jnp.zeros_like(free_velocity, shape=(1, 6))])[
            forest.bodies
        ]
        momentum = self._inwards(body_force, joint_force)
        free = jnp.einsum("swij,swj->swi", self.mobility, momentum)
        free = free - jnp.einsum("swij,swj->swi", self.spread, r)
        velocity = self._outwards(free)
        parent_velocities = jnp.concatenate(
            [velocity.reshape(-1, 6), jnp.zeros_like(free_velocity, shape=(1, 6))]
        )
        parent_part = jnp.einsum(
            "swij,swj->swi", self.parent_rows, parent_velocities[forest.parents]
        )
        constraint_force = jnp.einsum("swij,swi->swj", self.spread, momentum)
        constraint_force = (
            constraint_force + jnp.einsum("swij,swj->swi", self.stiffness, parent_part) + rigid
        )
        lam = (
            jnp.zeros(forest.total[1], free_velocity.dtype)
            .at[forest.rows]
            .set(-constraint_force, mode="drop")
        )
        return free_velocity.at[forest.bodies].set(velocity, mode="drop"), lam

    def _inwards(self, body_force: Array, joint_force: Array) -> Array:
        """Return the momentum that each body receives together with its descendants, leaves first
        [steps w 6]."""
        width = body_force.shape[1]

        def step(total: Array, at: tuple[Array, ...]) -> tuple[Array, Array]:
            start, body_force, joint_force, transfer, parents = at
            momentum = body_force + lax.dynamic_slice_in_dim(total, start, width)
            joint_force = joint_force + jnp.einsum("wij,wi->wj", transfer, momentum)
            return total.at[parents].add(joint_force), momentum

        total = jnp.zeros_like(body_force, shape=(self.forest.places + 1, 6))
        return _scan_forest(
            self.forest, step, total, (body_force, joint_force, self.transfer), reverse=True
        )[1]

    def _outwards(self, free: Array) -> Array:
        """Return the whitened velocity of the body at each place, roots first [steps w 6]."""

        def step(velocity: Array, at: tuple[Array, ...]) -> tuple[Array, Array]:
            start, free, transfer, parents = at
            body_velocity = free + jnp.einsum("wij,wj->wi", transfer, velocity[parents])
            return lax.dynamic_update_slice_in_dim(velocity, body_velocity, start, 0), body_velocity

        velocity = jnp.zeros_like(free, shape=(self.forest.places + 1, 6))
        return _scan_forest(self.forest, step, velocity, (free, self.transfer))[1]


def articulate(
    rows: Float[Array, "m 6*k"], compliance: Float[Array, " m"], forest: Forest
) -> Articulated:
    """Factorise equality rows along trees, leaves first.

    Args:
        rows: whitened rows W.
        compliance: E of each row.
        forest: the forest, with the rows between each body and its parent.
    """
    eye = jnp.eye(6, dtype=rows.dtype)
    table = jnp.concatenate([rows, jnp.zeros_like(rows, shape=(1, rows.shape[1]))])[forest.rows]
    first, second = table[..., :6], table[..., 6:12]
    body_rows = jnp.where(forest.second[..., None, None], second, first)
    parent_rows = jnp.where(forest.second[..., None, None], first, second)
    compliances = jnp.append(compliance, 1.0)[forest.rows]
    width, row_count = compliances.shape[1:]
    unit = jnp.eye(row_count, dtype=rows.dtype)

    def step(inertia: Array, at: tuple[Array, ...]) -> tuple[Array, tuple[Array, ...]]:
        start, body_rows, parent_rows, compliances, parents = at
        root = _inverse_cholesky(lax.dynamic_slice_in_dim(inertia, start, width))
        half = jnp.einsum("wij,wkj->wik", root, body_rows)
        joint = jnp.einsum("wik,wil->wkl", half, half) + compliances[..., None] * unit
        rigid = _inverse_cholesky(joint)
        # The columns of ``unit_half`` are orthonormal if E is 0; G projects out their span.
        unit_half = jnp.einsum("wkl,wil->wik", rigid, half)
        parent_half = jnp.einsum("wkl,wlj->wkj", rigid, parent_rows)
        spread = jnp.einsum("wji,wjk->wik", root, unit_half)
        rest = eye - jnp.einsum("wik,wjk->wij", unit_half, unit_half)
        factors = (
            -jnp.einsum("wik,wkj->wij", spread, parent_half),
            jnp.einsum("wki,wkl,wlj->wij", root, rest, root),
            jnp.einsum("wik,wkl->wil", spread, rigid),
            jnp.einsum("wki,wkj->wij", rigid, rigid),
        )
        return inertia.at[parents].add(
            jnp.einsum("wki,wkj->wij", parent_half, parent_half)
        ), factors

    inertia = jnp.broadcast_to(eye, (forest.places + 1, 6, 6))
    _, (transfer, mobility, spread, stiffness) = _scan_forest(
        forest, step, inertia, (body_rows, parent_rows, compliances), reverse=True
    )
    return Articulated(
        transfer=transfer,
        mobility=mobility,
        spread=spread,
        stiffness=stiffness,
        parent_rows=parent_rows,
        forest=forest,
    )


def _inverse_cholesky(a: Float[Array, "w n n"]) -> Float[Array, "w n n"]:
    """Return C⁻¹ of each matrix a = C Cᵀ, with C lower triangular."""
    eye = jnp.broadcast_to(jnp.eye(a.shape[-1], dtype=a.dtype), a.shape)
    return solve_triangular(jnp.linalg.cholesky(a), eye, lower=True)


def _scan_forest(
    forest: Forest,
    step: Callable[[Array, tuple[Array, ...]], tuple[Array, Any]],
    carry: Array,
    tables: tuple[Array, ...],
    reverse: bool = False,
) -> tuple[Array, Any]:
    """Scan over the steps of the forest; ``step`` receives the index of its first place, its slices
    of the tables, and its parents."""
    steps, width = forest.bodies.shape
    start = jnp.arange(steps) * width
    parents = jnp.asarray(forest.parents)
    return lax.scan(step, carry, (start, *tables, parents), reverse=reverse)
