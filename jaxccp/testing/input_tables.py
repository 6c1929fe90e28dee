"""Inputs that are numbers of a table of the model, such as friction or stiffness."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Array, Float

from jaxccp.model import Model
from jaxccp.testing.input_kinds import Numbers, activated
from jaxccp.testing.setup import Setup, with_model


@dataclass(frozen=True)
class Table:
    """Relative changes of the numbers ``model.part.number`` that are neither 0 nor infinite."""

    part: str
    """Name of the table in the model."""
    number: str
    """Name of the number in the table."""
    shapes: tuple[str, ...] = ()
    """Kinds of shapes whose numbers count; all when empty."""
    together: bool = False
    """Whether numbers that are equal change together."""
    of: str = ""
    """Name of a number without which this one has no effect."""

    def find(self, setup: Setup) -> Numbers:
        """Find the numbers of a model."""
        topology = setup.model.topology
        # A model may be without the table, or the table without the number.
        numbers = getattr(getattr(setup.model, self.part), self.number, None)
        values = np.asarray([] if numbers is None else numbers, float)
        selected = np.isfinite(values) & (values != 0)
        if self.of:
            selected &= np.asarray(getattr(getattr(setup.model, self.part), self.of)) != 0
        if self.shapes:
            among = np.isin(topology.shapes, self.shapes)
            selected &= among.reshape(-1, *[1] * (values.ndim - 1))
        entries = np.argwhere(selected)
        if self.together:
            distinct, group = np.unique(values[selected], return_inverse=True)
            labels = tuple(f"{value:g}" for value in distinct)
        else:
            group = np.arange(len(entries))
            rows = self._names(setup.model, len(values))
            labels = tuple(".".join([rows[e[0]], *map(str, e[1:])]) for e in entries)
        return labels, np.ones(len(labels)), entries, group

    def apply(self, setup: Setup, entries: np.ndarray, x: Float[Array, " k"]) -> Setup:
        """Return the setup with numbers changed.

        Args:
            setup: the setup.
            entries: indices of the numbers.
            x: relative change of each.
        """
        table = getattr(setup.model, self.part)
        values = getattr(table, self.number)
        scaled = values.at[tuple(entries.T)].multiply(1 + x, unique_indices=True)
        return with_model(setup, **{self.part: replace(table, **{self.number: scaled})})

    def _names(self, model: Model, count: int) -> tuple[str, ...]:
        linkage = model.topology.linkage
        names = {
            "shapes": model.topology.shape_names,
            "smooth": model.topology.shape_names,
            "axes": (*linkage.axes, *linkage.routing.tendons),
            "actuators": linkage.actuators,
            "activations": activated(model),
        }[self.part]
        return names if len(names) == count else tuple(map(str, range(count)))
