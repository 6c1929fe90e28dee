"""Pictures of a fit: measured and simulated curves, errors, correlations and the loss."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

MEASURED, SIMULATED = "#333333", "#d1603d"
MOST_PANELS = 16
"""Maximum number of panels in a figure of curves."""
MOST_NAMES = 40
"""Maximum number of parameters named in a figure of correlations."""


@dataclass(frozen=True)
class Panel:
    """The curves of one quantity, one line for each segment."""

    label: str
    """Name of the quantity."""
    unit: str
    """Unit of the quantity."""
    time: Sequence[Float[np.ndarray, " s"]]
    """Times of the samples of each segment [s]."""
    measured: Sequence[Float[np.ndarray, " s"]]
    """Measured samples of each segment."""
    simulated: Sequence[Float[np.ndarray, " s"]]
    """Simulated samples of each segment."""


def curves_picture(panels: Sequence[Panel]) -> Figure:
    """Return a figure of measured and simulated curves, a panel for each quantity."""
    figure, grid = _grid(panels)
    for axes, panel in zip(grid, panels, strict=True):
        for k, (time, measured, simulated) in enumerate(
            zip(panel.time, panel.measured, panel.simulated, strict=True)
        ):
            axes.plot(
                time, measured, color=MEASURED, lw=2.4, alpha=0.45, label="measured" * (not k)
            )
            axes.plot(time, simulated, color=SIMULATED, lw=1.1, label="simulated" * (not k))
        _finish(axes, panel)
    grid[0].legend(frameon=False, fontsize=8, loc="best")
    return figure


def residuals_picture(panels: Sequence[Panel]) -> Figure:
    """Return a figure of simulated minus measured samples over time, a panel for each quantity."""
    figure, grid = _grid(panels)
    for axes, panel in zip(grid, panels, strict=True):
        axes.axhline(0.0, color=MEASURED, lw=0.8, alpha=0.5)
        for time, measured, simulated in zip(
            panel.time, panel.measured, panel.simulated, strict=True
        ):
            axes.plot(time, simulated - measured, ".", color=SIMULATED, ms=2.5, alpha=0.5)
        _finish(axes, panel)
    return figure


def agreement_picture(panels: Sequence[Panel]) -> Figure:
    """Return a scatter plot of simulated against measured samples, a panel for each quantity."""
    figure, grid = _grid(panels, share=False)
    for axes, panel in zip(grid, panels, strict=True):
        measured, simulated = (np.concatenate(part) for part in (panel.measured, panel.simulated))
        axes.axline((0.0, 0.0), slope=1.0, color=MEASURED, lw=0.8, alpha=0.5)
        axes.plot(measured, simulated, ".", color=SIMULATED, ms=4, alpha=0.6)
        axes.set_title(f"{panel.label} [{panel.unit}]", fontsize=9, loc="left")
        axes.set_xlabel("measured", fontsize=8)
        axes.set_ylabel("simulated", fontsize=8)
        bare(axes)
    return figure


class Profiled(Protocol):
    """The data of a profile likelihood that are drawn: the rise of the loss at values of one
    parameter."""

    @property
    def name(self) -> str: ...

    @property
    def best(self) -> float: ...

    @property
    def values(self) -> Float[np.ndarray, " k"]: ...

    @property
    def rise(self) -> Float[np.ndarray, " k"]: ...

    @property
    def threshold(self) -> float: ...

    @property
    def interval(self) -> tuple[float, float]: ...


def profiles_picture(profiles: Sequence[Profiled]) -> Figure:
    """Return a figure of profile likelihoods: the rise of the loss against the value of each
    parameter."""
    columns = min(len(profiles), 3)
    rows = -(-len(profiles) // columns)
    figure = _figure(3.6 * columns, 2.4 * rows)
    grid = figure.subplots(rows, columns, squeeze=False).reshape(-1)
    for axes in grid[len(profiles) :]:
        axes.set_visible(False)
    for axes, profile in zip(grid, profiles, strict=False):
        axes.plot(profile.values, profile.rise, "o-", color=SIMULATED, ms=3, lw=1.3)
        axes.axhline(profile.threshold, color=MEASURED, lw=0.8, ls="--")
        for end in profile.interval:
            if np.isfinite(end):
                axes.axvline(end, color=MEASURED, lw=0.8, alpha=0.5)
        axes.axvline(profile.best, color=SIMULATED, lw=0.8, alpha=0.5)
        axes.set_title(profile.name, fontsize=8, loc="left")
        axes.set_ylabel("rise of the loss", fontsize=8)
        axes.set_ylim(0.0, 1.6 * profile.threshold)
        bare(axes)
    return figure


def motion_picture(
    time: Float[np.ndarray, " s"],
    joints: Sequence[str],
    rows: Mapping[str, Float[np.ndarray, "s n"]],
) -> Figure:
    """Return a figure of a planned motion.

    Args:
        time: times of the samples [s].
        joints: names of the n joints.
        rows: quantities of all joints, by label.
    """
    figure = _figure(11.0, 5.0)
    grid = figure.subplots(len(rows), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (label, values) in zip(grid, rows.items(), strict=True):
        axes.plot(time, values, lw=1.3, label=list(joints))
        axes.set_ylabel(label, fontsize=8)
        bare(axes)
    grid[0].legend(frameon=False, fontsize=8, ncols=len(joints))
    grid[-1].set_xlabel("time [s]", fontsize=8)
    return figure


def segments_picture(labels: Sequence[str], errors: Float[np.ndarray, "n c"]) -> Figure:
    """Return a figure of the root mean square error of each segment and quantity, relative to the
    quantity's median.

    Args:
        labels: names of the c quantities.
        errors: root mean square errors; NaN where a segment has no sample.
    """
    middle = np.nanmedian(np.where(errors > 0, errors, np.nan), axis=0)
    relative = errors / np.where(np.isfinite(middle), middle, 1.0)
    figure = _figure(10.0, 2.2 + 0.22 * len(labels))
    axes = figure.subplots()
    picture = axes.imshow(relative.T, aspect="auto", cmap="magma_r", vmin=0.0, vmax=4.0)
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    axes.set_xlabel("segment")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    figure.colorbar(picture, ax=axes, label="over the median", fraction=0.04)
    return figure


def correlations_picture(names: Sequence[str], values: Float[np.ndarray, "p p"]) -> Figure:
    """Return a figure of the correlations between parameters.

    Args:
        names: names of the p parameters.
        values: correlations; NaN for parameters that are not determined.
    """
    size = min(11.0, 3.4 + 0.2 * len(names))
    figure = _figure(size + 1.5, size)
    axes = figure.subplots()
    picture = axes.imshow(values, cmap="RdBu_r", vmin=-1.0, vmax=1.0)
    if len(names) <= MOST_NAMES:
        axes.set_yticks(range(len(names)), names, fontsize=7)
        axes.set_xticks(range(len(names)), names, fontsize=7, rotation=90)
    else:
        axes.set(xlabel="number of the parameter", ylabel="number of the parameter")
    figure.colorbar(picture, ax=axes, fraction=0.04)
    return figure


def loss_picture(losses: Sequence[float]) -> Figure:
    """Return a figure of the loss after each iteration."""
    figure = _figure(6.0, 2.6)
    axes = figure.subplots()
    axes.semilogy(range(len(losses)), losses, "o-", color=SIMULATED, ms=4, lw=1.4)
    axes.set(xlabel="iteration", ylabel="loss (−log-likelihood)")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    bare(axes)
    return figure


def _grid(panels: Sequence[Panel], share: bool = True) -> tuple[Figure, list[Axes]]:
    columns = 1 if len(panels) == 1 else 2
    rows = -(-len(panels) // columns)
    figure = _figure(11.0, 0.4 + 1.9 * rows)
    grid = figure.subplots(rows, columns, squeeze=False, sharex=share).reshape(-1)
    for axes in grid[len(panels) :]:
        axes.set_visible(False)
    return figure, list(grid[: len(panels)])


def _figure(width: float, height: float) -> Figure:
    figure = Figure(figsize=(width, height), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _finish(axes: Axes, panel: Panel) -> None:
    axes.set_title(panel.label, fontsize=9, loc="left")
    axes.set_ylabel(panel.unit, fontsize=8)
    axes.tick_params(labelsize=8)
    axes.set_xlabel("time [s]", fontsize=8)
    axes.label_outer()
    axes.tick_params(labelleft=True)
    axes.set_ylabel(panel.unit, fontsize=8)
    bare(axes)


def bare(axes: Axes) -> None:
    """Draw a grid and no frame on the right and above."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(alpha=0.25)
