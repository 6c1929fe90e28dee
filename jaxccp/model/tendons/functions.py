"""Functions that users give to tendons: force laws, and lengths as functions of time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial
from jaxtyping import Array, Float

ForceLaw = Callable[[Array, Array, Array], Array]
"""A function of length, rate and time that returns the force along a tendon [N, N m]; scalars."""
LengthOfTime = Callable[[Array], Array]
"""A function of time that returns a length; scalars."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Functions:
    """The user's functions of some of the tendons.

    Functions that differ only in their parameters form a group, which is evaluated at once under
    ``vmap``. Parameters are numbers of the model and can be differentiated.
    """

    groups: tuple[Callable, ...] = ()
    """One function for each group; its parameters have a leading axis over the group's tendons."""
    tendons: tuple[tuple[int, ...], ...] = field(default=(), metadata={"static": True})
    """Indices of the tendons of each group."""

    @property
    def index(self) -> np.ndarray:
        """The tendons that have a function, in ascending order."""
        return np.array(sorted(i for group in self.tendons for i in group), np.int32)

    def put(self, into: Array, evaluate: Callable, *tables: Array) -> Array:
        """Return ``into`` with a new row for each tendon that has a function.

        Args:
            into: a table with one row per tendon.
            evaluate: called as ``evaluate(function, *values)``; returns the new row.
            tables: tables with one row per tendon, whose rows are the ``values``.
        """
        for function, members in zip(self.groups, self.tendons, strict=True):
            rows = np.array(members, np.int32)
            values = (table[rows] for table in tables)
            results = jax.vmap(evaluate, axis_size=len(rows))(function, *values)
            into = into.at[rows].set(results.astype(into.dtype))
        return into


def grouped(functions: Mapping[int, Callable]) -> Functions:
    """Return the given functions in groups; their parameters get JAX's current default precision.

    Args:
        functions: the function of each tendon that has one, by the tendon's index.
    """
    leaves, trees, groups = {}, {}, {}
    for tendon, function in functions.items():
        values, tree = jax.tree.flatten(as_pytree(function))
        leaves[tendon] = [
            jnp.asarray(float(value) if type(value) is int else value) for value in values
        ]
        key = (tree, tuple((value.shape, value.dtype) for value in leaves[tendon]))
        trees.setdefault(key, tree)
        groups.setdefault(key, []).append(tendon)
    stacked = [
        jax.tree.unflatten(
            trees[key],
            [jnp.stack(parts) for parts in zip(*(leaves[t] for t in members), strict=True)],
        )
        for key, members in groups.items()
    ]
    return Functions(tuple(stacked), tuple(tuple(members) for members in groups.values()))


def as_pytree(function: Callable) -> Callable:
    """Return ``function`` as a pytree whose leaves are its parameters.

    A plain function has no parameters. Those of a ``jax.tree_util.Partial``, or of any other
    callable that is a pytree, are its leaves.
    """
    leaves = jax.tree.leaves(function)
    plain = len(leaves) == 1 and leaves[0] is function
    return Partial(function) if plain else function


def check_function(label: str, function: object, arguments: int) -> None:
    """Check a function from the user by tracing it.

    Args:
        label: beginning of the error message.
        function: the value that the user has given.
        arguments: the number of scalars that it must accept.

    Raises:
        ValueError: the function cannot be called or traced, or does not return a single number.
    """
    if not callable(function):
        raise ValueError(f"{label} must be a function, not {function!r}")
    scalar = jax.ShapeDtypeStruct((), jnp.zeros(()).dtype)
    try:
        made = jax.eval_shape(function, *(scalar,) * arguments)
    except Exception as error:
        raise ValueError(
            f"{label} must be a function of {arguments} scalar{'s' * (arguments > 1)} that JAX can "
            f"trace (jax.numpy in place of numpy and math, jnp.where in place of if): {error}"
        ) from error
    if getattr(made, "shape", None) != () or not jnp.issubdtype(made.dtype, jnp.floating):
        raise ValueError(f"{label} must give one number, not {made}")


def force_and_slopes(
    laws: Functions, length: Float[Array, " nt"], rate: Float[Array, " nt"], time: Array
) -> Float[Array, "nt 3"]:
    """Return the force along each tendon by its law, and its derivatives by length and rate.

    Args:
        laws: force laws of some tendons; all others have force 0.
        length: length of each tendon [m, rad].
        rate: rate of each tendon's length [m/s, rad/s].
        time: [s].
    """

    def evaluate(law: ForceLaw, x: Array, v: Array) -> Array:
        def force(x: Array, v: Array) -> Array:
            return jnp.asarray(law(x, v, time), x.dtype)

        value, slopes = jax.value_and_grad(force, (0, 1))(x, v)
        return jnp.stack([value, *slopes])

    return laws.put(jnp.zeros((length.shape[0], 3), length.dtype), evaluate, length, rate)


def imposed(
    motions: Functions, length: Float[Array, " nt"], time: Float[Array, ""]
) -> Float[Array, " nt"]:
    """Return the imposed lengths of tendons [m, rad] at a time; constants for tendons without a
    function.

    Args:
        motions: lengths of some tendons as functions of time.
        length: the constant of each tendon [m, rad].
        time: the time [s].
    """
    return motions.put(length, lambda motion: jnp.asarray(motion(time)))
