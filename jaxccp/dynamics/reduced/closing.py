"""What closes loops of joints, and held tendons: equality rows solved for before all others."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Float

from jaxccp.dynamics.inertia import inverse_root
from jaxccp.dynamics.reduced.velocities import Velocities
from jaxccp.dynamics.rows.row import Rows
from jaxccp.math import quaternion, safe
from jaxccp.math.saddle import Saddle
from jaxccp.model.model import Model
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Closing:
    """Rows A of whitened velocities w with A w + b = 0, and the impulses by which they hold."""

    saddle: Saddle
    settled: Float[Array, " m"]
    """Their impulses where nothing else acts."""
    answer: Float[Array, "m n"]
    """And per impulse of each other row."""

    def under(self, whitened: Float[Array, "n v"]) -> tuple["Closing", Float[Array, "n v"]]:
        """Return it with the answer to other rows W, and W P, P = I − A⁺ A, for what they can still
        move."""
        none = jnp.zeros_like(whitened, shape=(len(self.settled), len(whitened)))
        moved, answer = self.saddle.solve(whitened.T, none)
        return replace(self, answer=answer), moved.T

    def impulses(self, lam: Float[Array, " n"]) -> Float[Array, " m"]:
        """Return the impulses of these rows for those of the others."""
        return self.settled + self.answer @ lam


def close(
    model: Model,
    state: State,
    rows: Rows,
    velocities: Velocities,
    free: Float[Array, " nv"],
) -> tuple[Closing, Float[Array, " nv"]]:
    """The rows, given on the bodies, and the whitened velocities nearest to ``free`` at which they
    hold."""
    saddle = closing_saddle(model, state, rows, velocities)
    held, settled = saddle.solve(free[:, None], rows.bias[:, None])
    nothing = jnp.zeros_like(saddle.rows, shape=(len(saddle.rows), 0))
    return Closing(saddle, settled[:, 0], nothing), held[:, 0]


def closing_saddle(model: Model, state: State, rows: Rows, velocities: Velocities) -> Saddle:
    """Rows on the bodies as rows of whitened velocities, measured against what they are on bodies
    that nothing else holds."""
    known, here = lax.stop_gradient((model, state))
    root = inverse_root(known, quaternion.to_matrix(here.quaternion))
    along = velocities.whiten(velocities.along(rows.jacobian[:, :, None], rows.bodies)[:, 0])
    families = along[:, velocities.sizes[0] :]
    scale = safe.norm(jnp.concatenate([rows.whitened(root), families], axis=1))
    return Saddle.of(along, scale)
