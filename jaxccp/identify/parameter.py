"""Parameters: named numbers of a model that a fit may change, with bounds and priors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.identify import inertial
from jaxccp.identify.paths import Leaf, resolve
from jaxccp.identify.subject import Subject

VIRTUAL = (("bodies", "inertial"),)
"""Numbers that are not leaves of the model, but functions of several of them."""


@dataclass(frozen=True)
class Parameter:
    """A number to identify, or several: a path with wildcards stands for one parameter a row.

    Raises ``ValueError`` for bounds that exclude the initial value.
    """

    path: str | tuple[str, ...]
    """Path of a number (:mod:`jaxccp.identify.paths`), or of several that are one and the same
    parameter; those that begin with ``-`` have the opposite sign, as mirrored limbs do."""
    initial: float | None = None
    """Value to start from; None: what the model has."""
    lower: float = -np.inf
    """Least value."""
    upper: float = np.inf
    """Greatest value."""
    prior: float | None = None
    """Standard deviation of a normal prior about the initial value; None: no prior."""
    factor: bool = False
    """Whether the value is a factor on what the model has, in place of the number itself."""
    shared: bool = False
    """Whether all rows that the path matches are one and the same parameter."""
    per_sequence: bool = False
    """Whether each sequence has a value of its own."""
    scale: float | None = None
    """A typical change, the unit of the first steps; None: from prior, bounds or value."""
    apply: Callable[[Subject, Array], Subject] | None = None
    """A function of your own from subject and value to subject; the path is then a mere name."""

    def __post_init__(self) -> None:
        if not self.lower < self.upper:
            raise ValueError(
                f"{self.path}: lower = {self.lower} must be below upper = {self.upper}"
            )
        if self.initial is not None and not self.lower <= self.initial <= self.upper:
            raise ValueError(
                f"{self.path}: initial = {self.initial} lies outside {self.lower} … {self.upper}"
            )
        if self.prior is not None and not self.prior > 0:
            raise ValueError(f"{self.path}: prior must be a standard deviation > 0")
        if self.apply is not None and self.initial is None:
            raise ValueError(f"{self.path}: a parameter with apply= needs initial=")


@dataclass(frozen=True)
class Scalar:
    """One number of the vector of parameters."""

    name: str
    initial: float
    lower: float
    upper: float
    prior: float
    """Standard deviation of its prior; infinite without one."""
    scale: float
    per_sequence: bool


@dataclass(frozen=True)
class _Group:
    """Scalars that are applied together."""

    start: int
    size: int
    leaves: tuple[tuple[Leaf, float], ...] = ()
    """Leaves and signs."""
    factor: bool = False
    body: int = -1
    nominal: np.ndarray = field(default_factory=lambda: np.zeros((4, 4)))
    apply: Callable[[Subject, Array], Subject] | None = None


class ParameterSet:
    """The vector θ of all parameters of a problem, and how it changes a subject."""

    def __init__(self, parameters: Sequence[Parameter], subject: Subject) -> None:
        """Look the parameters up in a subject.

        Raises:
            ValueError: a path names nothing, two name the same number, or a bound excludes the
                model's value.
        """
        scalars: list[Scalar] = []
        groups: list[_Group] = []
        for parameter in parameters:
            for group in _groups(parameter, subject, len(scalars), scalars):
                groups.append(group)
        names = [scalar.name for scalar in scalars]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"parameters are listed twice: {', '.join(twice)}")
        if not names:
            raise ValueError("there are no parameters to identify")
        self.scalars = tuple(scalars)
        self._groups = tuple(groups)
        self._nominal = subject

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each number."""
        return tuple(scalar.name for scalar in self.scalars)

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """Return all numbers of the model that parameters set."""
        return tuple(leaf for group in self._groups for leaf, _ in group.leaves)

    def bounds(self, root: str, leaf: str = "") -> dict[int | None, tuple[float, float]]:
        """Return the least and the greatest value that parameters may give to numbers of the model.

        Args:
            root: table of the subject's model, or ``channels``, ``time_scale``.
            leaf: column of the table.

        Returns:
            The bounds by row of the table, of those rows that parameters set.
        """
        bounds: dict[int | None, tuple[float, float]] = {}
        for group in self._groups:
            for target, sign in group.leaves:
                if (target.root, target.leaf) != (root, leaf):
                    continue
                unit = float(target.get(self._nominal)) if group.factor else sign
                scalar = self.scalars[group.start]
                ends = sorted((unit * scalar.lower, unit * scalar.upper))
                bounds[target.row] = ends[0], ends[1]
        return bounds

    def column(self, name: str) -> Float[np.ndarray, " p"]:
        """Return one field of all scalars, such as ``lower``."""
        return np.array([getattr(scalar, name) for scalar in self.scalars])

    def __len__(self) -> int:
        return len(self.scalars)

    def apply(self, subject: Subject, values: Float[Array, " p"]) -> Subject:
        """Return the subject with these values of all parameters; a pure function of JAX."""
        bodies: list[int] = []
        parts: list[tuple[Array, Array, Array]] = []
        for group in self._groups:
            value = values[group.start : group.start + group.size]
            if group.apply is not None:
                subject = group.apply(subject, value[0])
            elif group.body >= 0:
                bodies.append(group.body)
                parts.append(inertial.physical(group.nominal, value))
            else:
                for leaf, sign in group.leaves:
                    nominal = leaf.get(self._nominal)
                    changed = (
                        nominal * value[0] if group.factor else sign * value.reshape(nominal.shape)
                    )
                    subject = leaf.set(subject, changed)
        if not bodies:
            return subject
        mass, shift, inertia = (jnp.stack(part) for part in zip(*parts, strict=True))
        return inertial.with_inertias(subject, np.array(bodies), mass, shift, inertia)


