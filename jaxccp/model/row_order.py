"""The scalar rows of a model's problems: their families, their order, and what each acts along.

A family of rows is a kind of row, such as "spring"; ``Model.families`` are something else.
All that does not depend on the state is declared here, once; :mod:`jaxccp.dynamics.rows` makes the
rows of a step.
"""

from collections.abc import Callable
from dataclasses import dataclass
from weakref import WeakKeyDictionary

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.content import ByContent
from jaxccp.model.linkage import Linkage


@dataclass(frozen=True)
class RowFamily:
    """A family of scalar rows."""

    coordinates: Callable[[Linkage], np.ndarray]
    """Index of the coordinate that each row acts along, counted over all axes, then all tendons; −1
    for a constrained motion of a joint."""
    bounded: Callable[[Linkage], np.ndarray | bool] = lambda linkage: False
    """Mask of the rows whose force has a bound; the others are equalities."""
    bilateral: bool = False
    """Whether the rows forbid motion, whatever force that takes. These families come first."""
    impulsive: bool = False
    """Whether velocities jump where the rows begin to act, as at limits."""
    sense: int = 1
    """1 if the velocity of a row is that of its coordinate, −1 if it is its negative."""


def _all(linkage: Linkage) -> bool:
    return True


FAMILIES: dict[str, RowFamily] = {
    "joint": RowFamily(lambda linkage: np.full(len(linkage.bilateral[0]), -1), bilateral=True),
    "tendon": RowFamily(
        lambda linkage: len(linkage.axes) + linkage.routing.bilateral, bilateral=True
    ),
    "spring": RowFamily(lambda linkage: linkage.compliant),
    "lower": RowFamily(lambda linkage: linkage.lower, _all, impulsive=True),
    "upper": RowFamily(lambda linkage: linkage.upper, _all, impulsive=True, sense=-1),
    "ball": RowFamily(lambda linkage: linkage.balls, _all, impulsive=True),
    "friction": RowFamily(lambda linkage: linkage.dry_friction, _all, impulsive=True),
    "servo": RowFamily(
        lambda linkage: linkage.actuated[linkage.servos], lambda linkage: linkage.bounded
    ),
}
"""All families, in the order of the multipliers."""


@dataclass(frozen=True, eq=False)
class RowOrder(ByContent):
    """The scalar rows of a model."""

    families: tuple[str, ...]
    """Name of each family in :data:`FAMILIES`."""
    family: np.ndarray
    """Number of the family of each row [s]."""
    coordinate: np.ndarray
    """Coordinate that each row acts along; −1 for a constrained motion of a joint [s]."""
    owner: np.ndarray
    """Joint of each row; the number of joints for a row along a tendon [s]."""
    tendon: np.ndarray
    """Tendon of each row; the number of tendons for a row that belongs to a joint [s]."""
    sense: np.ndarray
    """:attr:`RowFamily.sense` of each row [s]."""
    equalities: np.ndarray
    """Mask of the rows that are equalities; the others have bounds [s]."""
    impulsive: np.ndarray
    """Indices of the rows of impulsive families."""
    loop_rows: np.ndarray
    """Indices of the bilateral rows of joints that close loops, and of tendons of given length."""
    loop_and_tendon_rows: np.ndarray
    """Indices of all rows, bilateral or not, of joints that close loops and of tendons;
    :attr:`loop_rows` come first."""
    n_bilateral: int
    """Number of rows of bilateral families, which come before all others."""

    @property
    def count(self) -> int:
        """The number of rows."""
        return len(self.family)

    def of(self, *families: str) -> np.ndarray:
        """Return the indices of the rows of these families."""
        numbers = [self.families.index(family) for family in families]
        return np.flatnonzero(np.isin(self.family, numbers)).astype(np.int32)

    def loop_row_values(
        self, joints: Float[Array, " m"], tendons: Float[Array, " nt"]
    ) -> Float[Array, " k"]:
        """Return numbers along :attr:`loop_rows`, such as errors or rates.

        Args:
            joints: one along each constrained motion of the joints.
            tendons: one along each tendon.
        """
        loops = self.loop_rows
        motions = loops[self.coordinate[loops] < 0]
        lengths = self.tendon[loops[self.coordinate[loops] >= 0]]
        return jnp.concatenate([joints[motions], tendons[lengths]])


_orders: WeakKeyDictionary[Linkage, RowOrder] = WeakKeyDictionary()


def row_order(linkage: Linkage) -> RowOrder:
    """Return the scalar rows of a model in their order; cached by linkage."""
    if linkage not in _orders:
        _orders[linkage] = _row_order(linkage)
    return _orders[linkage]


def rows_on(linkage: Linkage, bodies: np.ndarray) -> np.ndarray:
    """Return the mask of the scalar rows that act on any of the bodies in the mask ``bodies`` [s].

    Args:
        linkage: joints and tendons.
        bodies: mask of bodies [nb].
    """
    order = row_order(linkage)
    joints = np.append(np.any(bodies[linkage.bodies], axis=1), False)
    tendons = np.append(np.any(bodies[linkage.routing.bodies], axis=1), False)
    return joints[order.owner] | tendons[order.tendon]


def _row_order(linkage: Linkage) -> RowOrder:
    declared = list(FAMILIES.values())
    parts = [np.asarray(family.coordinates(linkage), int) for family in declared]
    sizes = [len(part) for part in parts]
    family, coordinate = np.repeat(np.arange(len(parts)), sizes), np.concatenate(parts)
    bounded = [
        np.broadcast_to(one.bounded(linkage), size)
        for one, size in zip(declared, sizes, strict=True)
    ]
    tendons, along = np.full(len(linkage.routing.tendons), len(linkage.joints)), coordinate >= 0
    owner = np.zeros(len(coordinate), int)
    owner[along] = np.append(linkage.owner, tendons).astype(int)[coordinate[along]]
    owner[~along] = linkage.bilateral[0]
    tendon = coordinate - len(linkage.axes)
    n_bilateral = int(np.sum(np.array([one.bilateral for one in declared])[family]))
    outside_trees = np.flatnonzero(np.isin(owner, [*linkage.loops, len(linkage.joints)]))
    return RowOrder(
        families=tuple(FAMILIES),
        family=family,
        coordinate=coordinate,
        owner=owner,
        tendon=np.where(tendon < 0, len(linkage.routing.tendons), tendon),
        sense=np.array([one.sense for one in declared])[family],
        equalities=~np.concatenate(bounded).astype(bool),
        impulsive=np.flatnonzero(np.array([one.impulsive for one in declared])[family]),
        loop_rows=outside_trees[outside_trees < n_bilateral],
        loop_and_tendon_rows=outside_trees,
        n_bilateral=n_bilateral,
    )
