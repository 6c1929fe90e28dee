"""Scalar rows of the problem by family, one file each."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

from jaxccp.dynamics.rows.bilateral import bilateral
from jaxccp.dynamics.rows.friction import friction
from jaxccp.dynamics.rows.limit import ball, lower, upper
from jaxccp.dynamics.rows.row import Rows, Step
from jaxccp.dynamics.rows.servo import servo
from jaxccp.dynamics.rows.spring import spring
from jaxccp.dynamics.rows.tendon_length import tendon
from jaxccp.model.row_order import FAMILIES

ROWS: dict[str, Callable[[Step], Rows]] = {
    "joint": bilateral,
    "tendon": tendon,
    "spring": spring,
    "lower": lower,
    "upper": upper,
    "ball": ball,
    "friction": friction,
    "servo": servo,
}
"""Function that makes the rows of each family of :data:`jaxccp.model.row_order.FAMILIES`."""


def scalar_rows(step: Step) -> Rows:
    """Return the rows of all families in their order."""
    return _joined(step, list(FAMILIES))


def bilateral_rows(step: Step) -> Rows:
    """Return the rows of joints and of tendons of given length."""
    return _joined(step, [name for name, family in FAMILIES.items() if family.bilateral])


def coordinate_rows(step: Step) -> Rows:
    """Return the rows along axes and tendons: springs, limits, dry friction and servos."""
    return _joined(step, [name for name, family in FAMILIES.items() if not family.bilateral])


def _joined(step: Step, families: list[str]) -> Rows:
    parts_ = [ROWS[name](step) for name in families]
    width = max(rows.bodies.shape[1] for rows in parts_)
    parts_ = [rows.widened(width) for rows in parts_]
    # Joined with an empty array that is batched, constant Jacobians would be batched as well.
    parts_ = [rows for rows in parts_ if len(rows.bias)] or parts_[:1]
    return jax.tree.map(lambda *parts: jnp.concatenate(parts), *parts_)
