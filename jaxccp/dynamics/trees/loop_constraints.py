"""Rows that close loops and set tendon lengths: equality rows solved for before all others."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jaxtyping import Array, Float

from jaxccp.dynamics.inertia import inverse_root
from jaxccp.dynamics.rows.row import Rows
from jaxccp.dynamics.trees.velocity_space import VelocitySpace
from jaxccp.math import quaternion, safe
from jaxccp.math.saddle import Saddle
from jaxccp.model.kinematics.joint_motion import JointMotion, tree_motion
from jaxccp.model.model import Model
from jaxccp.model.row_order import row_order
from jaxccp.model.state import State


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class LoopConstraints:
    """Equality rows A w + b = 0 on whitened velocities w, and their impulses."""

    saddle: Saddle
    """Factors of A."""
    free_impulses: Float[Array, " m"]
    """Impulses of these rows if no other rows act."""
    response: Float[Array, "m n"]
    """Impulses of these rows per unit impulse of each other row."""

    def project_rows(
        self, whitened: Float[Array, "n v"]
    ) -> tuple["LoopConstraints", Float[Array, "n v"]]:
        """Project other rows on the motions that these rows allow.

        Args:
            whitened: the other rows W.

        Returns:
            These constraints with their response to the other rows; and W P, P = I − A⁺ A.
        """
        no_residual = jnp.zeros_like(whitened, shape=(len(self.free_impulses), len(whitened)))
        projected, response = self.saddle.solve(whitened.T, no_residual)
        return replace(self, response=response), projected.T

    def impulses(self, lam: Float[Array, " n"]) -> Float[Array, " m"]:
        """Return the impulses of these rows for impulses ``lam`` of the other rows."""
        return self.free_impulses + self.response @ lam


def solve_loops(
    model: Model,
    state: State,
    rows: Rows,
    space: VelocitySpace,
    free: Float[Array, " nv"],
) -> tuple[LoopConstraints, Float[Array, " nv"]]:
    """Find the velocities nearest to the free ones, by mass, at which the loop rows hold.

    Args:
        model: the model.
        state: the state.
        rows: the rows, on the bodies.
        space: generalised velocities, with J and L.
        free: whitened velocities without constraints.

    Returns:
        The constraints, and the whitened velocities.
    """
    saddle = loop_saddle(model, state, rows, space)
    velocity, free_impulses = saddle.solve(free[:, None], rows.bias[:, None])
    nothing = jnp.zeros_like(saddle.rows, shape=(len(saddle.rows), 0))
    return LoopConstraints(saddle, free_impulses[:, 0], nothing), velocity[:, 0]


def loop_saddle(model: Model, state: State, rows: Rows, space: VelocitySpace) -> Saddle:
    """Factorise the loop rows, each scaled by its size on bodies without constraints.

    Args:
        model: the model.
        state: the state.
        rows: the rows, on the bodies.
        space: generalised velocities, with J and L.
    """
    fixed_model, fixed_state = lax.stop_gradient((model, state))
    root = inverse_root(fixed_model, quaternion.to_matrix(fixed_state.quaternion))
    rows_ = space.whiten(space.project_rows(rows.jacobian[:, :, None], rows.bodies)[:, 0])
    family_columns = rows_[:, space.sizes[0] :]
    scale = safe.norm(jnp.concatenate([rows.whitened(root), family_columns], axis=1))
    bound = _row_bounds(model, rows, space)
    if bound is not None:
        # Nothing turns the end of a cable about its gradient: of that row rounding remains, which
        # must not be scaled to a row like any other.
        rounding = float(jnp.finfo(scale.dtype).eps) ** 0.5
        scale = jnp.where(scale > rounding * bound, scale, bound)
    return Saddle.of(rows_, scale)


def _row_bounds(model: Model, rows: Rows, space: VelocitySpace) -> Float[Array, " m"] | None:
    """Return an upper bound of the size of each row on families, or None if no row acts on any.

    It is the size of the row times that of the whitened twists of its frames, without the
    cancellation in their product.
    """
    linkage = model.topology.linkage
    linked = np.unique(np.concatenate([linkage.bodies.ravel(), linkage.routing.bodies.ravel()]))
    frames = linked[model.topology.family_frames[linked]]
    if not len(frames):
        return None
    identity = jnp.broadcast_to(jnp.eye(6, dtype=rows.jacobian.dtype), (len(frames), 1, 6, 6))
    twists = space.project_rows(identity, frames[:, None]).reshape(6 * len(frames), -1)
    twists = space.whiten(lax.stop_gradient(twists)).reshape(len(frames), 2, -1)
    sizes = jnp.zeros((len(model.topology.bodies), 2), twists.dtype)
    sizes = sizes.at[frames].set(safe.norm(twists))
    parts = rows.jacobian.reshape(*rows.jacobian.shape[:2], 2, 3)
    return lax.stop_gradient(jnp.sum(safe.norm(parts) * sizes[rows.bodies], axis=(1, 2)))


def loop_errors(model: Model, state: State, h: Array | float = 0.0) -> Float[Array, " m"]:
    """Return the errors of the rows that close loops and set tendon lengths [m, rad].

    Args:
        model: the model.
        state: the pose; its joint coordinates are those of its poses.
        h: time from the clock of ``state`` to that at which tendons have their imposed length [s].
    """
    return loop_errors_at(model, tree_motion(model, state), state.time + h)


def loop_errors_at(model: Model, motion: JointMotion, time: Float[Array, ""]) -> Float[Array, " m"]:
    """Return the errors of the rows that close loops and set tendon lengths [m, rad].

    Args:
        model: the model.
        motion: motion of joints and tendons.
        time: time for which lengths are imposed [s].
    """
    stretch = motion.tendon.length - model.tendons.bilateral_length(time)
    return row_order(model.topology.linkage).loop_row_values(motion.error, stretch)
