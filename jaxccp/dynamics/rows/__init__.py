"""Scalar rows of the problem by family, one file each; a new one is a file and a line here."""

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

FORBIDDING = (bilateral, tendon)
ACTING = (spring, lower, upper, ball, friction, servo)
"""In the order of the multipliers, after those that forbid motion; how many there are is for
:attr:`jaxccp.model.linkage.Linkage.rows` to know."""


def scalar_rows(step: Step) -> Rows:
    """Return the rows of all families of rows."""
    return _joined(step, FORBIDDING + ACTING)


def forbidding_rows(step: Step) -> Rows:
    """Return the rows of the families of rows that forbid motion."""
    return _joined(step, FORBIDDING)


def acting_rows(step: Step) -> Rows:
    """Return the rows of the families of rows that act along coordinates and forbid no motion."""
    return _joined(step, ACTING)


def _joined(step: Step, every: tuple[Callable[[Step], Rows], ...]) -> Rows:
    families = [rows(step) for rows in every]
    width = max(rows.bodies.shape[1] for rows in families)
    families = [rows.widened(width) for rows in families]
    return jax.tree.map(lambda *parts: jnp.concatenate(parts), *families)
