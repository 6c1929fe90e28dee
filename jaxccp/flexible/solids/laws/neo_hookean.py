"""Stable neo-Hookean elasticity, finite for inverted elements too."""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float

from jaxccp.flexible.solids.hyperelastic import Hyperelastic
from jaxccp.math import linear3


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class NeoHookean(Hyperelastic):
    """The energy Ψ = a/2 (‖F‖² − 3) + b/2 (J − c)² − a/2 log(‖F‖² + 1), less its value at rest; J =
    det F.

    Smith, de Goes & Kim, Stable neo-Hookean flesh simulation, ACM Trans. Graph. 37 (2018), eq. 14.
    It is Hooke's law at rest with a = 4/3 μ, b = λ + 5/6 μ and c = 1 + 3/4 a/b (section 3.4 there).
    Finite and smooth for every F, inverted ones included.
    """

    def density(self, y: Float[Array, "3 3"]) -> Float[Array, ""]:
        a, b = 4.0 / 3.0 * self.mu, self.lam + 5.0 / 6.0 * self.mu
        square = jnp.sum(y**2)
        grown = linear3.determinant(y) - 1.0
        # b/2 (J − c)² without its constant.
        bulk = 0.5 * b * grown**2 - 0.75 * a * grown
        return 0.5 * a * (square - 3.0 - jnp.log(0.25 * (square + 1.0))) + bulk
