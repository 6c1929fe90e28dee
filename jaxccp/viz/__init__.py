"""Pictures of what was simulated; needs matplotlib: ``pip install 'jaxccp[viz]'``."""

from jaxccp.viz.picture import picture

__all__ = ["picture"]
