"""Parameters: named numbers of a model that a fit may change, with bounds and priors."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.identify.parameters import inertial
from jaxccp.identify.parameters.overlaps import check_overlaps
from jaxccp.identify.parameters.paths import Leaf, resolve
from jaxccp.identify.subject import Subject

VIRTUAL = (("bodies", "inertial"),)
"""Paths that do not name an array of the model but functions of several of its arrays."""


@dataclass(frozen=True)
class Parameter:
    """A number to identify, or several: a path with wildcards is one parameter for each matching
    row.

    Raises ``ValueError`` if ``lower`` is not below ``upper``, the bounds exclude the initial value,
    the prior is not positive, or ``apply`` comes without ``initial``.
    """

    path: str | tuple[str, ...]
    """Path of a number (:mod:`jaxccp.identify.parameters.paths`), or paths of several numbers that
    share one value. A path that begins with ``-`` has the value with the opposite sign, for
    mirrored limbs."""
    initial: float | None = None
    """Initial value; None: the model's, or 1 for a factor. Inertial numbers always start at 0."""
    lower: float = -np.inf
    """Lower bound."""
    upper: float = np.inf
    """Upper bound."""
    prior: float | None = None
    """Standard deviation of a normal prior around ``initial``; None: no prior."""
    factor: bool = False
    """Whether the value multiplies the model's number instead of replacing it."""
    shared: bool = False
    """Whether all rows that match the path share one parameter."""
    per_sequence: bool = False
    """Whether each recording has its own value."""
    scale: float | None = None
    """Typical change, the unit of the first steps; None: taken from prior, bounds or value."""
    apply: Callable[[Subject, Array], Subject] | None = None
    """Your own function that takes a subject and the value and returns a subject; the path then
    only names the parameter."""

    def __post_init__(self) -> None:
        if not self.lower < self.upper:
            raise ValueError(f"{self.path}: lower {self.lower} must be below upper {self.upper}")
        if self.initial is not None and not self.lower <= self.initial <= self.upper:
            raise ValueError(
                f"{self.path}: initial = {self.initial} lies outside {self.lower} … {self.upper}"
            )
        for name in ("prior", "scale"):
            value = getattr(self, name)
            if value is not None and not 0 < value < np.inf:
                raise ValueError(f"{self.path}: {name} must be > 0, or None, not {value!r}")
        if self.apply is not None and self.initial is None:
            raise ValueError(f"{self.path}: a parameter with apply= needs initial=")


@dataclass(frozen=True)
class Scalar:
    """One component of the vector of parameters."""

    name: str
    """Name of the parameter."""
    initial: float
    """Initial value."""
    lower: float
    """Lower bound."""
    upper: float
    """Upper bound."""
    prior: float
    """Standard deviation of the prior; infinite without one."""
    scale: float
    """Typical change."""
    per_sequence: bool
    """Whether it is the value of a single recording."""
    is_number: bool
    """Whether it is a number of the model, not a factor nor a value for the user's function."""


@dataclass(frozen=True)
class _Group:
    """Scalars that are applied together: numbers of leaves, the ten inertial parameters of a body,
    or a function of the user."""

    start: int
    size: int
    leaves: tuple[tuple[Leaf, float], ...] = ()
    """Leaves of the model that get the value, each with its sign; mass and inertia of the body."""
    factor: bool = False
    body: int = -1
    nominal: np.ndarray = field(default_factory=lambda: np.zeros((4, 4)))
    apply: Callable[[Subject, Array], Subject] | None = None


