"""A thick shell of eight nodes with the first two derivatives through the thickness (Ebel,
Matikainen, Hurskainen & Mikkola, Nonlinear Dynamics 87, 2017)."""

from jaxccp.flexible.ancf.shape import Shape

_PLANE = ("1", "x", "y", "x2", "xy", "y2", "x2y", "xy2")

SHELL_3833 = Shape(
    name="shell_3833",
    monomials=" ".join(
        [*_PLANE, *(f"{monomial}{z}".lstrip("1") for z in ("z", "z2") for monomial in _PLANE)]
    ),
    nodes=(
        *((-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)),
        *((0, -1, 0), (1, 0, 0), (0, 1, 0), (-1, 0, 0)),
    ),
    derivatives=("", "z", "zz"),
)
