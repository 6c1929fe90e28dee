"""MuJoCo's ``solref`` and ``solimp`` of contacts as compliance and damping time.

After MuJoCo's documentation, "Solver parameters": a contact at distance r, its rate v, has

    a₁ = (1 − d) a₀ − d (b v + k r),
    k = d / (dmax² timeconst² dampratio²),    b = 2 / (dmax timeconst)

(or k = d K / dmax² and b = B / dmax of a negative ``solref`` −K, −B), where a₀ is the acceleration
without it. At rest the contact yields to a force f like a spring, r = −c f with
c = (1 − d) w/(d k), w being the inverse weight of both bodies (``body_invweight0``); its damping
time is b/k. The impedance d is taken at zero violation. A pyramid of n dimensions with friction μ
is softer or stiffer, by μ² (1 + μ²)/(n − 1). With a width of 0 the impedance is (d + dmax)/2 at
every depth.
"""

from dataclasses import dataclass

import numpy as np

from jaxccp.io.mjcf.files.source import Source
from jaxccp.io.mjcf.import_report import ImportReport

MIN_IMPEDANCE, MAX_IMPEDANCE = 1e-4, 0.9999
"""MuJoCo's bounds of an impedance (mjMINIMP, mjMAXIMP)."""
DEFAULT_SOLREF = (0.02, 1.0)
"""MuJoCo's ``solref`` where a file has none, or one with a positive and a negative number."""
TOLERANCE = 0.1
"""Relative difference of compliances that is reported as an approximation."""


@dataclass(frozen=True)
class Softness:
    """Compliance and damping time of a pair or a surface."""

    compliance: float
    """Compliance c of a surface [m/N]; of a pair c/w [m kg/N]."""
    damping: float
    """Damping time [s]."""


def softness(
    source: Source, pairs: dict[tuple[int, int], tuple], report: ImportReport
) -> dict[int, Softness]:
    """Return the softness of every geom that can collide.

    The compliances and damping times of the two geoms in a contact add up to MuJoCo's. This is
    exact for the first immovable geom that a geom can collide with, or for the first geom of all if
    there is none.

    Args:
        source: the compiled file.
        pairs: the pairs of geoms that can collide.
        report: the report, for pairs whose softness differs from MuJoCo's.
    """
    m = source.m
    weight = np.asarray(m.body_invweight0)[m.geom_bodyid, 0]
    of_pairs = {pair: _of_pair(source, *pair) for pair in pairs}
    of_geoms: dict[int, Softness] = {}
    for immovable in (True, False):
        for pair, soft in of_pairs.items():
            for geom, partner in (pair, pair[::-1]):
                if not immovable or weight[partner] == 0:
                    of_geoms.setdefault(geom, soft)
    scaled = {
        geom: Softness(soft.compliance * float(weight[geom]), 0.5 * soft.damping)
        for geom, soft in of_geoms.items()
    }
    differ = 0
    for (a, b), soft in of_pairs.items():
        target = soft.compliance * (weight[a] + weight[b])
        differ += abs(scaled[a].compliance + scaled[b].compliance - target) > TOLERANCE * target
    if differ:
        report.approximate(
            "softness", f"of {differ} of {len(pairs)} pairs of geoms is that of other pairs"
        )
    return scaled


def effective_solref(solref: np.ndarray) -> tuple[float, float]:
    """Return the ``solref`` that MuJoCo uses in place of a combined one: the default if only one of
    its numbers is positive."""
    first, second = (float(x) for x in solref)
    return (first, second) if (first > 0) == (second > 0) else DEFAULT_SOLREF


def _of_pair(source: Source, a: int, b: int) -> Softness:
    """Return the softness of a pair, its compliance divided by the inverse weights of both
    bodies."""
    m = source.m
    solref, solimp, dimension, friction = _mixed(source, a, b)
    solref = effective_solref(solref)
    d, most = np.clip(solimp[:2], MIN_IMPEDANCE, MAX_IMPEDANCE)
    if solimp[2] <= source.mujoco.mjMINVAL:
        d = 0.5 * (d + most)
    if solref[0] > 0:
        shortest = 0.0 if source.is_disabled("REFSAFE") else 2.0 * m.opt.timestep
        time = max(solref[0], shortest)
        stiffness, rate = d / (most * time * solref[1]) ** 2, 2.0 / (most * time)
    else:
        stiffness, rate = -solref[0] * d / most**2, -solref[1] / most
    stiffness = max(float(stiffness), float(source.mujoco.mjMINVAL))
    compliance = (1.0 - d) / (d * stiffness)
    if dimension > 1 and m.opt.cone == int(source.mujoco.mjtCone.mjCONE_PYRAMIDAL):
        compliance *= friction**2 * (1.0 + friction**2) / (dimension - 1)
    return Softness(float(compliance), float(rate / stiffness))


def _mixed(source: Source, a: int, b: int) -> tuple[np.ndarray, np.ndarray, int, float]:
    """Return the combined ``solref``, ``solimp``, ``condim`` and sliding friction of a pair of
    geoms."""
    m = source.m
    for pair in range(m.npair):
        if {int(m.pair_geom1[pair]), int(m.pair_geom2[pair])} == {a, b}:
            numbers = m.pair_solref[pair], m.pair_solimp[pair]
            return *numbers, int(m.pair_dim[pair]), float(m.pair_friction[pair, 0])
    priority = int(m.geom_priority[a] - m.geom_priority[b])
    if priority:
        geom = a if priority > 0 else b
        numbers = m.geom_solref[geom], m.geom_solimp[geom]
        return *numbers, int(m.geom_condim[geom]), float(m.geom_friction[geom, 0])
    shares = np.maximum(np.asarray(m.geom_solmix)[[a, b]], source.mujoco.mjMINVAL)
    shares = shares / shares.sum()
    refs = np.asarray(m.geom_solref)[[a, b]]
    solref = shares @ refs if np.all(refs[:, 0] > 0) else refs.min(axis=0)
    solimp = shares @ np.asarray(m.geom_solimp)[[a, b]]
    dimension = int(max(m.geom_condim[a], m.geom_condim[b]))
    return solref, solimp, dimension, float(max(m.geom_friction[a, 0], m.geom_friction[b, 0]))
