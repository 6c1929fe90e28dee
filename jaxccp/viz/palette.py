"""The colours of pictures."""

from matplotlib import colormaps
from matplotlib.colors import to_hex

PALETTE = ("#d1603d", "#2f6690", "#5b8c5a", "#e0a030", "#7d5ba6", "#3aa6a0")
NAMED = len(PALETTE)
"""Largest number of moving things, bodies or whole flexible bodies, that get colours of the palette
and entries in the legend."""
FIXED = "#b5b0a6"
INK = "#333333"


def colours(count: int) -> list[str]:
    """Return ``count`` different colours."""
    if count <= NAMED:
        return list(PALETTE[:count])
    return [to_hex(colormaps["turbo"](0.08 + 0.84 * i / (count - 1))) for i in range(count)]
