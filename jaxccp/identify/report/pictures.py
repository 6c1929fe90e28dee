"""Pictures of a fit's report, embedded in its page."""

import base64
import importlib.util
import io
from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from jaxccp.identify.excitation.result import Excitation
from jaxccp.identify.report.as_json import correlation
from jaxccp.identify.report.curves import CaseCurves
from jaxccp.identify.uncertainty.profile import Profile

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from jaxccp.identify.fit import Fit
    from jaxccp.viz.fit_pictures import Panel

DRAWN = 3
"""Number of recordings whose curves are drawn."""
MOST_SAMPLES = 4000
"""Maximum number of samples in a curve."""
FEWEST_SAMPLES = 20
"""Smallest mean number of samples that are left of a segment; beyond that, whole segments are left
out."""
NO_PICTURES = "No pictures: they need matplotlib, pip install 'jaxccp[viz]'."


def pictures(
    fit: "Fit",
    curves: Sequence[CaseCurves],
    profiles: Sequence[Profile] = (),
    planned: Excitation | None = None,
) -> dict[str, str]:
    """Return the pictures of a report by section, as HTML.

    Args:
        fit: the fit.
        curves: curves of the fit's cases.
        profiles: computed profiles.
        planned: motion to record next.
    """
    if importlib.util.find_spec("matplotlib") is None:
        return {"loss": f"<p>{escape(NO_PICTURES)}</p>"}
    from jaxccp.viz import fit_pictures

    out = {"loss": _image(fit_pictures.loss_picture(fit.descent.losses), "loss by iteration")}
    if len(fit.names) > 1:
        figure = fit_pictures.correlations_picture(fit.names, correlation(fit))
        out["correlations"] = _image(figure, "correlations of the parameters")
    if profiles:
        figure = fit_pictures.profiles_picture(profiles)
        out["profiles"] = _image(figure, "loss over each parameter")
    if planned is not None:
        rows = {
            "position [m, rad]": planned.position,
            "rate [m/s, rad/s]": planned.rate,
            "torque [N, N m]": planned.torque,
        }
        figure = fit_pictures.motion_picture(planned.time, planned.joints, rows)
        out["next"] = _image(figure, "the motion to record next")
    several = len(curves) > 1
    drawn, residuals = [], []
    for case_curves in curves:
        recordings, before = fit.problem.plans[case_curves.case].recordings, len(drawn)
        for number in range(min(DRAWN, len(recordings))):
            panels = _panels(case_curves, number)[: fit_pictures.MOST_PANELS]
            if panels and max(map(len, panels[0].time)) > 1:
                label = f"recording {recordings[number].name}"
                label = f"case {case_curves.case}, {label}" if several else label
                picture = _image(fit_pictures.curves_picture(panels), label)
                opened = "" if drawn else " open"
                drawn.append(
                    f"<details{opened}><summary>{escape(label)}</summary>{picture}</details>"
                )
        panels = _panels(case_curves, None)[: fit_pictures.MOST_PANELS]
        if len(drawn) > before:
            residuals.append(_image(fit_pictures.residuals_picture(panels), "residuals over time"))
        else:  # one sample of each recording, such as after an impact
            picture = _image(fit_pictures.agreement_picture(panels), "simulated over measured")
            drawn.append(picture)
        labels = [column.label for column in case_curves.columns]
        if len(case_curves.segments) > 1:
            figure = fit_pictures.segments_picture(labels, _by_segment(case_curves))
            residuals.append(_image(figure, "errors of segments by channel"))
    out["curves"], out["residuals"] = "\n".join(drawn), "\n".join(residuals)
    return out


def _by_segment(curves: CaseCurves) -> np.ndarray:
    """Return the root mean square error of each segment and compared value; NaN without samples."""
    rows = []
    for segment in curves.segments:
        square = (segment.simulated - segment.measured) ** 2
        present = np.isfinite(square)
        total = np.where(present, square, 0.0).sum(axis=0)
        count = present.sum(axis=0)
        rows.append(np.where(count > 0, np.sqrt(total / np.maximum(count, 1)), np.nan))
    return np.array(rows)


def _panels(curves: CaseCurves, recording: int | None) -> list["Panel"]:
    """Return the panels of one recording, or of all of them."""
    from jaxccp.viz.fit_pictures import Panel

    segments = [
        segment
        for segment in curves.segments
        if recording in (None, segment.recording) and len(segment.time)
    ]
    # The first samples of segments, alone, would show no error.
    total = sum(len(segment.time) for segment in segments)
    fraction = max(1, -(-total // MOST_SAMPLES))
    stride = min(fraction, max(1, total // (FEWEST_SAMPLES * max(1, len(segments)))))
    segments, panels = segments[:: -(-fraction // stride)], []
    for place, column in enumerate(curves.columns):
        lines = [
            [
                np.asarray(part)[::stride]
                for part in (segment.time, segment.measured[:, place], segment.simulated[:, place])
            ]
            for segment in segments
        ]
        if lines and max(len(line[0]) for line in lines) == 1:
            joined = np.concatenate([np.stack(line) for line in lines], axis=1)
            lines = [list(joined[:, np.argsort(joined[0], kind="stable")])]
        if lines:
            time, measured, simulated = zip(*lines, strict=True)
            panels.append(Panel(column.label, column.unit, time, measured, simulated))
    return panels


def _image(figure: "Figure", label: str) -> str:
    """Return a figure as an image embedded in the page."""
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    data = base64.b64encode(buffer.getvalue()).decode()
    return f'<img alt="{escape(label, quote=True)}" src="data:image/png;base64,{data}">'
