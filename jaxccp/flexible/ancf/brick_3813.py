"""A trilinear brick of eight nodes without gradients, with nine enhanced strains, so that it does
not lock in bending (Andelfinger & Ramm, IJNME 36, 1993)."""

from jaxccp.flexible.ancf.shape import Shape

BRICK_3813 = Shape(
    name="brick_3813",
    monomials="1 x y z xy yz xz xyz",
    nodes=(
        *((-1, -1, -1), (1, -1, -1), (1, 1, -1), (-1, 1, -1)),
        *((-1, -1, 1), (1, -1, 1), (1, 1, 1), (-1, 1, 1)),
    ),
    derivatives=("",),
    gauss=2,
    enhanced=(
        *(("xx", "x"), ("yy", "y"), ("zz", "z")),
        *(("xy", "x"), ("xy", "y"), ("xz", "x"), ("xz", "z"), ("yz", "y"), ("yz", "z")),
    ),
)
