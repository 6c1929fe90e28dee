"""The report of a fit as one self-contained page of HTML."""

import json
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from jaxccp.identify.excitation.result import Excitation
from jaxccp.identify.fit import Fit
from jaxccp.identify.report.as_json import correlation, in_case
from jaxccp.identify.report.curves import CaseCurves
from jaxccp.identify.report.next_recording import base_section, next_section, profile_section
from jaxccp.identify.report.pictures import pictures
from jaxccp.identify.report.replay import replay
from jaxccp.identify.uncertainty.profile import Profile

PAIRS = 12
"""Number of pairs of parameters whose correlation is listed."""
STRONG = 0.5
"""Correlation from which a pair is listed."""


def page(
    fit: Fit,
    content: dict[str, Any],
    curves: Sequence[CaseCurves],
    title: str,
    sentences: Sequence[str],
    profiles: Sequence[Profile] = (),
    planned: Excitation | None = None,
) -> str:
    """Return the report of a fit as a page of HTML.

    Args:
        fit: the fit.
        content: results of :func:`jaxccp.identify.report.as_json.fit_as_json` and
            :func:`jaxccp.identify.report.next_recording.next_as_json`, merged.
        curves: curves of the fit's cases.
        title: title of the page.
        sentences: sentences about results that the model's file cannot hold.
        profiles: computed profiles.
        planned: motion to record next.
    """
    motions = (replay(fit, entry) for entry in curves)
    motion = next((motion for motion in motions if motion is not None), None)
    if motion is not None:
        motion["view"] = _view(motion)
    sections = [
        ("parameters", "Parameters", _parameters(content)),
        ("bodies", "Bodies", _bodies(fit)),
        (
            "determined",
            "What the recordings determine",
            _identifiability(content) + base_section(content),
        ),
        ("profiles", "Profile likelihoods", profile_section(content)),
        ("next", "What to record next", next_section(content)),
        ("correlations", "Correlations", _correlations(fit)),
        ("errors", "Errors by channel", _errors(content)),
        ("replay", "Replay", _REPLAY if motion else ""),
        ("curves", "Measured and simulated", ""),
        ("residuals", "Residuals", ""),
        ("loss", "Loss", ""),
        ("notes", "Notes and warnings", _notes(content, sentences)),
    ]
    drawn = pictures(fit, curves, profiles, planned)
    parts = [(name, head, text + drawn.get(name, "")) for name, head, text in sections]
    parts = [entry for entry in parts if entry[2]]
    template = Template((files("jaxccp.identify") / "data" / "report.html").read_text("utf-8"))
    recordings = content["recordings"]
    ended = "converged" if content["converged"] else "did not converge"
    return template.substitute(
        title=escape(title),
        subtitle=escape(
            f"{len(content['parameters'])} parameters identified from {len(recordings)} "
            f"recording{'s' * (len(recordings) != 1)} by jaxccp {content['jaxccp']}"
        ),
        navigation=" ".join(f'<a href="#{name}">{head}</a>' for name, head, _ in parts),
        cards=_cards(content, ended),
        sections="\n".join(
            f'<section id="{name}"><h2>{head}</h2>\n{text}\n</section>'
            for name, head, text in parts
        ),
        replay=json.dumps(motion, separators=(",", ":")).replace("<", "\\u003c"),
    )


def _cards(content: dict[str, Any], ended: str) -> str:
    loss = content["loss"]
    cards = [
        (_number(loss["last"]), f"loss (−log-likelihood), from {_number(loss['first'])}"),
        (content["iterations"], f"iterations; {ended}"),
        (content["evaluations"], "evaluations"),
        (len(content["identifiability"]), "combinations poorly determined"),
    ]
    return "".join(
        f'<div class="card"><b>{escape(str(value))}</b><span>{escape(label)}</span></div>'
        for value, label in cards
    )


def _number(value: float | None) -> str:
    return "∞" if value is None else f"{value:.5g}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], marked: Sequence[bool] = ()) -> str:
    """Return a table as HTML; the first cell of a row is a name, and all cells are escaped text."""
    lines = ["".join(f"<th>{escape(entry)}</th>" for entry in head)]
    for row in rows:
        cells = f'<td class="name">{escape(row[0])}</td>'
        cells += "".join(f"<td>{escape(entry)}</td>" for entry in row[1:])
        lines.append(cells)
    classes = [""] + [
        ' class="undetermined"' if entry else "" for entry in marked or [False] * len(rows)
    ]
    body = "\n".join(f"<tr{kind}>{line}</tr>" for kind, line in zip(classes, lines, strict=True))
    return f'<div class="scroll"><table>\n{body}\n</table></div>'


