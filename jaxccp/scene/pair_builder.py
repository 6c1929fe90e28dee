"""The part of the builder that chooses which shapes can collide, and the friction of pairs."""

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from jaxccp.model.material import Material
from jaxccp.model.shapes import Sphere
from jaxccp.names import index
from jaxccp.scene.tables.body_tables import BodySpec
from jaxccp.scene.tables.shape_tables import ShapeSpec


@dataclass
class PairBuilder:
    """Chooses which pairs of bodies and shapes can collide."""

    _bodies: list[BodySpec] = field(init=False, default_factory=list)
    _shapes: list[ShapeSpec] = field(init=False, default_factory=list)
    _excluded: set[frozenset[int]] = field(init=False, default_factory=set)
    _collision_pairs: set[frozenset[int]] | None = field(init=False, default=None)
    _pair_friction: dict[frozenset[int], tuple[float, float, float]] = field(
        init=False, default_factory=dict
    )

    def exclude(self, body_a: int | str, body_b: int | str) -> None:
        """Exclude two bodies, given by index or name, from collision with each other.

        Args:
            body_a: first body.
            body_b: second body.

        Raises:
            ValueError: a body does not exist, or both are the same.
        """
        names = self._body_names
        pair = frozenset(index("exclude", "body", names, body) for body in (body_a, body_b))
        if len(pair) == 1:
            raise ValueError(f"exclude: {body_a!r} is one body, which never meets itself; name two")
        self._excluded.add(pair)

    def collide_only(self, pairs: Iterable[tuple[int | str, int | str]]) -> None:
        """Let only these pairs of shapes, given by index or name, collide.

        Groups, masks and excluded bodies then have no effect.

        Raises:
            ValueError: a shape does not exist, or two shapes can never collide: they are on one
                body or family, or neither moves.
        """
        self._collision_pairs = {self._shape_pair("collide_only", *pair) for pair in pairs}

    def set_pair_friction(
        self,
        shape_a: int | str,
        shape_b: int | str,
        friction: float,
        spinning: float,
        rolling: float,
    ) -> None:
        """Set the friction coefficients of a pair of shapes, also in impacts; they replace the
        combined ones of the materials.

        Args:
            shape_a: shape by index or name.
            shape_b: shape by index or name.
            friction: Coulomb coefficient.
            spinning: coefficient of spinning friction [m].
            rolling: coefficient of rolling friction [m].

        Raises:
            ValueError: a shape does not exist, two shapes can never collide, or a coefficient is
                unphysical.
        """
        Material(friction, spinning=spinning, rolling=rolling)  # raises for unphysical numbers
        pair = self._shape_pair("set_pair_friction", shape_a, shape_b)
        self._pair_friction[pair] = (friction, spinning, rolling)

    @property
    def _body_names(self) -> list[str]:
        return [body.name for body in self._bodies]

    @property
    def _shape_names(self) -> list[str]:
        return [spec.name for spec in self._shapes]

    def _shape_pair(self, what: str, a: int | str, b: int | str) -> frozenset[int]:
        """Return the indices of two shapes, or raise ``ValueError`` if they do not exist or can
        never collide."""
        names = self._shape_names
        i, j = (index(what, "shape", names, shape) for shape in (a, b))
        if not self._movable_pair(i, j):
            raise ValueError(
                f"{what}: the shapes {names[i]!r} and {names[j]!r} cannot collide, since they are "
                "on one body or family, or neither moves; leave the pair out"
            )
        return frozenset((i, j))

    def _may_touch(self, i: int, j: int) -> bool:
        a, b = self._shapes[i], self._shapes[j]
        if self._collision_pairs is not None:
            return frozenset((i, j)) in self._collision_pairs
        return (
            self._movable_pair(i, j)
            and bool(a.group & b.mask)
            and bool(b.group & a.mask)
            and frozenset((a.body, b.body)) not in self._excluded
        )

    def _movable_pair(self, i: int, j: int) -> bool:
        """Tell whether two shapes are on different bodies, not on one family, and at least one of
        them moves."""
        first, second = self._shapes[i].body, self._shapes[j].body
        family = self._bodies[first].family
        together = first == second or (family >= 0 and family == self._bodies[second].family)
        return not together and (self._moves(i) or self._moves(j))

    def _moves(self, place: int) -> bool:
        """Tell whether a shape moves as its body does; a sphere about the origin of a frame that
        turns only does not."""
        spec = self._shapes[place]
        body = self._bodies[spec.body]
        if body.family < 0 or body.moves:
            return body.is_movable
        return body.turns and not (isinstance(spec.shape, Sphere) and not np.any(spec.position))
