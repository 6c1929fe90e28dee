"""Shape functions of continuum elements, from monomials and the vector coordinates of the nodes."""

from dataclasses import dataclass
from itertools import product

import numpy as np
from jaxtyping import Float

from jaxccp.content import ByContent, cached_table

Rule = tuple[Float[np.ndarray, "p 3"], Float[np.ndarray, " p"]]
"""Points and weights of an integral over the parent element (−1, 1)³."""


@dataclass(frozen=True, eq=False)
class Shape(ByContent):
    """A type of ANCF element, with nodes and shape functions on the parent element (−1, 1)³.

    Its vector coordinates are the position of each node and derivatives of the position there, in
    this order, node by node.
    """

    name: str
    """Name in the registry."""
    monomials: str
    """Monomials of the shape functions, such as ``"1 x xy x2"``; one for each vector coordinate."""
    nodes: tuple[tuple[float, float, float], ...]
    """Positions of the nodes in the parent element: at its corners, and between them at 0."""
    derivatives: tuple[str, ...]
    """Vector coordinates of each node: ``""`` is the position; ``"x"``, ``"zz"``, … are its
    derivatives along lengths in the reference configuration."""
    section: bool = False
    """Whether it is a beam. A beam evaluates Poisson's coupling on its axis only, to avoid locking.
    """
    gauss: int | None = None
    """Number of Gauss points along each axis. None: the number that integrates Green's strains
    exactly."""
    assumed: tuple[tuple[str, tuple[tuple[float, float, float], ...]], ...] = ()
    """Assumed strains (``"zz"``, ``"yz"``, …) in the parent element's coordinates, each with the
    points at which it is evaluated; it is interpolated between them."""
    enhanced: tuple[tuple[str, str], ...] = ()
    """Enhanced strains, each with the axis along which it is linear: ``("xx", "x")``, …. They take
    the values that minimise the energy. Without them, strains follow from the shape functions
    alone."""

    @cached_table
    def exponents(self) -> np.ndarray:
        """The exponents of each monomial in x, y, z [k 3]."""
        return np.array(
            [[_power(monomial, axis) for axis in "xyz"] for monomial in self.monomials.split()]
        )

    @cached_table
    def orders(self) -> np.ndarray:
        """Order of the derivative that each vector coordinate is, in x, y and z [k 3]."""
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
        """Return the k shape functions at points of the parent element; those of derivatives belong
        to derivatives with respect to its coordinates, not along lengths."""
        return self._monomials(points, (0, 0, 0)) @ self._basis

    def slopes(self, points: Float[np.ndarray, "p 3"]) -> Float[np.ndarray, "p k 3"]:
        """Return the derivatives of the shape functions with respect to the parent element's
        coordinates, at points of it."""
        parts = [self._monomials(points, order) @ self._basis for order in np.eye(3, dtype=int)]
        return np.stack(parts, axis=-1)

    def mass_rule(self) -> Rule:
        """Return the integration rule that is exact for products of two shape functions."""
        return gauss_rule(2 * self.exponents.max(0))

    def rules(self, layers: tuple[float, ...] = (1.0,)) -> tuple[Rule, ...]:
        """Return integration rules that are exact for the energy of Green's strains if the
        reference is straight, or have ``gauss`` points along each axis if that is set.

        There is one rule for each layer. A beam has one for its section, then one for its axis; the
        weights of each sum to the whole volume.

        Args:
            layers: thickness of each layer as a fraction of the whole, from below.
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
        """Return a derivative of the monomials at points of the parent element, of given order in
        x, y and z."""
        factor = np.ones(len(self.exponents))
        for axis, times in enumerate(order):
            for i in range(times):
                factor = factor * (self.exponents[:, axis] - i)
        left = np.maximum(self.exponents - np.asarray(order), 0)
        return factor * np.prod(points[:, None, :] ** left, axis=2)


def _power(monomial: str, axis: str) -> int:
    """Return the exponent of x, y or z in a monomial."""
    _before, symbol, after = monomial.partition(axis)
    return int(after[0]) if symbol and after[:1].isdigit() else len(symbol)


def gauss_rule(degrees: np.ndarray) -> Rule:
    """Return the Gauss rule in (−1, 1)³ that is exact for monomials of these degrees in x, y, z."""
    lines = [np.polynomial.legendre.leggauss(int(degree) // 2 + 1) for degree in degrees]
    points = np.array(list(product(*(abscissae for abscissae, _ in lines))))
    weights = np.array(
        [np.prod(factors) for factors in product(*(line_weights for _, line_weights in lines))]
    )
    return points, weights
