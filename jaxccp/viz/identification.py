"""Pictures of an identification: recorded against simulated tosses, and the loss curve."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

MEASURED, BEFORE, AFTER = "#333333", "#d1603d", "#2f6690"


@dataclass(frozen=True)
class TossPicture:
    """One held-out toss, each array one row per sample."""

    title: str
    time: Float[np.ndarray, " s"]
    measured: Float[np.ndarray, "s 3"]
    before: Float[np.ndarray, "s 3"]
    after: Float[np.ndarray, "s 3"]
    angle_before: Float[np.ndarray, " s"]
    """Error of orientation [degrees]."""
    angle_after: Float[np.ndarray, " s"]


def identification_picture(
    tosses: Sequence[TossPicture], losses: Mapping[str, Float[np.ndarray, " k"]], title: str
) -> Figure:
    """For each toss its path from the side, height and orientation error; below, the losses of
    the descents, by their name."""
    figure = Figure(figsize=(13.0, 3.0 * len(tosses) + 2.4), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    heights = [1.25] * len(tosses) + [1.0]
    grid = figure.add_gridspec(len(tosses) + 1, 3, height_ratios=heights)
    for row, toss in enumerate(tosses):
        axes = [figure.add_subplot(grid[row, column]) for column in range(3)]
        _draw_toss(axes, toss)
        if row == 0:
            axes[0].legend(frameon=False, fontsize=9)
    _draw_losses(figure.add_subplot(grid[-1, :]), losses)
    figure.suptitle(title, x=0.012, ha="left", fontsize=13, fontweight="bold", color=MEASURED)
    return figure


def _draw_toss(axes: Sequence[Axes], toss: TossPicture) -> None:
    path, height, angle = axes
    # The side view is taken along the toss's own direction of travel.
    travel = toss.measured[-1, :2] - toss.measured[0, :2]
    travel = travel / max(float(np.linalg.norm(travel)), 1e-9)
    curves = (
        ("measured", toss.measured, MEASURED, "-", 2.2),
        ("before", toss.before, BEFORE, "--", 1.4),
        ("after", toss.after, AFTER, "-", 1.4),
    )
    for label, position, colour, style, width in curves:
        along = (position[:, :2] - toss.measured[0, :2]) @ travel
        path.plot(along, position[:, 2], style, color=colour, lw=width, label=label)
        height.plot(toss.time, position[:, 2], style, color=colour, lw=width)
    angle.plot(toss.time, toss.angle_before, "--", color=BEFORE, lw=1.4)
    angle.plot(toss.time, toss.angle_after, "-", color=AFTER, lw=1.4)
    path.set(xlabel="along the toss [m]", ylabel="height [m]", title=toss.title)
    height.set(xlabel="time [s]", ylabel="height [m]")
    angle.set(xlabel="time [s]", ylabel="orientation error [°]")
    for each in axes:
        _bare(each)


def _draw_losses(axes: Axes, losses: Mapping[str, np.ndarray]) -> None:
    start = 0
    for (name, values), colour in zip(losses.items(), cycle((BEFORE, AFTER)), strict=False):
        axes.semilogy(start + np.arange(len(values)), values, color=colour, lw=0.6, alpha=0.5)
        window = max(1, len(values) // 10)
        smooth = np.convolve(values, np.ones(window) / window, mode="valid")
        at = start + np.arange(window - 1, len(values))
        axes.semilogy(at, smooth, color=colour, lw=2.0, label=f"rollouts of {name}")
        start += len(values)
    axes.set(xlabel="iteration", ylabel="loss of the minibatch")
    axes.legend(frameon=False, fontsize=9)
    _bare(axes)


def _bare(axes: Axes) -> None:
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