class ParameterSet:
    """The vector θ of all parameters of a problem, and its effect on a subject."""

    def __init__(self, parameters: Sequence[Parameter], subject: Subject) -> None:
        """Find the parameters in a subject.

        Raises:
            ValueError: a path names nothing or fixed bodies alone, two parameters have the same
                name or set the same number, there are none, an inertia has no factor, inertial
                shares a value with other numbers, - stands before it or before a factor, or a bound
                excludes a value.
        """
        scalars: list[Scalar] = []
        groups: list[_Group] = []
        for parameter in parameters:
            groups += _groups(parameter, subject, len(scalars), scalars)
        names = [scalar.name for scalar in scalars]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise ValueError(f"parameters are listed twice: {', '.join(twice)}")
        if not names:
            raise ValueError("there are no parameters to identify")
        check_overlaps((scalars[g.start].name, [leaf for leaf, _ in g.leaves]) for g in groups)
        self.scalars = tuple(scalars)
        self._groups = tuple(groups)
        self._nominal = subject

    @property
    def names(self) -> tuple[str, ...]:
        """Name of each number."""
        return tuple(scalar.name for scalar in self.scalars)

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """Return all leaves of the model that parameters change."""
        return tuple(leaf for group in self._groups for leaf, _ in group.leaves)

    def bounds(self, root: str, leaf: str = "") -> dict[int | None, tuple[float, float]]:
        """Return the smallest and largest value that parameters can give to a leaf of the model.

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
        """Return one field of all scalars as an array, such as ``lower``."""
        return np.array([getattr(scalar, name) for scalar in self.scalars])

    def __len__(self) -> int:
        return len(self.scalars)

    def apply(self, subject: Subject, values: Float[Array, " p"]) -> Subject:
        """Return the subject with given values of all parameters; a pure function of JAX."""
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
    """Return the groups of a parameter, and append its scalars to ``scalars``."""
    if parameter.apply is not None:
        name = parameter.path if isinstance(parameter.path, str) else parameter.path[0]
        scalars.append(_scalar(parameter, name, float(parameter.initial or 0.0)))
        return [_Group(start, 1, apply=parameter.apply)]
    paths = (parameter.path,) if isinstance(parameter.path, str) else parameter.path
    all_leaves = [
        (leaf, -1.0 if path.startswith("-") else 1.0)
        for path in paths
        for leaf in resolve(subject, path.removeprefix("-"), VIRTUAL)
        if leaf.root != "bodies" or subject.model.topology.free[leaf.row]
    ]
    if not all_leaves:
        raise ValueError(f"{parameter.path}: all bodies it names are fixed")
    if parameter.factor and any(sign < 0 for _, sign in all_leaves):
        raise ValueError(f"{parameter.path}: factors keep the signs of numbers: leave out the -")
    together = parameter.shared or not isinstance(parameter.path, str)
    if any(leaf.leaf == "inertial" for leaf, _ in all_leaves):
        return _inertial_groups(parameter, subject, all_leaves, together, scalars)
    groups = []
    for leaves in [all_leaves] if together else [[entry] for entry in all_leaves]:
        first, sign = leaves[0]
        inertias = [x.path for x, _ in leaves if (x.root, x.leaf) == ("bodies", "inertia")]
        if inertias and not parameter.factor:
            raise ValueError(
                f"{inertias[0]}: its nine numbers alone would make no physical inertia: take "
                f"{inertias[0]}l, or factor=True"
            )
        values = np.ones(1) if parameter.factor else sign * np.ravel(first.get(subject))
        begin = len(scalars)
        for index, value in enumerate(values):
            name = first.path + (f"[{index}]" if len(values) > 1 else "")
            if len(leaves) > 1:
                name += f" (and {len(leaves) - 1} alike)"
            scalars.append(_scalar(parameter, name, float(value)))
        groups.append(_Group(begin, len(values), tuple(leaves), parameter.factor))
    return groups


def _inertial_groups(
    parameter: Parameter,
    subject: Subject,
    leaves: list[tuple[Leaf, float]],
    together: bool,
    scalars: list[Scalar],
) -> list[_Group]:
    topology = subject.model.topology
    if any(leaf.leaf != "inertial" or sign < 0 for leaf, sign in leaves):
        raise ValueError(
            f"{parameter.path}: inertial is shared with inertial of other bodies alone, without a "
            "-: give other paths parameters of their own"
        )
    bodies = [leaf.row for leaf, _ in leaves if leaf.row is not None]
    if leaves[0][0].component is not None:
        raise ValueError(f"{parameter.path}: the ten numbers of inertial are identified together")
    parameter = replace(parameter, initial=0.0, scale=parameter.scale or parameter.prior or 0.1)
    groups = []
    for place, body in enumerate(bodies):
        begin = len(scalars) if place == 0 or not together else groups[0].start
        if begin == len(scalars):
            for label in inertial.LABELS:
                name = f'bodies["{topology.bodies[body]}"].inertial.{label}'
                scalars.append(_scalar(parameter, name, 0.0))
        nominal = inertial.nominal_factor(subject.model, body)
        own = [resolve(subject, f"bodies[{body}].{x}")[0] for x in ("mass", "inertia")]
        groups.append(_Group(begin, 10, tuple((leaf, 1.0) for leaf in own), False, body, nominal))
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
    ends, is_number = (parameter.lower, parameter.upper), not (parameter.factor or parameter.apply)
    return Scalar(name, initial, *ends, prior, scale, parameter.per_sequence, is_number)
