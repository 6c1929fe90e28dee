"""Sections of a report on base parameters, profiles, and what to record next."""

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxccp.identify.evaluation import finite
from jaxccp.identify.excitation_result import Excitation
from jaxccp.identify.profile import Profile

if TYPE_CHECKING:
    from jaxccp.identify.fit import Fit

WEAKEST = 5
"""Combinations that are named as the weakest."""
WEAK = 0.1
"""Deviation of a combination, in scales, from which it is worth more recordings."""


def next_as_json(
    fit: "Fit", profiles: Sequence[Profile], motion: Excitation | None
) -> dict[str, Any]:
    """Return base parameters, the weakest combinations, profiles and the planned motion of a fit,
    ready for JSON; null stands for what is infinite.

    Args:
        fit: the fit.
        profiles: that were computed.
        motion: to record next, if one was planned.
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
        "next": None
        if motion is None
        else {
            "weakest": [str(weakness) for weakness in motion.weaknesses],
            "parameters": {
                name: {"before": finite(before), "after": finite(after)}
                for name, before, after in zip(
                    motion.names, motion.before, motion.after, strict=True
                )
            },
            "limits": [
                {"what": use.what, "value": use.value, "limits": [finite(x) for x in use.limits]}
                for use in motion.uses
            ],
        },
    }


def base_section(content: dict[str, Any]) -> str:
    """Return the base parameters, where they are fewer than the parameters."""
    base = content["base_parameters"]
    if len(base) == len(content["parameters"]):
        return ""
    lines = "".join(f"<li>{escape(entry['combination'])}</li>" for entry in base)
    return (
        f"<p>{len(base)} combinations of the {len(content['parameters'])} parameters are "
        f"determined (base parameters, to first order):</p><ul>{lines}</ul>"
    )


def profile_section(content: dict[str, Any]) -> str:
    """Return the intervals of the profiles in words."""
    lines = "".join(f"<li>{escape(entry['text'])}</li>" for entry in content["profiles"])
    return f"<ul>{lines}</ul>" if lines else ""


def next_section(content: dict[str, Any]) -> str:
    """Return which combinations are told worst and what would tell them."""
    planned = content["next"]
    if planned is None:
        weak = content["weakest"]
        if not weak:
            return (
                f"<p>Every combination of parameters is told to better than {WEAK:g} of its scale: "
                "nothing needs to be recorded for their sake.</p>"
            )
        lines = "".join(f"<li>{escape(entry['text'])}</li>" for entry in weak)
        return (
            "<p>These combinations are told worst, so that motions which change the residuals "
            f"along them are worth recording:</p><ul>{lines}</ul><p>For arms <code>"
            "fit.excite(limits)</code> plans the motion that tells most; what no motion tells "
            "needs a prior, another channel, or one parameter less.</p>"
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
        + (f"<p>Of the combinations that are told worst:</p><ul>{lines}</ul>" if lines else "")
        + '<div class="scroll"><table><tr><th>greatest use of limits</th><th>value</th>'
        f"<th>limits</th></tr>{limits}</table></div>"
    )


def _number(value: float | None, absent: str = "∞") -> str:
    """Return a number, or what stands for none."""
    return absent if value is None or not np.isfinite(value) else f"{value:.4g}"
