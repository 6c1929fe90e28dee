"""A bilinear shell of four nodes with the gradient across it.

It has assumed transverse strains and five enhanced strains, so that it locks neither in shear nor
in thickness (Yamashita, Valkeapää, Jayakumar & Sugiyama, J. Comput. Nonlinear Dynamics 10, 2015).
"""

from jaxccp.flexible.ancf.shape import Shape

SHELL_3423 = Shape(
    name="shell_3423",
    monomials="1 x y xy z xz yz xyz",
    nodes=((-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0)),
    derivatives=("", "z"),
    gauss=2,
    assumed=(
        ("zz", ((-1, -1, 0), (1, -1, 0), (1, 1, 0), (-1, 1, 0))),
        ("yz", ((-1, 0, 0), (1, 0, 0))),
        ("xz", ((0, -1, 0), (0, 1, 0))),
    ),
    enhanced=(("xx", "x"), ("yy", "y"), ("xy", "x"), ("xy", "y"), ("zz", "z")),
)
