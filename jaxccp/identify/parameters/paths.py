"""Paths to numbers of a model, such as ``axes["elbow"].damping`` or ``gravity[2]``."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.identify.subject import Subject
from jaxccp.names import matches, suggestion

PATH = re.compile(
    r"""^(?P<root>\w+)
    (?:\[(?:(?P<quote>["'])(?P<name>.*?)(?P=quote)|(?P<every>\*)|(?P<row>\d+))\])?
    (?:\.(?P<leaf>\w+))?
    (?:\[(?P<component>\d+)\])?$""",
    re.VERBOSE,
)
FORM = 'a path reads like axes["elbow"].damping, bodies[*].inertial or gravity[2]'


@dataclass(frozen=True)
class Leaf:
    """Numbers of one array of a subject: some rows of a table, or all of an array."""

    path: str
    """Path of a single row, as reports name it."""
    root: str
    """Name of a table of the model, or ``channels``, ``gravity``, ``time_scale``."""
    leaf: str
    """Name of the column of the table; empty if the root is a single array."""
    row: int | None
    """Row of the table; None for a single array."""
    component: int | None
    """Component of the row; None for all components."""

    def get(self, subject: Subject) -> Float[Array, "..."]:
        """Return the numbers of the leaf in a subject."""
        return self._array(subject)[self._index]

    def set(self, subject: Subject, value: Float[Array, "..."]) -> Subject:
        """Return the subject with other numbers in this leaf."""
        array = self._array(subject)
        changed = array.at[self._index].set(jnp.reshape(value, array[self._index].shape))
        if self.root == "channels":
            return replace(subject, channels=replace(subject.channels, **{self.leaf: changed}))
        if self.root == "time_scale":
            return replace(subject, time_scale=changed)
        model = subject.model
        if self.leaf:
            changed = replace(getattr(model, self.root), **{self.leaf: changed})
        return replace(subject, model=replace(model, **{self.root: changed}))

    @property
    def _index(self) -> tuple:
        index = () if self.row is None else (self.row,)
        return index if self.component is None else (*index, self.component)

    def _array(self, subject: Subject) -> Array:
        holder = subject if self.root in ("channels", "time_scale") else subject.model
        table = getattr(holder, self.root)
        return getattr(table, self.leaf) if self.leaf else table


def row_names(subject: Subject) -> dict[str, tuple[str, ...] | None]:
    """Return the names of the rows of each table, by root; None for roots without rows."""
    topology = subject.model.topology
    linkage, activations = topology.linkage, subject.model.activations
    active = () if activations is None else activations.actuators
    return {
        "bodies": topology.bodies,
        "shapes": topology.shape_names,
        "joints": linkage.joints,
        "axes": (*linkage.axes, *linkage.routing.tendons),
        "actuators": linkage.actuators,
        "activations": tuple(linkage.actuators[i] for i in active),
        "sites": subject.model.sites.names,
        "channels": subject.channels.names,
        "contact": None,
        "gravity": None,
        "time_scale": None,
    }


def resolve(subject: Subject, path: str, virtual: Sequence[tuple[str, str]] = ()) -> list[Leaf]:
    """Return the leaves that a path names, one for each matching row.

    Args:
        subject: the model whose names the path uses.
        path: ``root["name"].leaf``; ``*`` and ``?`` in a name match any letters, ``[*]`` every row.
        virtual: further (root, leaf) pairs that are allowed, such as ("bodies", "inertial").

    Raises:
        ValueError: the path has no such form, or the model nothing of the name.
    """
    match = PATH.match(path.strip())
    if match is None:
        raise ValueError(f"cannot read the parameter {path!r}: {FORM}")
    root, leaf = match["root"], match["leaf"] or ""
    tables = row_names(subject)
    if root not in tables:
        raise ValueError(
            f"{path}: there is no table {root!r}; there are {', '.join(tables)}"
            f"{suggestion(root, tables)}"
        )
    holder = subject if root in ("channels", "time_scale") else subject.model
    table = getattr(holder, root)
    if table is None:
        raise ValueError(f"{path}: the model has no {root}")
    if is_dataclass(table):
        names = [
            field.name
            for field in fields(table)
            if isinstance(getattr(table, field.name), jax.Array | np.ndarray)
        ]
        names += [name for where, name in virtual if where == root]
        if leaf not in names:
            what = f"{root} have no {leaf!r}" if leaf else f"{root} need a number's name"
            raise ValueError(
                f"{path}: {what}; there are {', '.join(names)}{suggestion(leaf, names)}"
            )
    elif leaf:
        raise ValueError(f"{path}: {root} is one array and has no {leaf!r}")
    number = match["component"]
    if tables[root] is None and match["row"] is not None:
        if leaf:
            raise ValueError(f"{path}: {root} has no rows: leave out [{match['row']}]")
        number = match["row"]
    component = None if number is None else int(number)
    rows = _rows(path, match, tables[root])
    leaves = [
        Leaf(_label(root, tables[root], row, leaf, component), root, leaf, row, component)
        for row in rows
    ]
    for target in leaves:
        _check_component(subject, target, virtual)
    return leaves


def _rows(path: str, match: re.Match[str], names: tuple[str, ...] | None) -> Sequence[int | None]:
    if names is None:
        if match["name"] is not None or match["every"]:
            raise ValueError(f"{path}: {match['root']} has no named rows: leave out the brackets")
        return [None]
    if match["every"]:
        return range(len(names))
    if match["row"] is not None:
        row = int(match["row"])
        if row >= len(names):
            raise ValueError(f"{path}: there are only {len(names)} {match['root']}")
        return [row]
    if match["name"] is None:
        raise ValueError(
            f'{path}: say which of the {match["root"]}: {match["root"]}["name"] or '
            f"{match['root']}[*]; there are {', '.join(names)}"
        )
    if match["name"] in names:  # a name may hold brackets or stars of its own
        return [names.index(match["name"])]
    rows = [row for row, name in enumerate(names) if matches(name, match["name"])]
    if not rows:
        available = f"there are {', '.join(names)}" if names else "there are none"
        if match["root"] == "bodies":
            available += (
                " (a body of a file without a joint is part of the one that it is fixed to)"
            )
        raise ValueError(
            f"{path}: none of the {match['root']} is called {match['name']!r}; "
            f"{available}{suggestion(match['name'], names)}"
        )
    return rows


def _label(
    root: str, names: tuple[str, ...] | None, row: int | None, leaf: str, component: int | None
) -> str:
    where = "" if row is None or names is None else f'["{names[row]}"]'
    return (
        root
        + where
        + (f".{leaf}" if leaf else "")
        + ("" if component is None else f"[{component}]")
    )


def _check_component(subject: Subject, leaf: Leaf, virtual: Sequence[tuple[str, str]]) -> None:
    if leaf.component is None or (leaf.root, leaf.leaf) in virtual:
        return
    size = np.shape(replace(leaf, component=None).get(subject))
    if len(size) != 1 or leaf.component >= size[0]:
        raise ValueError(f"{leaf.path}: the number has shape {size}, which has no such component")