def _parameters(content: dict[str, Any]) -> str:
    rows, marked = [], []
    for name, entry in content["parameters"].items():
        low, high = entry["interval"]
        interval = "not determined" if low is None else f"{low:.5g} … {high:.5g}"
        at = [word for word in ("lower", "upper") if entry[word] == entry["value"]]
        bounds = [
            "−∞" if entry["lower"] is None else f"{entry['lower']:.4g}",
            "∞" if entry["upper"] is None else f"{entry['upper']:.4g}",
        ]
        prior = "" if entry["prior"] is None else f"{entry['initial']:.4g} ± {entry['prior']:.3g}"
        rows.append(
            (
                name,
                _number(entry["value"]) + (f" (at its {at[0]} bound)" if at else ""),
                entry["unit"],
                interval,
                _number(entry["initial"]),
                prior,
                " … ".join(bounds),
            )
        )
        marked.append(low is None or bool(at))
    head = ("parameter", "value", "unit", "95 % interval", "initial", "prior", "bounds")
    return _table(head, rows, marked)


def _bodies(fit: Fit) -> str:
    """Return a table of the bodies whose inertias the fit has changed, as HTML."""
    rows, plans = [], fit.problem.plans
    for case, plan in enumerate(plans):
        before, after = plan.subject.model, fit.problem.subject(fit.values, case).model.bodies
        for body in np.flatnonzero(before.topology.free):
            numbers = []
            for entry in (before.bodies, after):
                mass, inertia = float(entry.mass[body]), np.asarray(entry.inertia, float)[body]
                numbers.append((mass, np.linalg.eigvalsh(inertia)))
            (mass, moments), (mass_after, moments_after) = numbers
            same = np.isclose(mass, mass_after, rtol=1e-6)
            if same and np.allclose(moments, moments_after, rtol=1e-6):
                continue
            text = [", ".join(f"{x:.4g}" for x in part) for part in (moments, moments_after)]
            name = in_case(before.topology.bodies[body], case, len(plans))
            rows.append((name, f"{mass:.5g}", f"{mass_after:.5g}", *text))
    if not rows:
        return ""
    head = ("body", "mass [kg]", "identified", "principal moments [kg m²]", "identified")
    return _table(head, rows)


def _identifiability(content: dict[str, Any]) -> str:
    if not content["identifiability"]:
        return "<p>All combinations of parameters are determined.</p>"
    lines = "".join(f"<li>{escape(entry)}</li>" for entry in content["identifiability"])
    return f"<p>Without priors, the recordings leave these open:</p><ul>{lines}</ul>"


def _correlations(fit: Fit) -> str:
    values, names = correlation(fit), fit.names
    if len(names) < 2:
        return ""
    first, second = np.triu_indices(len(names), 1)
    size = np.nan_to_num(np.abs(values[first, second]))
    strongest = [k for k in np.argsort(-size, kind="stable")[:PAIRS] if size[k] >= STRONG]
    if not strongest:
        return f"<p>No two parameters have a correlation beyond ±{STRONG:g}.</p>"
    rows = [
        (f"{names[first[k]]}, {names[second[k]]}", f"{values[first[k], second[k]]:+.3f}")
        for k in strongest
    ]
    return _table(("strongest pairs", "correlation"), rows)


def _errors(content: dict[str, Any]) -> str:
    rows = [
        (name, "no samples" if entry["rms"] is None else f"{entry['rms']:.4g}", entry["unit"])
        for name, entry in content["rms"].items()
    ]
    return _table(("channel", "root mean square error", "unit"), rows) if rows else ""


def _notes(content: dict[str, Any], sentences: Sequence[str]) -> str:
    parts = []
    for head, lines in (
        ("", content["notes"]),
        ("Recordings", content["warnings"]),
        ("What the file of the identified model cannot say", sentences),
    ):
        if lines:
            listed = "".join(f"<li>{escape(entry)}</li>" for entry in lines)
            parts.append((f"<h3>{head}</h3>" if head else "") + f"<ul>{listed}</ul>")
    return "".join(parts)


_REPLAY = """<div class="controls">
<button id="replay-play" type="button">Play</button>
<input id="replay-time" type="range" min="0" max="1" value="0" step="1" aria-label="time">
<span id="replay-clock">0 s</span>
<select id="replay-recording" aria-label="recording"></select>
<select id="replay-view" aria-label="view"><option value="xz">x–z</option>
<option value="yz">y–z</option><option value="xy">x–y</option></select></div>
<div class="views">
<figure><canvas id="view-measured"></canvas><figcaption>measured</figcaption></figure>
<figure><canvas id="view-simulated"></canvas><figcaption>simulated, starting anew with each
segment</figcaption></figure></div>"""


def _view(motion: dict[str, Any]) -> str:
    """Return the plane in which bodies move most, for the replay."""
    rows = np.array(motion["motions"][0]["measured"]).reshape(
        len(motion["motions"][0]["time"]), -1, 7
    )
    x, y, z = np.ptp(rows[:, :, :3], axis=0).max(axis=0)
    return max((x + z, "xz"), (y + z, "yz"), (0.9 * (x + y), "xy"))[1]
