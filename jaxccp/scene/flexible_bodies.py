"""Cables, beams and shells of finite elements, with checks of the user's numbers."""

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.flexible.ancf import FACES, SHAPES, Shape, box, rope
from jaxccp.flexible.ancf.continuum import continuum_elements
from jaxccp.flexible.ancf.rope import segment_lengths
from jaxccp.flexible.layout import node_indices
from jaxccp.flexible.moduli import isotropic, of_section, rectangle_shear_factor
from jaxccp.flexible.nodal import NodalFamily
from jaxccp.flexible.points_between import with_points_on_cable, with_points_on_shell
from jaxccp.math import quaternion
from jaxccp.model.inputs.check import finite_vector, nonnegative, positive, unit_quaternion
from jaxccp.names import unknown

Curve = Callable[[Array], Array]
"""Map from the points of a straight body to those of its unstrained shape."""


def cable(
    what: str,
    nodes: Sequence[Sequence[float]] | np.ndarray,
    radius: float,
    young: float,
    density: float,
    damping: float,
    clamped: int | Collection[int] | np.ndarray,
    pinned: int | Collection[int] | np.ndarray,
    between: int,
) -> NodalFamily:
    """Return a round cable.

    Args:
        what: name of the cable, for messages.
        nodes: positions of the nodes [n 3], world [m].
        radius: radius of the section [m].
        young: Young's modulus [Pa].
        density: density [kg/m³].
        damping: α of Kelvin and Voigt's law [s].
        clamped: index, indices or mask of the nodes whose position and direction are fixed.
        pinned: index, indices or mask of the nodes whose position is fixed.
        between: number of points between neighbouring nodes.

    Raises:
        ValueError: a number is not physical, or a node does not exist.
    """
    radius = positive(f"{what}: radius [m]", radius)
    young, density, damping = _material(what, young, density, damping)
    table = np.asarray(nodes, float)
    if table.ndim != 2 or table.shape[1] != 3 or len(table) < 2 or not np.isfinite(table).all():
        raise ValueError(f"{what}: nodes must be two or more finite points of 3 numbers [m]")
    count = len(table)
    lengths = segment_lengths(what, table)
    clamped, pinned = (
        tuple(node_indices(f"{what}: {name}", nodes_, count).tolist())
        for name, nodes_ in (("clamped", clamped), ("pinned", pinned))
    )
    between = _points_between(what, between)
    area, moment = np.pi * radius**2, np.pi * radius**4 / 4
    numbers = area, moment, young, density, damping
    family = _compute_cable(table, *numbers, clamped=clamped, pinned=pinned)
    return with_points_on_cable(family, lengths, between) if between else family


_compute_cable = jax.jit(rope, static_argnames=("clamped", "pinned"))


def beam_or_shell(
    kind: str,
    name: str,
    element: str,
    size: Sequence[float] | np.ndarray,
    counts: int | Sequence[int],
    material: tuple[float, float, float, float],
    clamped: Collection[str],
    pinned: Collection[str],
    pose: tuple[Sequence[float] | np.ndarray, Sequence[float] | np.ndarray],
    curve: Curve | None,
    between: int = 0,
) -> NodalFamily:
    """Return a flexible beam or shell.

    Args:
        kind: ``"beam"`` or ``"shell"``.
        name: name of the body, for messages.
        element: name of the element.
        size: length, width and thickness [m].
        counts: number of elements along x, and along y for a shell.
        material: Young's modulus [Pa], Poisson's ratio, density [kg/m³] and damping [s].
        clamped: name or names of the faces whose nodes are fixed with all their gradients.
        pinned: name or names of the faces whose nodes are fixed in position only.
        pose: position [m] and quaternion of the body's frame, world.
        curve: map to the unstrained shape, or None.
        between: number of points between neighbouring nodes of a shell.

    Raises:
        ValueError: a number is not physical, or a name is unknown.
    """
    what = f"{kind} {name!r}"
    shape = _shape(what, element, kind)
    sides = finite_vector(f"{what}: length, width and thickness [m]", size, 3)
    for label, side in zip(("length", "width", "thickness"), sides, strict=True):
        positive(f"{what}: {label} [m]", side)
    young, poisson, density, damping = material
    young, density, damping = _material(what, young, density, damping)
    if not -1 < poisson < 0.5:
        raise ValueError(
            f"{what}: Poisson's ratio must be above −1 and below 0.5, not {poisson!r}; rubber has "
            "0.49 or so"
        )
    numbers = _element_counts(what, kind, counts)
    clamped, pinned = (
        _face_names(f"{what}: {label}", faces, FACES[: 2 * len(numbers)])
        for label, faces in (("clamped", clamped), ("pinned", pinned))
    )
    between = _points_between(what, between)
    position = finite_vector(f"{what}: position [m]", pose[0], 3)
    orientation = unit_quaternion(f"{what}: quaternion", pose[1])
    nx, ny = (*numbers, 1)[:2]
    # A new object each time: what the function reads, such as a global number, may have changed.
    own_curve = None if curve is None else partial(curve)
    family, volumes = _compute_beam_or_shell(
        (young, poisson, density, damping),
        sides,
        (position, orientation),
        shape=shape,
        counts=(nx, ny, 1),
        clamped=clamped,
        pinned=pinned,
        curve=own_curve,
    )
    _check_volumes(what, np.asarray(volumes))
    return with_points_on_shell(family, (nx, ny), between) if between else family


