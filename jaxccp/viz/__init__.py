"""Pictures of simulations; needs matplotlib: ``pip install 'jaxccp[viz]'``."""

from jaxccp.viz.film import Stage, write_film
from jaxccp.viz.identification import Change, TossPicture, identification_picture
from jaxccp.viz.picture import picture

__all__ = ["Change", "Stage", "TossPicture", "identification_picture", "picture", "write_film"]
