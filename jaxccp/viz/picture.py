"""A picture of a simulation: the bodies over time, energy, contacts and residuals."""

from typing import get_args

import numpy as np
from jaxtyping import Float, Int
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from jaxccp.ccp import Law
from jaxccp.io.trajectory import TrajectoryArrays
from jaxccp.model import Model
from jaxccp.viz.palette import INK, NAMED, PALETTE
from jaxccp.viz.replay import moving_bodies
from jaxccp.viz.scene import Camera, draw_paths, draw_planes, draw_solids
from jaxccp.viz.skin import body_colours, movable_groups

GHOSTS = 8
"""Maximum number of poses drawn between the first and the last one, for a single body; fewer for
many bodies."""
PATHS = 64
"""Largest number of copies in a batch whose paths are drawn."""


def picture(model: Model, recording: TrajectoryArrays, law: Law, title: str) -> Figure:
    """Return a figure of the bodies, beside curves of energy, contacts and residual over time.

    The bodies are drawn at several instants, between which they move equally far. For a batch, the
    bodies of the first copy and the paths of other copies are drawn; curves are the median over the
    copies, with the range from 5 to 95 %.

    Args:
        model: the model, with its shapes.
        recording: poses and figures over time.
        law: contact law whose residual is drawn.
        title: title of the figure.

    Raises:
        ValueError: there is no such law.
    """
    if law not in get_args(Law):
        raise ValueError(f"law must be one of {get_args(Law)}, not {law!r}")
    figure = Figure(figsize=(13.0, 6.5), dpi=120, layout="constrained")
    FigureCanvasAgg(figure)
    scene, curves = figure.add_gridspec(1, 2, width_ratios=(2.0, 1.0))
    _draw_scene(figure.add_subplot(scene), model, recording)
    _draw_curves(figure, curves, recording, law)
    figure.suptitle(title, x=0.012, ha="left", fontsize=13, fontweight="bold", color=INK)
    return figure


def _draw_scene(axes: Axes, model: Model, recording: TrajectoryArrays) -> None:
    batch = recording.position.ndim > 3
    paths = recording.position if batch else recording.position[None]
    position = np.asarray(paths[0], float)
    quaternion = np.asarray(recording.quaternion[0] if batch else recording.quaternion, float)
    moves = moving_bodies(model, position, quaternion)
    free, still = np.flatnonzero(moves).tolist(), np.flatnonzero(~moves).tolist()
    moving, tints = movable_groups(model), body_colours(model)
    rigid = np.flatnonzero(model.topology.free).tolist()
    names = [model.topology.bodies[thing[0]] for thing in moving]
    names[len(rigid) :] = [name.rsplit(".", 1)[0] for name in names[len(rigid) :]]
    camera = _camera(position[:, free])

    fixed, moved = ({body: tints[body] for body in bodies} for bodies in (still, free))
    points = [
        paths[:PATHS, :, free].reshape(-1, 3),
        draw_solids(axes, model, position[0], quaternion[0], fixed, camera, alpha=0.8, zorder=2),
    ]
    for copy in paths[:PATHS]:
        draw_paths(axes, copy, {body: tints[body] for body in rigid}, camera)
    ghosts = GHOSTS // max(len(moving), 1)
    instants = _instants(position[:, free], quaternion[:, free], ghosts + 2)
    for rank, i in enumerate(instants, start=1):
        # Each instant covers the earlier ones, whichever is nearer, so that the last one is
        # visible.
        alpha = 1.0 if rank == len(instants) else 0.15 + 0.4 * rank / len(instants)
        pose = position[i], quaternion[i]
        points.append(draw_solids(axes, model, *pose, moved, camera, alpha=alpha, zorder=3 + rank))
    pose = position[0], quaternion[0]
    pitch = draw_planes(axes, model, *pose, np.concatenate(points), camera)
    axes.set_aspect("equal")
    axes.autoscale_view()
    axes.set_axis_off()
    if pitch is not None:
        note = f"grid {pitch:g} m"
        axes.text(0.0, 0.0, note, transform=axes.transAxes, fontsize=9, color=INK, va="top")
    if len(moving) <= NAMED:
        marks = [
            Line2D([], [], color=c, marker="s", ls="", ms=8)
            for c in (tints[thing[0]] for thing in moving)
        ]
        corner = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": NAMED}
        axes.legend(marks, names, frameon=False, labelcolor=INK, **corner)