def _groups(
    parameter: Parameter, subject: Subject, start: int, scalars: list[Scalar]
) -> list[_Group]:
    """Return the groups of a parameter, and add its scalars to those known."""
    if parameter.apply is not None:
        name = parameter.path if isinstance(parameter.path, str) else parameter.path[0]
        scalars.append(_scalar(parameter, name, float(parameter.initial or 0.0)))
        return [_Group(start, 1, apply=parameter.apply)]
    paths = (parameter.path,) if isinstance(parameter.path, str) else parameter.path
    all_leaves = [
        (leaf, -1.0 if path.startswith("-") else 1.0)
        for path in paths
        for leaf in resolve(subject, path.removeprefix("-"), VIRTUAL)
    ]
    together = parameter.shared or not isinstance(parameter.path, str)
    if any(leaf.leaf == "inertial" for leaf, _ in all_leaves):
        return _inertial_groups(parameter, subject, all_leaves, together, scalars)
    groups = []
    for leaves in [all_leaves] if together else [[entry] for entry in all_leaves]:
        first, sign = leaves[0]
        nominal = np.asarray(first.get(subject), float)
        count = 1 if parameter.factor else nominal.size
        values = np.ones(1) if parameter.factor else sign * nominal.reshape(-1)
        begin = len(scalars)
        for index, value in enumerate(values):
            name = first.path + (f"[{index}]" if count > 1 else "")
            if len(leaves) > 1:
                name += f" (and {len(leaves) - 1} alike)"
            scalars.append(_scalar(parameter, name, float(value)))
        groups.append(_Group(begin, count, tuple(leaves), parameter.factor))
    return groups


def _inertial_groups(
    parameter: Parameter,
    subject: Subject,
    leaves: list[tuple[Leaf, float]],
    together: bool,
    scalars: list[Scalar],
) -> list[_Group]:
    topology = subject.model.topology
    bodies = [leaf.row for leaf, _ in leaves if leaf.row is not None and topology.free[leaf.row]]
    if not bodies:
        raise ValueError(f"{parameter.path}: all bodies it names are fixed")
    components = range(10)
    if leaves[0][0].component is not None:
        raise ValueError(f"{parameter.path}: the ten numbers of inertial are identified together")
    parameter = replace(parameter, initial=0.0, scale=parameter.scale or parameter.prior or 0.1)
    groups = []
    for place, body in enumerate(bodies):
        begin = len(scalars) if place == 0 or not together else groups[0].start
        if begin == len(scalars):
            for part in components:
                name = f'bodies["{topology.bodies[body]}"].inertial.{inertial.LABELS[part]}'
                scalars.append(_scalar(parameter, name, 0.0))
        nominal = inertial.nominal_factor(subject.model, body)
        groups.append(_Group(begin, 10, body=body, nominal=nominal))
    return groups


def _scalar(parameter: Parameter, name: str, nominal: float) -> Scalar:
    initial = nominal if parameter.initial is None else parameter.initial
    if not parameter.lower <= initial <= parameter.upper:
        raise ValueError(
            f"{name}: the model's value {initial:g} lies outside {parameter.lower:g} … "
            f"{parameter.upper:g}: give initial="
        )
    if not np.isfinite(initial):
        raise ValueError(f"{name} is {initial}: give initial= a finite value to start from")
    width = parameter.upper - parameter.lower
    scale = parameter.scale or parameter.prior or (0.1 * width if np.isfinite(width) else 0.0)
    scale = scale or 0.1 * abs(initial) or 0.1
    prior = np.inf if parameter.prior is None else parameter.prior
    return Scalar(
        name, initial, parameter.lower, parameter.upper, prior, scale, parameter.per_sequence
    )


def inertial_of(name: str = "*", prior: float | None = 0.3) -> Parameter:
    """Return the ten inertial numbers of the bodies of this name (``*``: of all that move).

    Args:
        name: of a body; ``*`` and ``?`` match any letters.
        prior: standard deviation of each of the ten numbers about the nominal body: 0.3 is about
            60 % of a mass, 0.3 radii of gyration of its centre. None: no prior.
    """
    return Parameter(f'bodies["{name}"].inertial', prior=prior)
