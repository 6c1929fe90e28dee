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

BILATERAL = (bilateral, tendon)
"""Families of equality rows that forbid motion: joints and tendons of given length."""
COORDINATE = (spring, lower, upper, ball, friction, servo)
"""Families of rows along coordinates, in the order of the multipliers, which follow those of
:data:`BILATERAL`. The number of all rows is :attr:`jaxccp.model.linkage.Linkage.rows`."""


def scalar_rows(step: Step) -> Rows:
    """Return the rows of all families: those of :data:`BILATERAL`, then those of
    :data:`COORDINATE`."""
    return _joined(step, BILATERAL + COORDINATE)


def bilateral_rows(step: Step) -> Rows:
    """Return the rows of joints and of tendons of given length."""
    return _joined(step, BILATERAL)


def coordinate_rows(step: Step) -> Rows:
    """Return the rows along axes and tendons: springs, limits, dry friction and servos."""
    return _joined(step, COORDINATE)


def _joined(step: Step, families_: tuple[Callable[[Step], Rows], ...]) -> Rows:
    parts_ = [rows(step) for rows in families_]
    width = max(rows.bodies.shape[1] for rows in parts_)
    parts_ = [rows.widened(width) for rows in parts_]
    return jax.tree.map(lambda *parts: jnp.concatenate(parts), *parts_)
