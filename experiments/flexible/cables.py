"""Measure speed and accuracy of a falling ANCF cable, in jaxccp and with exudyn's ANCFCable2D.

    python -m experiments.flexible.cables

Needs exudyn 1.13 or newer (from PyPI). Runs on one core for about ten minutes; writes cables.md
beside this file. Speed is in steps per CPU-second.
"""

import os
from importlib import metadata
from pathlib import Path
from typing import NamedTuple

os.environ["JAX_NUM_CPU_DEVICES"] = "1"
if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-1:])

import jax
import numpy as np

from experiments.flexible.falling_cable import (
    DENSITY,
    ELEMENTS,
    LENGTH,
    RADIUS,
    REPEATS,
    SPAN,
    SPINS,
    YOUNG,
    cable,
    explicit,
    ours,
    peers,
)
from jaxccp import EulerImplicitLinearized
from jaxccp.dynamics import HHT, GeneralisedAlpha

STEP, SHORT = 1e-3, 1e-4
FINE = 1e-5
"""Step of the explicit runs [s]. At twice this step they lose the fastest waves."""
FINEST, MEDIUM = 2e-5, 2.5e-4
"""Steps of exudyn's reference runs of one copy and of 64 copies [s]."""
FOLDER = Path(__file__).resolve().parent
HEAD = """# A falling cable

`python -m experiments.flexible.cables`. A cable of {elements} ANCF elements ({length:g} m, radius
{radius:g} m, Young's modulus {young:g} Pa, density {density:g} kg/m³, no damping) is pinned at one
end, horizontal, and falls for {span:g} s in its plane; each of the 64 copies starts with its own
spin, −1 to 1 rad/s. CPU time of one core of a machine that others used too, best of {repeats} for
one copy. The error is the tip's distance from the reference below; of 64 copies it is the largest.

| | elements | copies | step [ms] | steps per CPU-second, all copies | tip's error [m] |
|---|---|---|---|---|---|
"""
TAIL = """
- **One model.** exudyn {version} has the strain |r_x| − 1 and bends by r_x × r_xx / |r_x|², jaxccp
  ½ (r_x² − 1) and r_x × r_xx / |r_x|³; exudyn has no option for it but functions in Python. Here
  jaxccp has exudyn's law (`PeerLaw`); its own moves the tip by {own:.1e} m. Both take 5 points of
  Gauss's rule for the axial force and 3 for bending (`useReducedOrderIntegration=0`). jaxccp's
  cable is in space, with 6 coordinates for each node, exudyn's in the plane, with 4.
- **Reference.** jaxccp's elements in steps of {fine:g} s by the classical Runge–Kutta rule; half
  the step moves the tip by {halved:.1e} m. exudyn's `TrapezoidalIndex2` at {finest:g} s is
  {between:.1e} m from it. The tip ends at ({x:.7f}, {z:.7f}) m. The reference of the 64 copies is
  exudyn's at {medium:g} s, which for one copy is off by {mediums:.1e} m.
- **exudyn** solves with `EigenSparse`, one thread and modified Newton's method, as it comes. It has
  no single precision and no batches: copies run one after the other, or in one system.
- **jaxccp's steps of second order** take their Jacobian, a band, anew in each step; exudyn's keep
  theirs as long as it will do.
- **Batches** in double precision are slower, copy by copy, than one copy; why was not looked into.
"""


class Row(NamedTuple):
    """A line of the table."""

    copies: int
    step: float
    """Length of a step [s]."""
    rate: float
    """Steps per CPU-second, of all copies together."""
    error: float
    """Largest distance of a tip from its reference [m]."""


def distance(ends: np.ndarray, reference: np.ndarray) -> float:
    """Return the largest distance between tips and their references [m]."""
    return float(np.linalg.norm(ends - reference, axis=-1).max())


def rows(reference: np.ndarray, of_copies: np.ndarray) -> dict[str, Row]:
    """Measure all engines and steppers; return the lines of the table by name.

    Args:
        reference: final tip of the single copy, shape (2,) [m].
        of_copies: final tips of all copies, shape (copies, 2) [m].
    """
    table, still, copies, steps = {}, np.zeros(1), len(SPINS), round(SPAN / STEP)

    def add(name: str, copies: int, step: float, rate: float, error: float) -> None:
        table[name] = Row(copies, step, rate, error)
        print(name, table[name], flush=True)

    for precision in (np.float64, np.float32):
        name = f"jaxccp, implicit Euler, {precision.__name__}"
        euler = EulerImplicitLinearized(STEP)
        rate, end = ours(euler, precision, False, steps)
        add(name, 1, STEP, rate, distance(end, reference))
        rate, end = ours(euler, precision, True, steps)
        add(name + ", batch", copies, STEP, rate, distance(end, of_copies))
    rate, end = ours(EulerImplicitLinearized(SHORT), np.float64, False, round(SPAN / SHORT))
    add("jaxccp, implicit Euler, float64, short steps", 1, SHORT, rate, distance(end, reference))
    trapezoidal, damped = GeneralisedAlpha(STEP, radius=1.0), HHT(STEP)
    for name, stepper in (("HHT", damped), ("generalised-α of radius 1", trapezoidal)):
        rate, end = ours(stepper, np.float64, False, steps)
        add(f"jaxccp, {name}, float64", 1, STEP, rate, distance(end, reference))
    for kind in ("TrapezoidalIndex2", "GeneralizedAlpha"):
        runs = [peers(kind, STEP, still) for _ in range(REPEATS)]
        rate, end = max(runs, key=lambda run: run[0])
        add(f"exudyn, {kind}", 1, STEP, rate, distance(end, reference))
    kind = "TrapezoidalIndex2"
    runs = [peers(kind, STEP, spin[None]) for spin in SPINS]
    rate = copies / sum(1 / rate for rate, _end in runs)
    ends = np.concatenate([end for _rate, end in runs])
    add(f"exudyn, {kind}, one by one", copies, STEP, rate, distance(ends, of_copies))
    rate, ends = peers(kind, STEP, SPINS)
    add(f"exudyn, {kind}, one system", copies, STEP, rate, distance(ends, of_copies))
    return table


def main() -> None:
    """Compute the references, measure all runs and write cables.md."""
    jax.config.update("jax_enable_x64", True)
    kind, still = "TrapezoidalIndex2", np.zeros(1)
    reference = explicit(cable(), FINE)
    half, default = explicit(cable(), FINE / 2), explicit(cable(peer=False), FINE)
    of_copies = np.concatenate([peers(kind, MEDIUM, spin[None])[1] for spin in SPINS])
    tail = {
        "between": distance(peers(kind, FINEST, still)[1], reference),
        "mediums": distance(peers(kind, MEDIUM, still)[1], reference),
        "halved": distance(half, reference),
        "own": distance(default, reference),
    }
    text = HEAD.format(
        elements=ELEMENTS,
        length=LENGTH,
        radius=RADIUS,
        young=YOUNG,
        density=DENSITY,
        span=SPAN,
        repeats=REPEATS,
    )
    for name, (copies, step, rate, error) in rows(reference, of_copies).items():
        text += f"| {name} | {ELEMENTS} | {copies} | {1e3 * step:g} | {rate:.0f} | {error:.1e} |\n"
    version, (x, z) = metadata.version("exudyn"), reference
    numbers = {"fine": FINE, "finest": FINEST, "medium": MEDIUM}
    text += TAIL.format(version=version, x=x, z=z, **numbers, **tail)
    (FOLDER / "cables.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
