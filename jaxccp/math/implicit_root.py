"""The derivative of a root that any iteration has found: one linear solve."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import jax
from jax import lax
from jax.core import eval_jaxpr
from jaxtyping import Array, Float

Linear = Callable[[Float[Array, " n"]], Float[Array, " n"]]
"""A linear function."""


@dataclass(frozen=True)
class RootFunction:
    """A function whose root is sought, traced once, with all that it depends on as arguments."""

    call: Callable[..., Array]
    """The function of its argument and the constants."""
    constants: list[Array]
    """Arrays that the function refers to, besides its argument."""

    @staticmethod
    def of(function: Callable, like: Float[Array, " n"]) -> "RootFunction":
        """Trace a function and return it with the arrays that it refers to.

        Args:
            function: a function from n numbers to n numbers.
            like: an argument of it.
        """
        closed = jax.make_jaxpr(function)(like)
        call = jax.jit(lambda x, *constants: eval_jaxpr(closed.jaxpr, constants, x)[0])
        return RootFunction(call, closed.consts)

    def without_derivative(self) -> Callable:
        """Return the function with constants that have no derivative, for iterations."""
        constants = [lax.stop_gradient(value) for value in self.constants]
        return lambda x: self.call(x, *constants)

    def with_derivative(
        self, root: Float[Array, " n"], solve: Callable[[Linear, Array], Array]
    ) -> Float[Array, " n"]:
        """Return ``root`` with its derivative by all constants (implicit function theorem).

        Args:
            root: the root, of which no derivative is taken.
            solve: returns the x with linear(x) = y for ``linear`` and y. It is linear in y, can be
                transposed if reverse mode is to work, and refers to no traced array.
        """
        return _attach(self.call, solve, lax.stop_gradient(root), self.constants)


@partial(jax.custom_jvp, nondiff_argnums=(0, 1))
def _attach(call: Callable, solve: Callable, root: Array, constants: list[Array]) -> Array:
    return root


@_attach.defjvp
def _attach_jvp(call: Callable, solve: Callable, primals: tuple, tangents: tuple):
    root, constants = primals
    # Through attach again, so that second derivatives include the change of the root.
    root = _attach(call, solve, root, constants)
    change = jax.jvp(lambda c: call(root, *c), (constants,), (tangents[1],))[1]
    linear = jax.linearize(lambda x: call(x, *constants), root)[1]
    return root, solve(linear, -change)