@partial(jax.jit, static_argnames=("shape", "counts", "clamped", "pinned", "curve"))
def _compute_beam_or_shell(
    material: tuple[Array, Array, Array, Array],
    size: Float[Array, "3"],
    pose: tuple[Float[Array, "3"], Float[Array, "4"]],
    *,
    shape: Shape,
    counts: tuple[int, int, int],
    clamped: tuple[str, ...],
    pinned: tuple[str, ...],
    curve: Curve | None,
) -> tuple[NodalFamily, Float[Array, " e"]]:
    """Return a beam or a shell, and the smallest volume of an integration point of each element
    [m³].

    It is one program, since hundreds of small operations take ten times as long to compile.
    """
    young, poisson, density, damping = material
    position, orientation = pose
    moduli = isotropic(young, poisson)[None]
    if shape.section:
        moduli = of_section(young, poisson, jnp.full(2, rectangle_shear_factor(poisson)))
    family = box(
        shape,
        size,
        counts,
        moduli,
        density,
        damping,
        clamped=clamped,
        pinned=pinned,
        place=lambda point: position + quaternion.rotate(orientation, point),
        curve=curve or (lambda point: point),
    )
    return family, jnp.min(continuum_elements(family).volumes(), axis=1)


def _element_counts(what: str, kind: str, counts: int | Sequence[int]) -> tuple[int, ...]:
    """Return the number of elements along x, and along y for a shell."""
    shape, meaning = ((), "one number") if kind == "beam" else ((2,), "two numbers, along x and y")
    numbers = np.asarray(counts)
    if numbers.shape != shape or numbers.dtype.kind not in "iuf":
        raise ValueError(f"{what}: elements must be {meaning}, not {counts!r}")
    for number in np.atleast_1d(numbers).tolist():
        if number % 1 != 0 or number < 1:
            raise ValueError(f"{what}: there must be 1 element or more, not {number!r}")
    return tuple(np.atleast_1d(numbers).astype(int).tolist())


def _face_names(what: str, names: Collection[str], faces: Sequence[str]) -> tuple[str, ...]:
    """Return the names of chosen faces; a string is a single name."""
    listed = (names,) if isinstance(names, str) or not isinstance(names, Iterable) else names
    chosen: tuple[str, ...] = tuple(listed)
    for name in chosen:
        if name not in faces:
            raise ValueError(f"{what}: {unknown(name, faces)}")
    return chosen


def _points_between(what: str, between: float) -> int:
    if between < 0 or int(between) != between:
        raise ValueError(f"{what}: between must be a number of points, not {between!r}")
    return int(between)


def _material(
    what: str, young: float, density: float, damping: float
) -> tuple[float, float, float]:
    return (
        positive(f"{what}: Young's modulus [Pa]", young),
        positive(f"{what}: density [kg/m³]", density),
        nonnegative(f"{what}: damping [s]", damping),
    )


def _shape(what: str, element: str, kinds: str) -> Shape:
    elements = [name for name in SHAPES if name.startswith(kinds)]
    if element not in elements:
        raise ValueError(f"{what}: element {unknown(element, elements)}")
    return SHAPES[element]


def _check_volumes(what: str, smallest: np.ndarray) -> None:
    """Raise ``ValueError`` for elements with a folded or inverted reference, as a ``curve`` may
    make it.

    Args:
        what: name of the body, for the message.
        smallest: smallest volume of an integration point of each element [m³].
    """
    bad = np.flatnonzero(~(smallest > 0))
    if len(bad):
        raise ValueError(
            f"{what}: element {int(bad[0])} is inverted in the reference, at a point of volume "
            f"{smallest[bad[0]]:.3g} m³: its curve must keep right-handed axes and not fold"
        )
