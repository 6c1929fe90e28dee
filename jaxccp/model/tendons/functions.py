"""Functions that users give to tendons: force laws, and lengths that are imposed over time."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial
from jaxtyping import Array, Float

ForceLaw = Callable[[Array, Array, Array], Array]
"""From length, rate and time to the force along the tendon [N, N m], all scalars."""
Motion = Callable[[Array], Array]
"""From time to a length, both scalars."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Functions:
    """Functions of some tendons. Those that are the same but for their parameters are one group,
    evaluated at once; parameters are numbers of the model and can be differentiated."""

    groups: tuple[Callable, ...] = ()
    """Each with a leading axis of its tendons on every parameter."""
    tendons: tuple[tuple[int, ...], ...] = field(default=(), metadata={"static": True})
    """Of each group."""

    @property
    def index(self) -> np.ndarray:
        """All tendons that have one."""
        return np.array(sorted(i for group in self.tendons for i in group), np.int32)

    def put(self, into: Array, evaluate: Callable, *tables: Array) -> Array:
        """``into`` with what ``evaluate(function, *values)`` gives in the row of each tendon that
        has a function, for the values in that row of the ``tables``."""
        for function, chosen in zip(self.groups, self.tendons, strict=True):
            rows = np.array(chosen, np.int32)
            values = (table[rows] for table in tables)
            found = jax.vmap(evaluate, axis_size=len(rows))(function, *values)
            into = into.at[rows].set(found.astype(into.dtype))
        return into


def grouped(functions: Mapping[int, Callable]) -> Functions:
    """The table of functions by tendon, in JAX's current default precision."""
    leaves, trees, groups = {}, {}, {}
    for tendon, function in functions.items():
        values, tree = jax.tree.flatten(as_pytree(function))
        leaves[tendon] = [jnp.asarray(value) for value in values]
        key = (tree, tuple((value.shape, value.dtype) for value in leaves[tendon]))
        trees.setdefault(key, tree)
        groups.setdefault(key, []).append(tendon)
    stacked = [
        jax.tree.unflatten(
            trees[key],
            [jnp.stack(parts) for parts in zip(*(leaves[t] for t in chosen), strict=True)],
        )
        for key, chosen in groups.items()
    ]
    return Functions(tuple(stacked), tuple(tuple(chosen) for chosen in groups.values()))


def as_pytree(function: Callable) -> Callable:
    """A plain function has no parameters; a ``jax.tree_util.Partial``, or any other callable that
    is a pytree, has its leaves."""
    plain = jax.tree.leaves(function) == [function]
    return Partial(function) if plain else function


def check_function(label: str, function: object, arguments: int) -> None:
    """Raise ``ValueError`` unless it is a function of that many scalars that gives one."""
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
    """Of each tendon the force and its derivatives by length and rate; 0 where there is no law."""

    def evaluate(law: ForceLaw, x: Array, v: Array) -> Array:
        def force(x: Array, v: Array) -> Array:
            return jnp.asarray(law(x, v, time), x.dtype)

        value, slopes = jax.value_and_grad(force, (0, 1))(x, v)
        return jnp.stack([value, *slopes])

    return laws.put(jnp.zeros((length.shape[0], 3), length.dtype), evaluate, length, rate)


def imposed(
    motions: Functions, length: Float[Array, " nt"], time: Float[Array, ""]
) -> Float[Array, " nt"]:
    """The lengths at which tendons are held: as imposed at ``time``, constant elsewhere."""
    return motions.put(length, lambda motion: jnp.asarray(motion(time)))
