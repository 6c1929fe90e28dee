"""Contacts between shapes: kernels for pairs of shapes, and the detection that calls them."""

from jaxccp.collision.manifold import NO_CONTACT, Geometry, Manifold
from jaxccp.collision.pairs import PAIRS, Pair, lookup

__all__ = ["NO_CONTACT", "PAIRS", "Geometry", "Manifold", "Pair", "lookup"]
