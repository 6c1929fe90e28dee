"""A thick shell of four nodes with all three gradients (Mikkola & Shabana, Multibody System
Dynamics 9, 2003). It locks in bending if Poisson's ratio is not 0."""

from jaxccp.flexible.ancf.shape import Shape

SHELL_3443 = Shape(
    name="shell_3443",
    monomials="1 x y z xy xz yz x2 y2 x3 y3 x2y xy2 xyz x3y xy3",
    nodes=((-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)),
    derivatives=("", "x", "y", "z"),
)
