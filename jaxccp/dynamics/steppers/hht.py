"""The HHT-α method of Hilber, Hughes and Taylor."""

from dataclasses import dataclass

from jaxccp.dynamics.steppers.alpha import AlphaScheme
from jaxccp.dynamics.steppers.alpha_carry import Coefficients


@dataclass(frozen=True)
class HHT(AlphaScheme):
    """The method of Hilber, Hughes & Taylor, Earthquake Eng. Struct. Dyn. 5 (1977): second order,
    with damping of motion faster than the step."""

    alpha: float = -0.2
    """α in [−1/3, 0]; values closer to 0 damp less."""

    def __post_init__(self) -> None:
        super().__post_init__()
        if not -1 / 3 <= self.alpha <= 0:
            raise ValueError(f"alpha of HHT must be from -1/3 to 0, not {self.alpha!r}")

    @property
    def coefficients(self) -> Coefficients:
        alpha = self.alpha
        return Coefficients(0.0, -alpha, 0.25 * (1.0 - alpha) ** 2, 0.5 - alpha)
