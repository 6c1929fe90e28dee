"""The Delassus operator of free bodies, stored as the Jacobian rows of the bodies that they act
on."""

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxccp.ccp.operators.blocks import BlockDiagonal, diagonal
from jaxccp.ccp.operators.factors import Factors, dense_factors
from jaxccp.ccp.operators.operator import NeighbourMax, SplitDelassus, check_indices


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BodyDelassus(SplitDelassus):
    """Matrix-free N = W Wᵀ + diag(E), W = J L with L Lᵀ = M⁻¹, where each contact acts on two
    bodies.

    A product is one gather and one scatter-add of six numbers per contact and body. The rows are
    stored multiplied by the square root of the inverse mass, so products need no mass matrix. The
    bodies of a row are different, or its part for one of them is zero. k is 2, or more if scalar
    rows act on more bodies.
    """

    scalar_rows: Float[Array, "s 6*k"]
    """Rows of W of the scalar rows, six numbers for each of their k bodies."""
    contact_rows: Float[Array, "c w 12"]
    """Rows of W of the contacts, six numbers for each of their two bodies."""
    scalar_bodies: Int[Array, "s k"]
    """Bodies of each scalar row."""
    contact_bodies: Int[Array, "c 2"]
    """Bodies of each contact."""
    compliance: Float[Array, " n"]
    """E [m/(s · N·s)], ≥ 0, one per row."""
    bodies: int = field(metadata={"static": True})
    """Number of bodies."""

    @property
    def rows(self) -> int:
        return self.compliance.shape[-1]

    def checked(self, dtype: jnp.dtype) -> "BodyDelassus":
        check_indices("delassus.scalar_bodies", self.scalar_bodies, self.bodies)
        check_indices("delassus.contact_bodies", self.contact_bodies, self.bodies)
        return self

    def impulse(self, lam: Float[Array, " n"]) -> Float[Array, "nb 6"]:
        """Return Wᵀ λ, the change of the bodies' whitened velocities by the multipliers."""
        s = self.scalar_rows.shape[0]
        total = jnp.zeros((self.bodies, 6), lam.dtype)
        if s:
            parts = jnp.einsum("sj,s->sj", self.scalar_rows, lam[:s])
            total = total.at[self.scalar_bodies.reshape(-1)].add(parts.reshape(-1, 6))
        if self.contact_rows.shape[0]:
            blocks = lam[s:].reshape(self.contact_rows.shape[:2])
            parts = jnp.einsum("cij,ci->cj", self.contact_rows, blocks)
            total = total.at[self.contact_bodies.reshape(-1)].add(parts.reshape(-1, 6))
        return total

    def velocity(self, whitened: Float[Array, "nb 6"]) -> Float[Array, " n"]:
        """Return the velocities of the rows, W times the whitened velocities of the bodies."""
        c = self.contact_rows.shape[0]
        scalar = whitened[self.scalar_bodies].reshape(self.scalar_rows.shape)
        contact = whitened[self.contact_bodies].reshape(c, 12)
        return jnp.concatenate(
            [
                jnp.einsum("sj,sj->s", self.scalar_rows, scalar),
                jnp.einsum("cij,cj->ci", self.contact_rows, contact).reshape(-1),
            ]
        )

    def gram(self, weights: BlockDiagonal) -> Float[Array, "6*nb 6*nb"]:
        """Return the dense matrix Wᵀ K W for block diagonal weights K on the rows."""
        scalars = jnp.einsum("s,si,sj->sij", weights.scalars, self.scalar_rows, self.scalar_rows)
        contacts = jnp.einsum(
            "cki,ckl,clj->cij", self.contact_rows, weights.blocks, self.contact_rows
        )
        total = jnp.zeros((self.bodies, self.bodies, 6, 6), contacts.dtype)
        for tiles, bodies in ((scalars, self.scalar_bodies), (contacts, self.contact_bodies)):
            if tiles.shape[0]:
                width = bodies.shape[1]
                tiles = jnp.swapaxes(tiles.reshape(-1, width, 6, width, 6), 2, 3)
                total = total.at[bodies[:, :, None], bodies[:, None, :]].add(tiles)
        return jnp.swapaxes(total, 1, 2).reshape(6 * self.bodies, -1)

    def diagonal(self) -> Float[Array, " n"]:
        # Only a row with the same body on both sides would add products between its two parts.
        contacts = self.contact_rows.reshape(-1, 12)
        squares = (jnp.sum(rows * rows, axis=1) for rows in (self.scalar_rows, contacts))
        return jnp.concatenate([*squares]) + self.compliance

    def blocks(
        self, scalars: int, width: int = 3
    ) -> tuple[Float[Array, " s"], Float[Array, "c w w"]]:
        contacts = jnp.einsum("cij,ckj->cik", self.contact_rows, self.contact_rows)
        compliance = jax.vmap(jnp.diag)(self.compliance[scalars:].reshape(contacts.shape[:2]))
        return self.diagonal()[:scalars], contacts + compliance

    def dense(self) -> Float[Array, "n n"]:
        return jax.vmap(self.apply)(jnp.eye(self.rows, dtype=self.compliance.dtype))

    def scaled(self, s: Float[Array, " n"]) -> "BodyDelassus":
        scalar_scales, blocks = s[: len(self.scalar_rows)], s[len(self.scalar_rows) :]
        return replace(
            self,
            scalar_rows=scalar_scales[:, None] * self.scalar_rows,
            contact_rows=blocks.reshape(self.contact_rows.shape[:2])[..., None] * self.contact_rows,
            compliance=s * s * self.compliance,
        )

    @property
    def factor_rows(self) -> int:
        return min(self.rows, 6 * self.bodies)

    def factorised(
        self,
        left: BlockDiagonal,
        right: BlockDiagonal,
        complement: BlockDiagonal,
        ridge: Array | float,
        symmetric: bool,
    ) -> Factors:
        """Factorise over the bodies where they have fewer rows: see :class:`BodyFactors`.

        Args:
            left: L.
            right: R.
            complement: C.
            ridge: number added to the diagonal.
            symmetric: whether the matrix is symmetric positive definite.
        """
        if 6 * self.bodies > self.rows:
            return super().factorised(left, right, complement, ridge, symmetric)
        compliance = diagonal(self.compliance, self.scalar_rows.shape[0], left.width)
        local = (left @ compliance @ right).plus(complement, ridge).inverse(definite=symmetric)
        identity = jnp.eye(6 * self.bodies, dtype=left.scalars.dtype)
        inner = dense_factors(self.gram(right @ local @ left) + identity, symmetric)
        return BodyFactors(self, local, left, right, inner)

    @property
    def block_bodies(self) -> Int[Array, "b k"]:
        """The bodies of each row block; ``bodies`` in place of a body that cannot move or does not
        exist."""
        width, none = self.scalar_bodies.shape[1], self.bodies
        scalars = jnp.any(self.scalar_rows.reshape(-1, width, 6) != 0, axis=2)
        contacts = jnp.any(self.contact_rows.reshape(-1, 3, 2, 6) != 0, axis=(1, 3))
        contacts = jnp.where(contacts, self.contact_bodies, none)
        contacts = jnp.pad(contacts, ((0, 0), (0, width - 2)), constant_values=none)
        return jnp.concatenate([jnp.where(scalars, self.scalar_bodies, none), contacts])

    def neighbour_maximum(self, scalars: int) -> NeighbourMax:
        """Return a function that maps one number per row block to, for each block, the largest
        number among the blocks that share a moving body with it; fixed bodies couple no blocks."""
        block_bodies = self.block_bodies

        def through_bodies(x: Array) -> Array:
            largest = jnp.zeros(self.bodies + 1, x.dtype).at[block_bodies].max(x[:, None])
            return jnp.max(largest.at[self.bodies].set(0)[block_bodies], axis=1)

        return through_bodies

    def bound(self, scalars: int) -> tuple[Float[Array, " s"], Float[Array, "c 3 3"]]:
        """Return a block diagonal bound of N, from each body's mass divided among the blocks that
        act on it."""
        dtype, block_bodies = self.compliance.dtype, self.block_bodies
        count = (
            jnp.zeros(self.bodies + 1, dtype).at[block_bodies.reshape(-1)].add(1.0)[block_bodies]
        )
        single = self.scalar_rows.reshape(scalars, block_bodies.shape[1], 6)
        blocks = self.contact_rows.reshape(-1, 3, 2, 6)
        return (
            jnp.einsum("sbj,sbj,sb->s", single, single, count[:scalars])
            + self.compliance[:scalars],
            jnp.einsum("cibj,ckbj,cb->cik", blocks, blocks, count[scalars:, :2])
            + jax.vmap(jnp.diag)(self.compliance[scalars:].reshape(-1, 3)),
        )


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BodyFactors:
    """Factors of C + L N R with N = W Wᵀ + E, where W has at most six columns per body.

    (T + U Vᵀ)⁻¹ = T⁻¹ − T⁻¹ U (I + Vᵀ T⁻¹ U)⁻¹ Vᵀ T⁻¹ with T = C + L E R, U = L W, Vᵀ = Wᵀ R: this
    factorises a matrix of 6 rows per body instead of one of n rows.
    """

    delassus: BodyDelassus
    """N."""
    local: BlockDiagonal
    """T⁻¹."""
    left: BlockDiagonal
    """L."""
    right: BlockDiagonal
    """R."""
    inner: Factors
    """Factors of I + Vᵀ T⁻¹ U."""

    def solve(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        first = self.local.apply(b)
        impulse = self.delassus.impulse(self.right.apply(first))
        velocities = self.inner.solve(impulse.reshape(-1)).reshape(-1, 6)
        return first - self.local.apply(self.left.apply(self.delassus.velocity(velocities)))

    def solve_transposed(self, b: Float[Array, " n"]) -> Float[Array, " n"]:
        local, left, right = (x.transpose() for x in (self.local, self.left, self.right))
        first = local.apply(b)
        impulse = self.delassus.impulse(left.apply(first))
        velocities = self.inner.solve_transposed(impulse.reshape(-1)).reshape(-1, 6)
        return first - local.apply(right.apply(self.delassus.velocity(velocities)))
