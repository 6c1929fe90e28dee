"""Rows that parameters need which the model was built without."""

from dataclasses import replace

from jaxccp.identify.parameter import ParameterSet
from jaxccp.identify.subject import Subject
from jaxccp.model.structure import with_structure

TABLES = ("axes", "actuators", "shapes")
"""Tables of the model whose numbers may need rows."""


def acting(subject: Subject, parameters: ParameterSet) -> Subject:
    """Return the subject with the rows that make every parameter act, whatever the value was that
    the model was built with.

    Raises:
        ValueError: a parameter can never act.
    """
    numbers: dict[str, list[int]] = {}
    for leaf in parameters.leaves:
        if leaf.root in TABLES and leaf.row is not None:
            rows = numbers.setdefault(f"{leaf.root}.{leaf.leaf}", [])
            rows.append(leaf.row)
    if not numbers:
        return subject
    return replace(subject, model=with_structure(subject.model, numbers))
