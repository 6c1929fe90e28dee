"""Laws of elastic solids by name. To add one, write a file and add it here."""

from jaxccp.flexible.solids.hyperelastic import Hyperelastic
from jaxccp.flexible.solids.laws.corotational import Corotational
from jaxccp.flexible.solids.laws.neo_hookean import NeoHookean
from jaxccp.flexible.solids.laws.st_venant_kirchhoff import StVenantKirchhoff

LAWS: dict[str, type[Hyperelastic]] = {
    "corotational": Corotational,
    "neo-hookean": NeoHookean,
    "st-venant-kirchhoff": StVenantKirchhoff,
}
