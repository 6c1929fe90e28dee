"""The derivative of a root that any iteration has found: one linear solve."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
from jax import lax
from jax.core import eval_jaxpr
from jaxtyping import Array, Float

Tree = Any
"""Nested containers of arrays."""
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
        """Return ``root`` with its derivative with respect to all constants, by the implicit
        function theorem.

        Args:
            root: the root, of which no derivative is taken.
            solve: returns the x with linear(x) = y for ``linear`` and y. It is linear in y, can be
                transposed if reverse mode is to work, and refers to no traced array.
        """
        return attach(partial(_slope, self.call, solve), root, self.constants)


@partial(jax.custom_jvp, nondiff_argnums=(0,))
def _attach(slope: Callable, root: Tree, parameters: Tree) -> Tree:
    return root


@_attach.defjvp
def _attach_jvp(slope: Callable, primals: tuple, tangents: tuple):
    root, parameters = primals
    # Through attach again, so that second derivatives include the change of the root.
    root = _attach(slope, root, parameters)
    return root, slope(root, parameters, tangents[1])


def attach(slope: Callable[[Tree, Tree, Tree], Tree], root: Tree, parameters: Tree) -> Tree:
    """Return ``root`` with its derivative with respect to all parameters, in forward and reverse
    mode and of any order.

    Args:
        slope: returns the change of the root for the root, the parameters and their change. It is
            linear in the last one, can be differentiated in the first two, and refers to no traced
            array.
        root: the root, of which no derivative is taken.
        parameters: all that the root depends on.
    """
    return _attach(slope, lax.stop_gradient(root), parameters)


def _slope(call: Callable, solve: Callable, root: Array, constants: list, change: list) -> Array:
    """Return the change of a root of ``call`` for that of the constants."""
    residual = jax.jvp(lambda c: call(root, *c), (constants,), (change,))[1]
    linear = jax.linearize(lambda x: call(x, *constants), root)[1]
    return solve(linear, -residual)
