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

from jaxccp.dynamics.maximal.forest import Forest


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Articulated:
    """The factors, by step and place of the forest."""

    transfer: Float[Array, "steps w 6 6"]
    """T: the body's velocity per velocity of that it hangs on."""
    mobility: Float[Array, "steps w 6 6"]
    """G: its velocity per momentum, with that held."""
    spread: Float[Array, "steps w 6 k"]
    """B."""
    stiffness: Float[Array, "steps w k k"]
    """D⁻¹."""
    other: Float[Array, "steps w k 6"]
    """S_p."""
    forest: Forest = field(metadata={"static": True})

    def solve(
        self, push: Float[Array, "nb 6"], r: Float[Array, " m"]
    ) -> tuple[Float[Array, "nb 6"], Float[Array, " m"]]:
        """w and λ with w − Wᵀ λ = ``push`` and W w + E λ = −``r``, over the rows of the trees."""
        forest = self.forest
        r = jnp.append(r, 0.0)[forest.rows]
        rigid = jnp.einsum("swij,swj->swi", self.stiffness, r)
        passed = -jnp.einsum("swij,swi->swj", self.other, rigid)
        own = jnp.concatenate([push, jnp.zeros_like(push, shape=(1, 6))])[forest.bodies]
        momentum = self._inwards(own, passed)
        free = jnp.einsum("swij,swj->swi", self.mobility, momentum)
        free = free - jnp.einsum("swij,swj->swi", self.spread, r)
        velocity = self._outwards(free)
        carried = jnp.concatenate([velocity.reshape(-1, 6), jnp.zeros_like(push, shape=(1, 6))])
        drag = jnp.einsum("swij,swj->swi", self.other, carried[forest.parents])
        held = jnp.einsum("swij,swi->swj", self.spread, momentum)
        held = held + jnp.einsum("swij,swj->swi", self.stiffness, drag) + rigid
        lam = jnp.zeros(forest.total[1], push.dtype).at[forest.rows].set(-held, mode="drop")
        return push.at[forest.bodies].set(velocity, mode="drop"), lam

    def _inwards(self, own: Array, passed: Array) -> Array:
        """Momentum of every body with all that hangs on it [steps w 6]."""
        width = own.shape[1]

        def step(total: Array, at: tuple[Array, ...]) -> tuple[Array, Array]:
            start, own, passed, transfer, parents = at
            momentum = own + lax.dynamic_slice_in_dim(total, start, width)
            passed = passed + jnp.einsum("wij,wi->wj", transfer, momentum)
            return total.at[parents].add(passed), momentum

        total = jnp.zeros_like(own, shape=(self.forest.places + 1, 6))
        return _over(self.forest, step, total, (own, passed, self.transfer), reverse=True)[1]

    def _outwards(self, free: Array) -> Array:
        """Velocities of the bodies [steps w 6]."""

        def step(velocity: Array, at: tuple[Array, ...]) -> tuple[Array, Array]:
            start, free, transfer, parents = at
            here = free + jnp.einsum("wij,wj->wi", transfer, velocity[parents])
            return lax.dynamic_update_slice_in_dim(velocity, here, start, 0), here

        velocity = jnp.zeros_like(free, shape=(self.forest.places + 1, 6))
        return _over(self.forest, step, velocity, (free, self.transfer))[1]


def articulate(
    rows: Float[Array, "m 6*k"], compliance: Float[Array, " m"], forest: Forest
) -> Articulated:
    """The factors for whitened rows W and compliances E, leaves first."""
    eye = jnp.eye(6, dtype=rows.dtype)
    table = jnp.concatenate([rows, jnp.zeros_like(rows, shape=(1, rows.shape[1]))])[forest.rows]
    first, second = table[..., :6], table[..., 6:12]
    own = jnp.where(forest.second[..., None, None], second, first)
    other = jnp.where(forest.second[..., None, None], first, second)
    comply = jnp.append(compliance, 1.0)[forest.rows]
    width, most = comply.shape[1:]
    unit = jnp.eye(most, dtype=rows.dtype)

    def step(inertia: Array, at: tuple[Array, ...]) -> tuple[Array, tuple[Array, ...]]:
        start, own, other, comply, parents = at
        root = _inverse_root(lax.dynamic_slice_in_dim(inertia, start, width))
        half = jnp.einsum("wij,wkj->wik", root, own)
        joint = jnp.einsum("wik,wil->wkl", half, half) + comply[..., None] * unit
        rigid = _inverse_root(joint)
        # Columns of ``unit_half`` are orthonormal where E is 0: G takes out what they span.
        unit_half = jnp.einsum("wkl,wil->wik", rigid, half)
        through = jnp.einsum("wkl,wlj->wkj", rigid, other)
        spread = jnp.einsum("wji,wjk->wik", root, unit_half)
        rest = eye - jnp.einsum("wik,wjk->wij", unit_half, unit_half)
        factors = (
            -jnp.einsum("wik,wkj->wij", spread, through),
            jnp.einsum("wki,wkl,wlj->wij", root, rest, root),
            jnp.einsum("wik,wkl->wil", spread, rigid),
            jnp.einsum("wki,wkj->wij", rigid, rigid),
        )
        return inertia.at[parents].add(jnp.einsum("wki,wkj->wij", through, through)), factors

    inertia = jnp.broadcast_to(eye, (forest.places + 1, 6, 6))
    _, (transfer, mobility, spread, stiffness) = _over(
        forest, step, inertia, (own, other, comply), reverse=True
    )
    return Articulated(transfer, mobility, spread, stiffness, other, forest)


def _inverse_root(a: Float[Array, "w n n"]) -> Float[Array, "w n n"]:
    """R with Rᵀ R = a⁻¹."""
    eye = jnp.broadcast_to(jnp.eye(a.shape[-1], dtype=a.dtype), a.shape)
    return solve_triangular(jnp.linalg.cholesky(a), eye, lower=True)


def _over(
    forest: Forest,
    step: Callable[[Array, tuple[Array, ...]], tuple[Array, Any]],
    carry: Array,
    tables: tuple[Array, ...],
    reverse: bool = False,
) -> tuple[Array, Any]:
    """``step`` over the forest's: given its first place, its parts of the tables, its parents."""
    steps, width = forest.bodies.shape
    start = jnp.arange(steps) * width
    parents = jnp.asarray(forest.parents)
    return lax.scan(step, carry, (start, *tables, parents), reverse=reverse)
