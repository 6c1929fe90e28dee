"""A beam of three nodes with the gradients across it (Nachbagauer, Arch. Comput. Methods Eng. 21,
2014)."""

from jaxccp.flexible.ancf.shape import Shape

BEAM_3333 = Shape(
    name="beam_3333",
    monomials="1 x y z xy xz x2 x2y x2z",
    nodes=((-1, 0, 0), (1, 0, 0), (0, 0, 0)),
    derivatives=("", "y", "z"),
    section=True,
)
