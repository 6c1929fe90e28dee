"""Rows that parameters need which the model was built without."""

from dataclasses import replace

import numpy as np

from jaxccp.identify.parameter import ParameterSet
from jaxccp.identify.subject import Subject

ROWS = {
    "damping": "compliant",
    "stiffness": "compliant",
    "armature": "compliant",
    "friction": "dry_friction",
}
"""Rows of a linkage that numbers of ``axes`` act by."""


def acting(subject: Subject, parameters: ParameterSet) -> Subject:
    """Return the subject with the structure that makes every parameter act."""
    linkage = subject.model.topology.linkage
    for leaf, rows in ROWS.items():
        wanted = [one.row for one in parameters.leaves if (one.root, one.leaf) == ("axes", leaf)]
        known = getattr(linkage, rows)
        linkage = replace(linkage, **{rows: np.union1d(known, wanted).astype(known.dtype)})
    topology = replace(subject.model.topology, linkage=linkage)
    return replace(subject, model=replace(subject.model, topology=topology))
