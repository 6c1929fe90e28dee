"""Replacements for unphysical inertias in a URDF."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from jaxtyping import Float

from jaxccp.io.mjcf.import_report import ImportReport
from jaxccp.io.mjcf.inertia import combined
from jaxccp.scene.frames import to_matrix

DEFAULT_MASS = 0.01
"""Mass of moving links that have none [kg]."""
DEFAULT_RADIUS = 0.05
"""Radius of the solid sphere whose inertia replaces an unphysical one [m]."""
POINT = 1e-12
"""Principal moments of point masses [kg m²]: MuJoCo does not accept zero, and these have no effect
on any motion."""
MINIMUM_MOMENT = 1e-15
"""Principal moment below which MuJoCo rejects an inertia [kg m²], its ``mjMINVAL``."""
ROUNDING = 1e-3
"""Excess of the largest principal moment over the sum of the others, relative to itself, that is
taken for rounding in the file: a thin plate has none, and MuJoCo accepts none."""
MARGIN = 1e-9
"""Relative distance from that bound that survives MuJoCo's own decomposition of an inertia."""
SMALLEST = 1e-11
"""Smallest principal moment of a moving link [kg m²]."""


def mend_inertias(spec: Any, report: ImportReport) -> None:
    """Replace unphysical inertias in MuJoCo's specification, and note the links.

    MuJoCo itself balances moments that violate the triangle inequality; where only rounding does,
    the largest becomes the sum of the others. A link with a mass and zero inertia is a point mass.
    A link whose inertia is unphysical in another way gets that of a solid sphere of its mass. Links
    that are fixed to each other and move without a mass get ``DEFAULT_MASS``, and those without an
    inertia that of a sphere.
    """
    rigid: dict[str, _Rigid] = {}
    for body in spec.bodies[1:]:
        top = _moving_top(body)
        if body.explicitinertial:
            _mend(spec, body, report if top is not None else ImportReport())
        if top is not None:
            rigid.setdefault(top.name, _Rigid(top)).parts.append(body)
    for link in rigid.values():
        _complete(link, report)


@dataclass(frozen=True)
class _Rigid:
    """Links that are fixed to each other and move together."""

    top: Any
    parts: list[Any] = field(default_factory=list)


def _moving_top(body: Any) -> Any:
    """Return the link with joints to which a link is fixed, possibly itself; None if it is fixed to
    the world."""
    while not body.joints:
        body = body.parent
        if body.name == "world" or body.parent is None:
            return None
    return body


def _mend(spec: Any, body: Any, report: ImportReport) -> None:
    label, inertia = f"link {body.name!r}", _tensor(body)
    if not np.isfinite([body.mass, *inertia.ravel()]).all() or body.mass < 0:
        return  # MuJoCo refuses it.
    if body.mass == 0.0:
        _set_inertia(body, 0.0)
    elif not inertia.any():
        _set_inertia(body, POINT)
    else:
        moments, axes = np.linalg.eigh(inertia)
        written = ", ".join(f"{moment:.3g}" for moment in moments)
        if moments[0] < MINIMUM_MOMENT:
            _set_inertia(body, _sphere(body.mass))
            report.approximate(
                label,
                f"its principal moments {written} kg m² are not positive: it has the inertia of a "
                f"solid sphere of its mass and radius {DEFAULT_RADIUS:g} m",
            )
        elif (excess := moments[2] - moments[0] - moments[1]) > ROUNDING * moments[2]:
            spec.compiler.balanceinertia = True
            report.approximate(
                label,
                f"no rigid body has its principal moments {written} kg m²: each is their mean "
                "(balanceinertia)",
            )
        elif excess > -MARGIN * moments[2]:
            moments += MARGIN * moments[2], 0.0, -excess
            (xx, xy, xz), (_, yy, yz), (*_, zz) = axes * moments @ axes.T
            body.fullinertia = [xx, yy, zz, xy, xz, yz]


def _complete(rigid: _Rigid, report: ImportReport) -> None:
    """Give a group of fixed links a mass and an inertia, if they have none."""
    inferred = [part for part in rigid.parts if not part.explicitinertial and part.geoms]
    for part in inferred:
        report.approximate(
            f"link {part.name!r}",
            "without inertial: its mass and inertia are those of its shapes at 1000 kg/m³",
        )
    if inferred:
        return
    mass, inertia = _total(rigid)
    if mass > 0 and np.linalg.eigvalsh(inertia)[0] > SMALLEST:
        return
    top, what = rigid.top, "moves without an inertia"
    if not mass > 0:
        mass = top.mass = DEFAULT_MASS
        what = f"moves without a mass: it has {DEFAULT_MASS:g} kg"
    top.explicitinertial = True
    _set_inertia(top, _sphere(mass))
    report.approximate(
        f"link {top.name!r}",
        f"{what}, with the inertia of a solid sphere of radius {DEFAULT_RADIUS:g} m",
    )


def _total(rigid: _Rigid) -> tuple[float, Float[np.ndarray, "3 3"]]:
    """Return the total mass [kg] and the inertia about the common centre of mass [kg m²] of a group
    of fixed links."""
    mass, centres, inertias = [], [], []
    for part in (part for part in rigid.parts if part.explicitinertial):
        centre, rotation = part.ipos, to_matrix(part.iquat)
        body = part
        while body.name != rigid.top.name:
            axes = to_matrix(body.quat)
            centre, rotation = body.pos + axes @ centre, axes @ rotation
            body = body.parent
        mass.append(part.mass)
        centres.append(centre)
        inertias.append(rotation @ _tensor(part) @ rotation.T)
    total, _, inertia = combined(
        np.array(mass), np.reshape(centres, (-1, 3)), np.reshape(inertias, (-1, 3, 3))
    )
    return total, inertia


def _tensor(body: Any) -> Float[np.ndarray, "3 3"]:
    """Return the inertia in the axes of the link's inertial frame [kg m²]."""
    xx, yy, zz, xy, xz, yz = body.fullinertia
    if np.isnan(xx):
        return np.diag(body.inertia)
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


def _set_inertia(body: Any, moment: float) -> None:
    body.fullinertia = [np.nan, 0.0, 0.0, 0.0, 0.0, 0.0]
    body.inertia = [moment] * 3


def _sphere(mass: float) -> float:
    return 0.4 * mass * DEFAULT_RADIUS**2
