"""Options and help texts of the commands; nothing here imports JAX."""

from jaxccp.cli.commands.check_gradients_command import check_gradients
from jaxccp.cli.commands.excite_command import excite
from jaxccp.cli.commands.identify_command import identify
from jaxccp.cli.commands.simulate_command import simulate
from jaxccp.cli.commands.solve_command import solve
from jaxccp.cli.commands.view_command import view

__all__ = ["check_gradients", "excite", "identify", "simulate", "solve", "view"]
