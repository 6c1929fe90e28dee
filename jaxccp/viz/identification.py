"""Picture of the identification of a tossed cube; pictures of any other fit are in
:mod:`jaxccp.viz.fit_pictures`."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from jaxccp.viz.fit_pictures import MEASURED, bare

BEFORE, AFTER = "#d1603d", "#2f6690"
DESCENTS = (BEFORE, AFTER, "#6a994e", "#8d6cab")
"""Colours of the losses of successive descents."""


@dataclass(frozen=True)
class TossPicture:
    """The data of one held-out toss; arrays have one row for each of s samples."""

    title: str
    """Title of the toss's row."""
    time: Float[np.ndarray, " s"]
    """Time of each sample [s]."""
    measured: Float[np.ndarray, "s 3"]
    """Recorded position [m]."""
    before: Float[np.ndarray, "s 3"]
    """Position simulated with the initial parameters [m]."""
    after: Float[np.ndarray, "s 3"]
    """Position simulated with the fitted parameters [m]."""
    angle_before: Float[np.ndarray, " s"]
    """Error of orientation with the initial parameters [degrees]."""
    angle_after: Float[np.ndarray, " s"]
    """Error of orientation with the fitted parameters [degrees]."""


@dataclass(frozen=True)
class Change:
    """The change of one parameter by a fit; all numbers are in the parameter's unit."""

    name: str
    """Name of the parameter."""
    before: float
    """Value before the fit."""
    after: float
    """Value after the fit."""
    standard_error: float
    """Standard error; not finite if the data do not determine the parameter."""
    scale: float
    """Typical change of the parameter."""
    truth: float | None
    """True value; None if it is unknown."""


def identification_picture(
    tosses: Sequence[TossPicture],
    losses: Mapping[str, Float[np.ndarray, " k"]],
    changes: Sequence[Change],
    title: str,
) -> Figure:
    """Return a figure of tosses, losses and parameters.

    Each toss has a row with its path from the side, its error of position and its error of
    orientation. Below are the losses and the changes of the parameters.

    Args:
        tosses: held-out tosses.
        losses: loss in each iteration, by the name of the descent.
        changes: changes of the parameters.
        title: title of the figure.
    """
    figure = Figure(figsize=(13.0, 3.0 * len(tosses) + 3.2), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    # A separate subfigure, so that the long names of parameters do not shrink the tosses.
    parts = figure.subfigures(2, 1, squeeze=False, height_ratios=[3.0 * len(tosses), 3.2])
    above, below = parts[:, 0]
    grid = above.subplots(len(tosses), 3, squeeze=False)
    for axes, toss in zip(grid, tosses, strict=True):
        _draw_toss(axes, toss)
    grid[0, 0].legend(frameon=False, fontsize=9)
    left, right = below.subplots(1, 2)
    _draw_losses(left, losses)
    _draw_changes(right, changes)
    figure.suptitle(title, x=0.012, ha="left", fontsize=13, fontweight="bold", color=MEASURED)
    return figure


def _draw_toss(axes: Sequence[Axes], toss: TossPicture) -> None:
    path, distance, angle = axes
    # The side view is taken along the toss's own direction of travel.
    travel = toss.measured[-1, :2] - toss.measured[0, :2]
    travel = travel / max(float(np.linalg.norm(travel)), 1e-9)
    curves = (
        ("measured", toss.measured, MEASURED, "-", 2.2),
        ("before", toss.before, BEFORE, "--", 1.4),
        ("after", toss.after, AFTER, "-", 1.4),
    )
    for label, position, colour, style, width in curves:
        travelled = (position[:, :2] - toss.measured[0, :2]) @ travel
        path.plot(travelled, position[:, 2], style, color=colour, lw=width, label=label)
    for position, angles, colour, style in (
        (toss.before, toss.angle_before, BEFORE, "--"),
        (toss.after, toss.angle_after, AFTER, "-"),
    ):
        away = 1e3 * np.linalg.norm(position - toss.measured, axis=1)
        distance.plot(toss.time, away, style, color=colour, lw=1.4)
        angle.plot(toss.time, angles, style, color=colour, lw=1.4)
    path.set(xlabel="along the toss [m]", ylabel="height [m]", title=toss.title)
    distance.set(xlabel="time [s]", ylabel="position error [mm]")
    angle.set(xlabel="time [s]", ylabel="orientation error [°]")
    for panel in axes:
        bare(panel)


def _draw_changes(axes: Axes, changes: Sequence[Change]) -> None:
    rows = np.arange(len(changes))
    labels = []
    for row, change in zip(rows, changes, strict=True):
        change_scaled = (change.after - change.before) / change.scale
        spread = change.standard_error if np.isfinite(change.standard_error) else 0.0
        axes.plot([0.0, change_scaled], [row, row], color=AFTER, lw=1.0, alpha=0.4)
        axes.errorbar(
            change_scaled, row, xerr=2.0 * spread / change.scale, fmt="o", color=AFTER, ms=5
        )
        label = f"{change.name}  {change.before:.4g} → {change.after:.4g}"
        if change.truth is not None:
            aim = (change.truth - change.before) / change.scale
            axes.plot(aim, row, "|", color=MEASURED, ms=16, mew=2.0)
            label += f"  (true {change.truth:.4g})"
        labels.append(label)
    marks = [
        Line2D([], [], color=BEFORE, ls="--", label="before"),
        Line2D([], [], color=AFTER, marker="o", ms=5, label="after, ± 2 standard errors"),
    ]
    if any(change.truth is not None for change in changes):
        marks.append(Line2D([], [], color=MEASURED, marker="|", ms=12, mew=2, ls="", label="true"))
    axes.axvline(0.0, color=BEFORE, ls="--", lw=1.4)
    axes.set_yticks(rows, labels)
    axes.invert_yaxis()
    axes.set(xlabel="change, in units of each parameter's scale")
    axes.legend(
        handles=marks, frameon=False, fontsize=9, loc="lower left", bbox_to_anchor=(0, 1), ncols=3
    )
    bare(axes)


def _draw_losses(axes: Axes, losses: Mapping[str, np.ndarray]) -> None:
    start = 0
    for (name, values), colour in zip(losses.items(), cycle(DESCENTS), strict=False):
        axes.semilogy(start + np.arange(len(values)), values, color=colour, lw=0.6, alpha=0.5)
        window = max(1, len(values) // 10)
        smooth = np.convolve(values, np.ones(window) / window, mode="valid")
        at = start + np.arange(window - 1, len(values))
        axes.semilogy(at, smooth, color=colour, lw=2.0, label=f"rollouts of {name}")
        start += len(values)
    axes.set(xlabel="iteration", ylabel="loss (−log-likelihood)")
    axes.legend(frameon=False, fontsize=9)
    bare(axes)
