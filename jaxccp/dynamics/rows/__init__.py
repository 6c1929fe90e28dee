"""Scalar rows of the problem by family, one file each; a new one is a file and a line here."""

import jax
import jax.numpy as jnp

from jaxccp.dynamics.rows.friction import friction
from jaxccp.dynamics.rows.held import held
from jaxccp.dynamics.rows.limit import ball, lower, upper
from jaxccp.dynamics.rows.row import Rows, Step
from jaxccp.dynamics.rows.servo import servo
from jaxccp.dynamics.rows.spring import spring
from jaxccp.dynamics.rows.tendon import tendon

ROWS = (held, tendon, spring, lower, upper, ball, friction, servo)
"""In the order of the multipliers; how many there are is for
:attr:`jaxccp.model.linkage.Linkage.rows` to know."""


def scalar_rows(step: Step) -> Rows:
    """Those of all families."""
    families = [rows(step) for rows in ROWS]
    width = max(rows.bodies.shape[1] for rows in families)
    families = [rows.widened(width) for rows in families]
    return jax.tree.map(lambda *parts: jnp.concatenate(parts), *families)
