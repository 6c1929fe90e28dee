"""Problems that nobody should pose, and the status that a solver is expected to give them.

They have the shape of :mod:`tests.ccp.random_problems`, so that they need no program of their own.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from jaxccp.ccp import Law, Status
from tests.ccp.random_problems import BODIES, Case, random_case

EQUALITY, INEQUALITY, BOX, NORMAL = 0, 2, 4, 6
"""First row of each kind."""

ANY = frozenset(Status) - {Status.NON_FINITE, Status.INFEASIBLE}
"""Any status, as long as it is true: the test checks what is called a solution."""
UNSOLVED = frozenset({Status.MAX_ITERATIONS, Status.STALLED})
SOLVED, IMPOSSIBLE, NON_FINITE = (
    frozenset({s}) for s in (Status.CONVERGED, Status.INFEASIBLE, Status.NON_FINITE)
)


def edited(**values: object) -> Case:
    """Return a healthy problem with entries of its arrays replaced: field → (index, value)."""
    case = random_case(3)
    for field, (index, value) in values.items():  # pyright: ignore[reportGeneralTypeIssues]
        array = getattr(case, field).copy()
        array[index] = value
        case = replace(case, **{field: array})
    return case


def empty_rows(admissible: bool) -> Case:
    """Return a problem with N = 0.

    Args:
        admissible: whether all velocities lie in the dual cones, else all but those of the
            contacts' normals, which close at 1 m/s.
    """
    case = random_case(3, kind="open")
    r = case.r.copy()
    if not admissible:
        r[NORMAL::3] = -1.0
    return replace(case, rows=0.0 * case.rows, r=r)


def opposed(kind: int) -> Case:
    """Return a problem in which two rows, equal but for sign, ask for opposite velocities."""
    case = edited(r=(slice(kind, kind + 2), -1.0))
    rows, bodies = case.rows.copy(), case.bodies.copy()
    rows[kind + 1], bodies[kind + 1] = -rows[kind], bodies[kind]
    return replace(case, rows=rows, bodies=bodies)


def unbounded() -> Case:
    """Return a problem whose N is not positive semidefinite: an impulse increases its violation."""
    case = edited(rows=(INEQUALITY, 0.0), compliance=(INEQUALITY, -1.0), r=(INEQUALITY, -1.0))
    return replace(case, bodies=case.bodies.clip(0, BODIES - 1))


def jammed() -> Case:
    """Return a problem whose contacts push one body from both sides, closing at 1 m/s."""
    case = random_case(3, kind="frictionless")
    rows, bodies, r = case.rows.copy(), case.bodies.copy(), case.r.copy()
    first, second = slice(NORMAL, NORMAL + 3), slice(NORMAL + 3, NORMAL + 6)
    rows[second], bodies[second] = -rows[first], bodies[first]
    r[[NORMAL, NORMAL + 3]] = -1.0
    return replace(case, rows=rows, bodies=bodies, r=r)


def zeros(*at: int, **r: float) -> Case:
    """Return a healthy problem with rows of zeros, whose velocities no impulse can change."""
    case = random_case(3)
    rows, speeds = case.rows.copy(), case.r.copy()
    rows[list(at)] = 0.0
    speeds[list(at)] = list(r.values())
    return replace(case, rows=rows, r=speeds)


def contact(normal: float, slide: float) -> Case:
    return zeros(NORMAL, NORMAL + 1, NORMAL + 2, n=normal, t=slide, o=0.0)


NAN, INF = np.nan, np.inf
Expected = frozenset[Status] | Callable[[Law], frozenset[Status]]

CASES: dict[str, tuple[Case, Expected]] = {
    "no row moves anything, all is well": (empty_rows(True), SOLVED),
    "no row moves anything, contacts close": (empty_rows(False), IMPOSSIBLE),
    "an equality of zeros, satisfied": (zeros(EQUALITY, u=0.0), SOLVED),
    "an equality of zeros": (zeros(EQUALITY, u=1.0), IMPOSSIBLE),
    "an inequality of zeros, satisfied": (zeros(INEQUALITY, u=1.0), SOLVED),
    "an inequality of zeros": (zeros(INEQUALITY, u=-1.0), IMPOSSIBLE),
    "a box of zeros": (zeros(BOX, u=1.0), SOLVED),
    "a contact of zeros, open": (contact(5.0, 1.0), SOLVED),
    "a contact of zeros, closing": (contact(-1.0, 0.0), IMPOSSIBLE),
    "a contact of zeros, sliding": (
        contact(0.1, 3.0),
        lambda law: IMPOSSIBLE if law == "ccp" else SOLVED,
    ),
    "a normal of zeros, closing": (zeros(NORMAL, n=-1.0), IMPOSSIBLE),
    "tangents of zeros": (zeros(NORMAL + 1, NORMAL + 2, t=0.0, o=0.0), SOLVED),
    "NaN in r": (edited(r=(0, NAN)), NON_FINITE),
    "infinity in r": (edited(r=(-1, INF)), NON_FINITE),
    "minus infinity in r": (edited(r=(NORMAL, -INF)), NON_FINITE),
    "NaN in N": (edited(rows=((NORMAL, 7), NAN)), NON_FINITE),
    "infinity in N": (edited(rows=((NORMAL, 7), INF)), NON_FINITE),
    "NaN in E": (edited(compliance=(EQUALITY, NAN)), NON_FINITE),
    "NaN in mu": (edited(mu=(0, NAN)), NON_FINITE),
    "mu = 0": (edited(mu=(slice(None), 0.0)), SOLVED),
    "mu = 1e6": (edited(mu=(slice(None), 1e6)), ANY),
    "equalities that contradict each other": (opposed(EQUALITY), UNSOLVED),
    "inequalities that contradict each other": (opposed(INEQUALITY), UNSOLVED),
    "a jammed body": (jammed(), UNSOLVED),
    "unbounded": (unbounded(), UNSOLVED | NON_FINITE),
}
HEALTHY = random_case(3)


def expected(name: str, law: Law) -> frozenset[Status]:
    statuses = CASES[name][1]
    return statuses if isinstance(statuses, frozenset) else statuses(law)
