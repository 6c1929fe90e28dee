"""The Delassus operator N = J M⁻¹ Jᵀ + E: its interface, and three forms of it.

Every form offers ``apply(λ)`` (N λ), ``diagonal()``, ``blocks(s)`` (the s scalar entries and the
3 × 3 blocks of the contacts), ``dense()``, ``scaled(s)`` (S N S) and ``rows``.
"""

from dataclasses import dataclass, field, replace
from typing import Protocol

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxccp.ccp.band import Band
from jaxccp.ccp.blocks import BlockDiagonal


class Delassus(Protocol):
    """What a solver needs of N, a symmetric positive semidefinite n × n operator."""

    @property
    def rows(self) -> int: ...
    def apply(self, lam: Float[Array, " n"]) -> Float[Array, " n"]: ...
    def diagonal(self) -> Float[Array, " n"]: ...
    def blocks(self, scalars: int) -> tuple[Float[Array, " s"], Float[Array, "c 3 3"]]: ...
    def dense(self) -> Float[Array, "n n"]: ...
    def scaled(self, s: Float[Array, " n"]) -> "Delassus": ...


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class DenseDelassus:
    """N stored as a matrix."""

    matrix: Float[Array, "n n"]

    @property
    def rows(self) -> int:
        return self.matrix.shape[-1]

    def apply(self, lam: Float[Array, " n"]) -> Float[Array, " n"]:
        return self.matrix @ lam

    def diagonal(self) -> Float[Array, " n"]:
        return jnp.diagonal(self.matrix)

    def blocks(self, scalars: int) -> tuple[Float[Array, " s"], Float[Array, "c 3 3"]]:
        n = self.rows
        start = jnp.arange(scalars, n, 3)[:, None] + jnp.arange(3)
        return self.diagonal()[:scalars], self.matrix[start[:, :, None], start[:, None, :]]

    def dense(self) -> Float[Array, "n n"]:
        return self.matrix

    def scaled(self, s: Float[Array, " n"]) -> "DenseDelassus":
        return DenseDelassus(s[:, None] * self.matrix * s)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BlockSparseDelassus:
    """N over contacts only, stored as its non-zero 3 × 3 blocks (both triangles)."""

    entries: Float[Array, "b 3 3"]
    row: Int[Array, " b"]
    """Contact of each block's rows, ascending."""
    column: Int[Array, " b"]
    contacts: int = field(metadata={"static": True})
    band: Band | None = None
    """Where the blocks are if the contacts are ordered for it; None: not known."""

    @property
    def rows(self) -> int:
        return 3 * self.contacts

    def tiles(self, diagonal: Float[Array, "c 3 3"]) -> tuple[Float[Array, "3 k t t"], Band]:
        """N + ``diagonal`` within its band."""
        assert self.band is not None
        return self.band.tiles(self.entries, diagonal), self.band

    def apply(self, lam: Float[Array, " n"]) -> Float[Array, " n"]:
        # Blocks along the last axis: XLA makes one loop of this, and of a batched product many.
        multipliers = lam.reshape(-1, 3)[self.column].T
        products = jnp.sum(jnp.moveaxis(self.entries, 0, 2) * multipliers, axis=1)
        return jax.ops.segment_sum(
            products.T, self.row, self.contacts, indices_are_sorted=True
        ).reshape(-1)

    def blocks(self, scalars: int) -> tuple[Float[Array, " s"], Float[Array, "c 3 3"]]:
        diagonal = jnp.where((self.row == self.column)[:, None, None], self.entries, 0.0)
        return self.entries[:0, 0, 0], jax.ops.segment_sum(
            diagonal, self.row, self.contacts, indices_are_sorted=True
        )

    def diagonal(self) -> Float[Array, " n"]:
        return jnp.diagonal(self.blocks(0)[1], axis1=1, axis2=2).reshape(-1)

    def dense(self) -> Float[Array, "n n"]:
        tiles = jnp.zeros((self.contacts, 3, self.contacts, 3), self.entries.dtype)
        return tiles.at[self.row, :, self.column, :].add(self.entries).reshape(self.rows, -1)

    def scaled(self, s: Float[Array, " n"]) -> "BlockSparseDelassus":
        blocks = s.reshape(-1, 3)
        left, right = blocks[self.row][:, :, None], blocks[self.column][:, None]
        return replace(self, entries=left * self.entries * right)


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class BodyDelassus:
    """Matrix-free N = W Wᵀ + diag(E), W = J L with L Lᵀ = M⁻¹, each contact touching two bodies.

    A product is one gather and one scatter-add of six numbers per contact and body. Rows are
    stored against the square root of the inverse mass, so no inverse mass is applied inside.
    The bodies of a row are different ones, or its part for one of them is zero; k is 2 unless there
    are scalar rows that touch more.
    """

    scalar_rows: Float[Array, "s 6*k"]
    contact_rows: Float[Array, "c w 12"]
    scalar_bodies: Int[Array, "s k"]
    contact_bodies: Int[Array, "c 2"]
    compliance: Float[Array, " n"]
    """E [m/(s · N·s)], ≥ 0, one per row."""
    bodies: int = field(metadata={"static": True})

    @property
    def rows(self) -> int:
        return self.compliance.shape[-1]

    def impulse(self, lam: Float[Array, " n"]) -> Float[Array, "nb 6"]:
        """Wᵀ λ: what the multipliers add to the whitened velocities of the bodies."""
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
        """W applied to whitened velocities of the bodies: the velocities of the rows."""
        c = self.contact_rows.shape[0]
        scalar = whitened[self.scalar_bodies].reshape(self.scalar_rows.shape)
        contact = whitened[self.contact_bodies].reshape(c, 12)
        return jnp.concatenate(
            [
                jnp.einsum("sj,sj->s", self.scalar_rows, scalar),
                jnp.einsum("cij,cj->ci", self.contact_rows, contact).reshape(-1),
            ]
        )

    def apply(self, lam: Float[Array, " n"]) -> Float[Array, " n"]:
        return self.velocity(self.impulse(lam)) + self.compliance * lam

    def gram(self, weights: BlockDiagonal) -> Float[Array, "6*nb 6*nb"]:
        """Wᵀ K W for block diagonal weights K on the rows, as a dense matrix."""
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
        # Rows of one body on both sides would couple; distinct bodies never do.
        contacts = self.contact_rows.reshape(-1, 12)
        own = (jnp.sum(rows * rows, axis=1) for rows in (self.scalar_rows, contacts))
        return jnp.concatenate([*own]) + self.compliance

    def blocks(self, scalars: int) -> tuple[Float[Array, " s"], Float[Array, "c w w"]]:
        own = jnp.einsum("cij,ckj->cik", self.contact_rows, self.contact_rows)
        compliance = jax.vmap(jnp.diag)(self.compliance[scalars:].reshape(own.shape[:2]))
        return self.diagonal()[:scalars], own + compliance

    def dense(self) -> Float[Array, "n n"]:
        return jax.vmap(self.apply)(jnp.eye(self.rows, dtype=self.compliance.dtype))

    def scaled(self, s: Float[Array, " n"]) -> "BodyDelassus":
        own, blocks = s[: len(self.scalar_rows)], s[len(self.scalar_rows) :]
        return replace(
            self,
            scalar_rows=own[:, None] * self.scalar_rows,
            contact_rows=blocks.reshape(self.contact_rows.shape[:2])[..., None]
            * self.contact_rows,
            compliance=s * s * self.compliance,
        )
