"""Constraints that are soft in a file and hard in this package."""

from collections.abc import Collection

import numpy as np

from jaxccp.io.mjcf.elements.softness import effective_solref
from jaxccp.io.mjcf.files.source import Source
from jaxccp.io.mjcf.import_report import ImportReport

COLUMNS = {
    "geom": ("geom_solref", "contact"),
    "pair": ("pair_solref", "contact"),
    "flex": ("flex_solref", "contact"),
    "joint": ("jnt_solref", "limit"),
    "tendon": ("tendon_solref_lim", "limit"),
    "equality": ("eq_solref", "constraint"),
}
"""Kinds of elements with a ``solref``, MuJoCo's column of it, and a description."""
PAIR_COLUMNS = {
    "pair_margin": "a margin is 0 here: surfaces touch when they meet",
    "pair_gap": "a gap is 0 here: surfaces touch when they meet",
}


def note_springs(
    source: Source,
    touching: set[int],
    flexes: list[int],
    softened: Collection[int],
    report: ImportReport,
) -> None:
    """Note constraints with a given stiffness, and those without damping, which bounce forever in
    MuJoCo.

    Args:
        source: the file.
        touching: geoms that may touch anything.
        flexes: flexible bodies that may touch anything.
        softened: geoms whose contacts have the compliance that ``solref`` stands for.
        report: the report.
    """
    m = source.m
    elements = {
        "geom": sorted(touching),
        "pair": range(m.npair),
        "flex": flexes,
        "joint": np.flatnonzero(m.jnt_limited),
        "tendon": np.flatnonzero(m.tendon_limited),
        "equality": np.flatnonzero(m.eq_active0),
    }
    soft = {
        "geom": set(softened),
        "pair": {pair for pair in range(m.npair) if int(m.pair_geom1[pair]) in softened},
    }
    for kind, (column, what) in COLUMNS.items():
        for index in elements[kind]:
            first, second = effective_solref(getattr(m, column)[index])
            text = f"solref {first:g} {second:g}: "
            if second == 0:
                text += f"without damping its {what} bounces without end; here it does not"
            elif first <= 0 and index not in soft.get(kind, ()):
                text += f"its {what} is a spring of that stiffness; hard here"
            else:
                continue
            report.approximate(source.label(kind, int(index)), text)


def note_pairs(source: Source, report: ImportReport) -> None:
    """Note properties of pairs of geoms that contacts of this package do not have."""
    for pair in range(source.m.npair):
        label = source.label("pair", pair)
        for column, text in PAIR_COLUMNS.items():
            if np.any(source.column(column)[pair : pair + 1]):
                report.approximate(label, text)
        if np.any(source.column("pair_adhesion")[pair : pair + 1]):
            report.ignore(label, "adhesion is not supported")
