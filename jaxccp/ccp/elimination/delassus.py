"""The Delassus operator of what is left after equality rows have been eliminated."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.ccp.elimination.equalities import Equalities
from jaxccp.ccp.operators import BodyDelassus, Delassus
from jaxccp.ccp.operators.dense import densified


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class EliminatedDelassus(Delassus):
    """N = W P Wᵀ + diag(E), P = 1 − W_bᵀ (W_b W_bᵀ + E_b)⁻¹ W_b over the equality rows b.

    A product is two passes along the trees of bodies.
    """

    rest: BodyDelassus
    """The rows that are left, on the bodies as if nothing held them."""
    equalities: Equalities

    @property
    def rows(self) -> int:
        return self.rest.rows

    def apply(self, lam: Float[Array, " n"]) -> Float[Array, " n"]:
        free = jnp.zeros_like(self.equalities.compliance)
        moved, _ = self.equalities.solve(self.rest.impulse(lam), free)
        return self.rest.velocity(moved) + self.rest.compliance * lam

    def diagonal(self) -> Float[Array, " n"]:
        scalars = self.rest.scalar_rows.shape[0]
        own, blocks = self.blocks(scalars)
        return jnp.concatenate([own, jnp.diagonal(blocks, axis1=1, axis2=2).reshape(-1)])

    def blocks(self, scalars: int) -> tuple[Float[Array, " s"], Float[Array, "c w w"]]:
        rest = self.rest
        if rest.scalar_bodies.shape[1] > 2:
            own = self._own_scalars()
        else:
            own = _own(self.equalities, rest.scalar_rows[:, None], rest.scalar_bodies)[:, 0, 0]
        blocks = _own(self.equalities, rest.contact_rows, rest.contact_bodies)
        compliance = jax.vmap(jnp.diag)(rest.compliance[scalars:].reshape(blocks.shape[:2]))
        return own + rest.compliance[:scalars], blocks + compliance

    def _own_scalars(self) -> Float[Array, " s"]:
        """w P wᵀ of each scalar row w, by a product with each."""
        held, rest = lax.stop_gradient((self.equalities, self.rest))
        free = jnp.zeros_like(held.compliance)

        def own(row: Array, bodies: Array) -> Array:
            parts = row.reshape(-1, 6)
            push = jnp.zeros((rest.bodies, 6), row.dtype).at[bodies].add(parts)
            return jnp.einsum("bi,bi->", held.solve(push, free)[0][bodies], parts)

        return jax.vmap(own)(rest.scalar_rows, rest.scalar_bodies)

    def dense(self) -> Float[Array, "n n"]:
        return jax.vmap(self.apply)(jnp.eye(self.rows, dtype=self.rest.compliance.dtype))

    def scaled(self, s: Float[Array, " n"]) -> "EliminatedDelassus":
        return EliminatedDelassus(self.rest.scaled(s), self.equalities)

    def for_iterations(self) -> Delassus:
        return densified(self)


def _own(equalities: Equalities, rows: Array, bodies: Array) -> Float[Array, "b k k"]:
    """W P Wᵀ of each block of rows [b k 12] by itself."""
    if not rows.shape[0]:
        return jnp.zeros((0, rows.shape[1], rows.shape[1]), rows.dtype)
    equalities = lax.stop_gradient(equalities)
    sides = jnp.swapaxes(rows.reshape(*rows.shape[:2], 2, 6), 1, 2)
    found = _along_trees(equalities, sides, bodies)
    loops = equalities.loops
    if loops is not None:
        coupled = jnp.einsum("bski,lbsi->bkl", sides, loops.moved[:, bodies])
        found = found - jnp.einsum("bkl,lm,bjm->bkj", coupled, loops.closing, coupled)
    return found


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Climb:
    place: Array
    """Where either side of each block has come to [b 2]."""
    rows: Array
    """Its rows there [b 2 k 6]."""
    found: Array


def _along_trees(equalities: Equalities, sides: Array, bodies: Array) -> Float[Array, "b k k"]:
    """The same without the loose rows.

    An impulse on a body moves it by G with what it hangs on held, and through T that as well: the
    lower one of both sides climbs, its rows times T, until they meet.
    """
    trees = equalities.trees
    forest = trees.forest
    none = forest.places
    transfer = _padded(trees.transfer)
    mobility = _padded(trees.mobility)
    whole = trees.own_mobility()
    parents = jnp.append(jnp.asarray(forest.parents).reshape(-1), none)
    places = (
        jnp.full(forest.total[0], none)
        .at[forest.bodies.reshape(-1)]
        .set(jnp.arange(none), mode="drop")
    )
    at = places[bodies]
    # What is in no tree moves by itself or not at all, and is met anywhere.
    alone = jnp.where((at == none)[..., None, None], sides, 0.0)
    at = jnp.where(at == none, at[:, ::-1], at)
    start = _Climb(at, sides - alone, jnp.einsum("bski,bsji->bkj", alone, alone))

    def apart(climb: _Climb) -> Array:
        return jnp.any(climb.place[:, 0] != climb.place[:, 1])

    def step(climb: _Climb) -> _Climb:
        place, rows = climb.place, climb.rows
        # Places are counted from the roots outwards; none counts as the innermost.
        depth = jnp.where(place == none, -1, place)
        lower = depth > depth[:, ::-1]
        own = jnp.where(lower[..., None, None], rows, 0.0)
        found = climb.found + jnp.einsum("bski,bsij,bslj->bkl", own, mobility[place], own)
        up = jnp.einsum("bski,bsij->bskj", rows, transfer[place])
        return _Climb(
            jnp.where(lower, parents[place], place),
            jnp.where(lower[..., None, None], up, rows),
            found,
        )

    met = lax.while_loop(apart, step, start)
    rows = jnp.sum(met.rows, axis=1)
    return met.found + jnp.einsum("bki,bij,blj->bkl", rows, whole[met.place[:, 0]], rows)


def _padded(blocks: Float[Array, "steps w 6 6"]) -> Float[Array, "places+1 6 6"]:
    blocks = blocks.reshape(-1, 6, 6)
    return jnp.concatenate([blocks, jnp.zeros_like(blocks, shape=(1, 6, 6))])
