"""A brick of eight nodes with all three gradients (Olshevskiy, Dmitrochenko & Kim, J. Comput.
Nonlinear Dynamics 9, 2014)."""

from jaxccp.flexible.ancf.shape import Shape

BRICK_3843 = Shape(
    name="brick_3843",
    monomials="1 x y z x2 y2 z2 xy yz xz x3 y3 z3 x2y x2z y2z y2x z2x z2y xyz x3y x3z y3z y3x z3x "
    "z3y x2yz xy2z xyz2 x3yz xy3z xyz3",
    nodes=(
        *((-1, -1, -1), (1, -1, -1), (1, 1, -1), (-1, 1, -1)),
        *((-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1)),
    ),
    derivatives=("", "x", "y", "z"),
)
