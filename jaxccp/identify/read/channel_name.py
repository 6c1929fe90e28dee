"""Names of channels in files: ``position["elbow"]`` or ``position.elbow``."""

import re
from difflib import get_close_matches
from pathlib import Path

from jaxccp.identify.recordings.recording import KINDS
from jaxccp.io.errors import InputError
from jaxccp.names import suggestion

CHANNEL = re.compile(
    r"""^(?P<kind>\w+)
    (?:\[(?P<quote>["'])(?P<quoted>.*)(?P=quote)\]|\.(?P<bare>.+?))
    (?:\[(?P<component>\d+)\])?$""",
    re.VERBOSE,
)
ROS = {"velocity": "rate", "effort": "torque"}
"""Kinds of channels by their names in ROS, where those differ."""
SIMILAR = 0.8
"""Similarity to the name of a kind from which an unknown name counts as misspelt."""


def channel_name(text: str, path: Path | None = None) -> tuple[str, str, int | None] | None:
    """Return kind, target and component of a channel's name; None if it is not the name of a
    channel.

    Args:
        text: such as ``position["elbow"]``, ``position.elbow`` or ``pose["box"][3]``; ``velocity``
            and ``effort`` are the rate and torque of ROS.
        path: path of the file, for error messages.

    Raises:
        InputError: the kind is not known, but resembles one.
    """
    match = CHANNEL.match(text.strip())
    if match is None:
        return None
    kind = ROS.get(match["kind"], match["kind"])
    if kind not in KINDS:
        if get_close_matches(kind, KINDS, 1, SIMILAR):
            raise InputError(
                path or "columns", f"there is no kind of channel {kind!r}", _kinds(kind), text
            )
        return None
    component = None if match["component"] is None else int(match["component"])
    return kind, match["quoted"] or match["bare"], component


def _kinds(kind: str) -> str:
    return f"there are {', '.join(KINDS)}{suggestion(kind, KINDS)}"


def names_of(kind: str, target: str) -> tuple[str, str, str]:
    """Return the names by which settings may name a channel: both spellings, and its kind."""
    return f'{kind}["{target}"]', f"{kind}.{target}", kind
