"""Shape functions of continuum elements, from monomials and the vector coordinates of the nodes."""

from dataclasses import dataclass
from itertools import product

import numpy as np
from jaxtyping import Float

from jaxccp.content import ByContent, cached_table

Rule = tuple[Float[np.ndarray, "p 3"], Float[np.ndarray, " p"]]
"""Points and weights of an integral over the cube (−1, 1)³."""


@dataclass(frozen=True, eq=False)
class Shape(ByContent):
    """An element on the cube (−1, 1)³: at each node the position and derivatives of it are vector
    coordinates, in that order node by node."""

    name: str
    """Name in the registry."""
    monomials: str
    """Monomials of the shape functions, such as ``"1 x xy x2"``: as many as there are vector
    coordinates."""
    nodes: tuple[tuple[float, float, float], ...]
    """Positions of the nodes in the cube."""
    derivatives: tuple[str, ...]
    """Vector coordinates of each node: ``""`` the position, ``"x"``, ``"zz"``, … its derivatives by
    lengths in the reference."""
    section: bool = False
    """Whether it is a beam: coupling by Poisson's ratio is then evaluated on the axis only, lest it
    locks."""
    gauss: int | None = None
    """Number of points of Gauss's rule along each axis; as many as make Green's strains exact when
    None."""
    assumed: tuple[tuple[str, tuple[tuple[float, float, float], ...]], ...] = ()
    """Strains (``"zz"``, ``"yz"``, …) by the cube's coordinates that are evaluated at some points
    of the cube, and interpolated between them."""
    enhanced: tuple[tuple[str, str], ...] = ()
    """Strains that are added where they lower the energy, and the axis along which each is linear:
    ``("xx", "x")``, …; without, the strains are those of the shape functions."""

    @cached_table
    def exponents(self) -> np.ndarray:
        """The exponents of each monomial in x, y, z [k 3]."""
        return np.array(
            [[_power(monomial, axis) for axis in "xyz"] for monomial in self.monomials.split()]
        )

    @cached_table
    def orders(self) -> np.ndarray:
        """Order of each vector coordinate as a derivative by x, y, z [k 3]."""
        counts = [[part.count(axis) for axis in "xyz"] for part in self.derivatives]
        return np.array(counts * len(self.nodes))

    @property
    def count(self) -> int:
        """Number k of vector coordinates."""
        return len(self.orders)

    @cached_table
    def _basis(self) -> np.ndarray:
        """Coefficients of the monomials in each shape function [k k]."""
        nodes = np.repeat(np.array(self.nodes), len(self.derivatives), axis=0)
        rows = [
            self._monomials(node[None], order)[0]
            for node, order in zip(nodes, self.orders, strict=True)
        ]
        return np.linalg.inv(np.array(rows))

    def values(self, points: Float[np.ndarray, "p 3"]) -> Float[np.ndarray, "p k"]:
        """Return the shape functions at points of the cube, derivatives being by the cube's
        coordinates."""
        return self._monomials(points, (0, 0, 0)) @ self._basis

    def slopes(self, points: Float[np.ndarray, "p 3"]) -> Float[np.ndarray, "p k 3"]:
        """Return the derivatives of the shape functions by the cube's coordinates at points of the
        cube."""
        parts = [self._monomials(points, order) @ self._basis for order in np.eye(3, dtype=int)]
        return np.stack(parts, axis=-1)

    def mass_rule(self) -> Rule:
        """Return the integration rule that is exact for products of two shape functions."""
        return gauss_rule(2 * self.exponents.max(0))

    def rules(self, layers: tuple[float, ...] = (1.0,)) -> tuple[Rule, ...]:
        """Return integration rules that are exact for the energy of Green's strains where the
        reference is straight: one of each layer; of beams one for the section, then one for the
        axis.

        Args:
            layers: shares of the thickness from below.
        """
        unit = np.eye(3, dtype=int)[:, None]
        slopes = np.where(
            np.any(self.exponents < unit, axis=2, keepdims=True), 0, self.exponents - unit
        )
        degrees = 4 * slopes.max((0, 1))
        if self.gauss:
            degrees = np.full(3, 2 * self.gauss - 1)
        points, weights = gauss_rule(degrees)
        if self.section:
            axis, lengths = gauss_rule(degrees * [1, 0, 0])
            return (points, weights), (axis, lengths)
        edges = np.cumsum([0.0, *layers])
        return tuple(
            (points * [1, 1, share] + [0, 0, low + high - 1], share * weights)
            for share, low, high in zip(layers, edges, edges[1:], strict=False)
        )

    def _monomials(self, points: np.ndarray, order) -> np.ndarray:
        factor = np.ones(len(self.exponents))
        for axis, times in enumerate(order):
            for i in range(times):
                factor = factor * (self.exponents[:, axis] - i)
        left = np.maximum(self.exponents - np.asarray(order), 0)
        return factor * np.prod(points[:, None, :] ** left, axis=2)


def _power(monomial: str, axis: str) -> int:
    _before, symbol, after = monomial.partition(axis)
    return int(after[0]) if symbol and after[:1].isdigit() else len(symbol)


def gauss_rule(degrees: np.ndarray) -> Rule:
    """Return Gauss's rule that is exact for monomials of these degrees in x, y, z."""
    lines = [np.polynomial.legendre.leggauss(int(degree) // 2 + 1) for degree in degrees]
    points = np.array(list(product(*(abscissae for abscissae, _ in lines))))
    weights = np.array(
        [np.prod(factors) for factors in product(*(line_weights for _, line_weights in lines))]
    )
    return points, weights
