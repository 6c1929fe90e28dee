"""The height field, ground over a grid."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from jaxccp.content import ByContent
from jaxccp.model.shapes.shape import require_positive


@dataclass(frozen=True, eq=False)
class HeightField(ByContent):
    """Ground over a grid in the x-y plane of its frame, solid below; for fixed bodies.

    ``heights`` has rows along y and columns along x, from -``half_extents`` to +``half_extents``;
    it is multiplied by ``elevation``. Each cell between four points consists of two triangles.
    """

    heights: ArrayLike
    """Heights of the points, (rows, columns) [m]."""
    half_extents: tuple[float, float]
    """Half extents along x and y [m]."""
    elevation: float = 1.0
    """Factor on the heights."""
    kind: ClassVar[str] = "height_field"

    def __post_init__(self) -> None:
        heights = np.array(self.heights, float)
        if heights.ndim != 2 or min(heights.shape) < 2 or not np.isfinite(heights).all():
            raise ValueError(
                "HeightField: heights must be finite numbers in at least 2 rows and 2 columns, "
                f"not of shape {heights.shape}"
                + ("" if np.isfinite(heights).all() else " with NaN or infinity among them")
            )
        if np.shape(self.half_extents) != (2,):
            raise ValueError(
                f"HeightField: half_extents must be two lengths, not {self.half_extents!r}"
            )
        for axis, extent in zip("xy", self.half_extents, strict=True):
            require_positive("HeightField", f"half extent along {axis}", extent)
        require_positive("HeightField", "elevation", self.elevation)
        x, y, elevation = self.size
        # Copies: the shape compares by content.
        for name, value in (
            ("heights", heights),
            ("half_extents", (x, y)),
            ("elevation", elevation),
        ):
            object.__setattr__(self, name, value)

    @property
    def size(self) -> tuple[float, float, float]:
        """Half extents along x and y, and the factor on the heights."""
        x, y = self.half_extents
        return (float(x), float(y), float(self.elevation))

    @property
    def radius(self) -> float:
        return 0.0

    @property
    def pitch(self) -> float:
        """Length of the smaller side of a cell [m]."""
        rows, columns = np.shape(self.heights)
        x, y = self.half_extents
        return min(2 * x / (columns - 1), 2 * y / (rows - 1))

    def inertia(self, mass: float) -> np.ndarray:
        raise ValueError("HeightField: it has no inertia; put it on a fixed body")
