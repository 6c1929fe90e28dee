"""Translate a problem for Pinocchio's constraint solvers (``pip install pin``, 4.1 or newer).

Pinocchio's rows of a contact are tangent, tangent, normal. A scalar equality is a row of an anchor
of three, a one-sided row the normal of a contact without friction; the additional rows are
uncoupled and stay at zero. λ and u are measured in units in which the velocities and the mean of
N's diagonal are about one, since Pinocchio's tolerances and penalties are absolute.
"""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from entrants import DoesNotApply
from matrices import matrix, sparse

from jaxccp.io import NamedProblem

pin: Any = importlib.import_module("pinocchio")


@dataclass(frozen=True)
class Translated:
    n: Any
    """Delassus matrix N in CSC format."""
    g: np.ndarray
    models: Any
    datas: Any
    multipliers: Callable[[np.ndarray], np.ndarray]
    """Function that converts Pinocchio's impulses to λ."""


def translate(item: NamedProblem) -> Translated:
    cones = item.problem.cones
    lo, hi, mu = (np.asarray(x) for x in (cones.lo, cones.hi, cones.mu))
    equality = np.isneginf(lo) & np.isposinf(hi)
    one_sided = (lo == 0) & np.isposinf(hi)
    if not np.all(equality | one_sided):
        raise DoesNotApply("rows between two bounds are not translated")
    s, c = len(lo), len(mu)
    anchors = -(-int(equality.sum()) // 3)
    place = np.empty(cones.rows, int)
    place[:s][equality] = np.arange(equality.sum())
    normals = np.concatenate([np.zeros(int(one_sided.sum())), mu])
    place[:s][one_sided] = 3 * anchors + 3 * np.arange(one_sided.sum()) + 2
    contacts = 3 * (anchors + int(one_sided.sum()) + np.arange(c))
    place[s:] = (contacts[:, None] + np.array([2, 0, 1])).reshape(-1)
    size = 3 * (anchors + len(normals))
    entries = (np.ones(cones.rows), (place, np.arange(cones.rows)))
    spread = sparse.csr_matrix(entries, (size, cones.rows))
    n = matrix(item.problem)
    mass = cones.rows / n.diagonal().sum()
    missing = np.ones(size)
    missing[place] = 0.0
    padded = spread @ (mass * n) @ spread.T + sparse.diags(missing)

    model = pin.Model()
    models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
    for friction in [None] * anchors + list(normals):
        if friction is None:
            constraint = pin.PointAnchorConstraintModel(model)
        else:
            constraint = pin.PointContactConstraintModel(model)
            constraint.setFriction(float(friction))
        constraint.setCompliance(np.zeros(3))
        models.append(pin.ConstraintModel(constraint))
        datas.append(models[len(models) - 1].createData())
    g = np.asarray(spread @ np.asarray(item.problem.r)) / item.scale
    return Translated(
        padded.tocsc(), g, models, datas, lambda x: np.asarray(x)[place] * mass * item.scale
    )
