"""Rows of a problem and ranges of delays that parameters need to have an effect."""

from dataclasses import replace

from jaxccp.identify.parameters.parameter import ParameterSet
from jaxccp.identify.subject import Subject
from jaxccp.model.structure import with_structure

TABLES = ("axes", "actuators", "activations", "shapes")
"""Tables of the model in which a number may need a row of the problem to have an effect."""


def with_required_rows(subject: Subject, parameters: ParameterSet) -> Subject:
    """Return the subject with all rows that parameters need to have an effect, even if the model's
    own value is 0 or infinite.

    It also gets the bounds of delays and of the time scale.

    Raises:
        ValueError: a parameter can never act.
    """
    numbers: dict[str, list[int]] = {}
    for leaf in parameters.leaves:
        if leaf.root in TABLES and leaf.row is not None:
            rows = numbers.setdefault(f"{leaf.root}.{leaf.leaf}", [])
            rows.append(leaf.row)
    subject = _with_times(subject, parameters)
    if not numbers:
        return subject
    return replace(subject, model=with_structure(subject.model, numbers))


def _with_times(subject: Subject, parameters: ParameterSet) -> Subject:
    """Return the subject with the bounds of delays and of the time scale."""
    channels = subject.channels
    late = parameters.bounds("channels", "delay")
    delays = tuple(late.get(row, bounds) for row, bounds in enumerate(channels.delay_bounds))
    scale = parameters.bounds("time_scale").get(None, subject.time_scale_bounds)
    return replace(
        subject, channels=replace(channels, delay_bounds=delays), time_scale_bounds=scale
    )