def _camera(position: Float[np.ndarray, "n k 3"]) -> Camera:
    """Return a camera that looks across the main horizontal direction of motion, from a higher
    point for a flatter motion."""
    points = position.reshape(-1, 3)
    centred = points[:, :2] - points[:, :2].mean(axis=0)
    _, _, axes = np.linalg.svd(centred, full_matrices=False)
    main = axes[0] * (1.0 if axes[0, 0] >= 0 else -1.0)
    spread = np.ptp(points, axis=0)
    flat = spread[2] < 0.1 * np.linalg.norm(spread[:2])
    azimuth = np.degrees(np.arctan2(main[1], main[0])) - 90.0
    return Camera(azimuth - 20.0, 42.0 if flat else 20.0)


def _instants(
    position: Float[np.ndarray, "n k 3"], quaternion: Float[np.ndarray, "n k 4"], count: int
) -> Int[np.ndarray, " m"]:
    """Return the indices of samples between which the bodies move equally far, including the first
    and the last one."""
    travel = np.linalg.norm(np.diff(position, axis=0), axis=-1).max(axis=-1, initial=0.0)
    cosine = np.abs(np.sum(quaternion[1:] * quaternion[:-1], axis=-1))
    angle = 2.0 * np.arccos(np.clip(cosine, 0.0, 1.0)).max(axis=-1, initial=0.0)
    # A rotation by one radian is as visible as a displacement by a tenth of the whole extent.
    extent = np.linalg.norm(np.ptp(position.reshape(-1, 3), axis=0))
    distance = np.concatenate([[0.0], np.cumsum(travel + 0.1 * extent * angle)])
    picked = np.searchsorted(distance, np.linspace(0.0, distance[-1], count))
    return np.unique(np.concatenate([[0], picked[1:-1], [len(distance) - 1]]))


def _draw_curves(figure: Figure, place: SubplotSpec, recording: TrajectoryArrays, law: Law) -> None:
    """Draw the curves one above the other; residuals only if there are contacts."""
    time = recording.time
    residual = recording.residual_ncp if law == "ncp" else recording.residual_ccp
    # Exact zeros (no contact) cannot be shown on a logarithmic axis.
    residual = np.where(residual > 0, residual, np.nan)
    panels = [
        ("energy [J]", time, recording.energy, PALETTE[1]),
        ("contacts", time[1:], recording.contacts, PALETTE[2]),
    ]
    if np.isfinite(residual).any():
        panels.append((f"residual, {law} [m/s]", time[1:], residual, PALETTE[0]))
    grid = place.subgridspec(len(panels), 1)
    axes = [figure.add_subplot(grid[i]) for i in range(len(panels))]
    for ax, (label, x, y, colour) in zip(axes, panels, strict=True):
        _curve(ax, x, y, colour)
        ax.set_title(label, loc="left", fontsize=10, color=INK)
        ax.set_xlim(time[0], time[-1] if len(time) > 1 else None)
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(color="#e6e6e6", linewidth=0.6)
        ax.tick_params(which="both", labelsize=8, colors=INK)
    _widen(axes[0], recording.energy)
    if recording.contacts.size:
        axes[1].set_ylim(recording.contacts.min() - 0.5, recording.contacts.max() + 0.5)
    axes[1].yaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
    if len(panels) > 2:
        decades = np.log10([np.nanmin(residual), np.nanmax(residual)])
        axes[2].set(yscale="log", ylim=10.0 ** (np.floor(decades) + np.array([-0.05, 1.05])))
    axes[-1].set_xlabel("time [s]", fontsize=9, color=INK)


def _widen(ax: Axes, y: np.ndarray) -> None:
    """Make the y axis cover at least a hundredth of the magnitude of ``y``, so that rounding is not
    magnified."""
    low, high = np.nanmin(y), np.nanmax(y)
    missing = 0.01 * max(abs(low), abs(high)) - (high - low)
    if missing > 0:
        ax.set_ylim(low - missing / 2, high + missing / 2)
    ax.ticklabel_format(axis="y", useOffset=False)


def _curve(ax: Axes, x: np.ndarray, y: np.ndarray, colour: str) -> None:
    if y.ndim == 1:
        ax.plot(x, y, color=colour, linewidth=1.2)
        return
    some = np.isfinite(y).any(axis=0)
    low, middle, high = np.full((3, y.shape[1]), np.nan)
    if some.any():
        low[some], middle[some], high[some] = np.nanpercentile(y[:, some], (5, 50, 95), axis=0)
    ax.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
    ax.plot(x, middle, color=colour, linewidth=1.2)
