"""Options of the commands and what is said of them; nothing here imports JAX."""

from jaxccp.cli.commands.identify import identify
from jaxccp.cli.commands.simulate import simulate
from jaxccp.cli.commands.solve import solve

__all__ = ["identify", "simulate", "solve"]
