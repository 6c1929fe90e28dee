"""Sections of a report on base parameters, profiles, and what to record next."""

from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from jaxccp.identify.excitation.result import Excitation
from jaxccp.identify.fit import Fit
from jaxccp.identify.uncertainty.profile import Profile
from jaxccp.io.output import finite

WEAKEST = 5
"""Number of the weakest combinations that are listed."""
WEAK = 0.1
"""Standard deviation of a combination, in scales, from which more recordings are recommended."""


def next_as_json(
    fit: Fit, profiles: Sequence[Profile], motion: Excitation | None
) -> dict[str, Any]:
    """Return base parameters, weakest combinations, profiles and planned motion of a fit, ready for
    JSON; null for infinite numbers.

    Args:
        fit: the fit.
        profiles: computed profiles.
        motion: the planned motion, if any.
    """
    identifiability = fit.identifiability
    return {
        "base_parameters": [
            {"combination": str(base), "deviation": finite(base.deviation)}
            for base in identifiability.base
        ],
        "weakest": [
            {"text": direction.text, "deviation": finite(direction.deviation)}
            for direction in identifiability.directions[:WEAKEST]
            if direction.deviation > WEAK
        ],
        "profiles": [
            {
                "name": profile.name,
                "values": profile.values.tolist(),
                "rise": profile.rise.tolist(),
                "threshold": profile.threshold,
                "level": profile.level,
                "interval": [finite(end) for end in profile.interval],
                "text": str(profile),
            }
            for profile in profiles
        ],
        "next": None if motion is None else motion.summary(),
    }


def base_section(content: dict[str, Any]) -> str:
    """Return the section on base parameters as HTML; empty if each parameter is determined on its
    own."""
    base = content["base_parameters"]
    if len(base) == len(content["parameters"]):
        return ""
    lines = "".join(f"<li>{escape(entry['combination'])}</li>" for entry in base)
    return (
        f"<p>{len(base)} combinations of the {len(content['parameters'])} parameters are "
        f"determined (base parameters, to first order):</p><ul>{lines}</ul>"
    )


def profile_section(content: dict[str, Any]) -> str:
    """Return the section with the profiles' intervals as HTML."""
    lines = "".join(f"<li>{escape(entry['text'])}</li>" for entry in content["profiles"])
    return f"<ul>{lines}</ul>" if lines else ""


def next_section(content: dict[str, Any]) -> str:
    """Return the section on what to record next as HTML: combinations that are determined worst,
    and the motions that would determine them."""
    planned = content["next"]
    if planned is None:
        weak = content["weakest"]
        if not weak:
            return (
                f"<p>Every combination of parameters is determined to better than {WEAK:g} of "
                "its scale: no more recordings are needed for them.</p>"
            )
        lines = "".join(f"<li>{escape(entry['text'])}</li>" for entry in weak)
        return (
            "<p>These combinations are determined worst; motions that change the residuals "
            f"along them are worth recording:</p><ul>{lines}</ul><p>For arms <code>"
            "fit.excite(limits)</code> plans the motion that determines the parameters best; "
            "what no motion determines needs a prior, another channel, or one parameter less.</p>"
        )
    rows = "".join(
        f'<tr><td class="name">{escape(name)}</td><td>{_number(entry["before"])}</td>'
        f"<td>{_number(entry['after'])}</td></tr>"
        for name, entry in planned["parameters"].items()
    )
    limits = "".join(
        f'<tr><td class="name">{escape(entry["what"])}</td><td>{entry["value"]:.4g}</td>'
        f"<td>{_number(entry['limits'][0], '−∞')} … {_number(entry['limits'][1])}</td></tr>"
        for entry in planned["limits"]
    )
    lines = "".join(f"<li>{escape(entry)}</li>" for entry in planned["weakest"])
    return (
        "<p>The motion that was planned, and the standard errors predicted with it recorded:</p>"
        '<div class="scroll"><table><tr><th>parameter</th><th>now</th><th>with it</th></tr>'
        f"{rows}</table></div>"
        + (f"<p>The combinations that were determined worst:</p><ul>{lines}</ul>" if lines else "")
        + '<div class="scroll"><table><tr><th>greatest use of limits</th><th>value</th>'
        f"<th>limits</th></tr>{limits}</table></div>"
    )


def _number(value: float | None, absent: str = "∞") -> str:
    """Return a number as text, or ``absent`` for None."""
    return absent if value is None or not np.isfinite(value) else f"{value:.4g}"
