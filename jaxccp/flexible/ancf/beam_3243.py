"""A beam of two nodes with all three gradients (Yakoub & Shabana, J. Mech. Design 123, 2001)."""

from jaxccp.flexible.ancf.shape import Shape

BEAM_3243 = Shape(
    name="beam_3243",
    monomials="1 x y z xy xz x2 x3",
    nodes=((-1, 0, 0), (1, 0, 0)),
    derivatives=("", "x", "y", "z"),
    section=True,
)
