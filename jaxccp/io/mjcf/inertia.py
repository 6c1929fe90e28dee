"""Mass, centre of mass and inertia of several rigid parts together."""

import numpy as np
from jaxtyping import Float


def combined(
    mass: Float[np.ndarray, " n"],
    centres: Float[np.ndarray, "n 3"],
    inertias: Float[np.ndarray, "n 3 3"],
) -> tuple[float, Float[np.ndarray, "3"], Float[np.ndarray, "3 3"]]:
    """Return the mass [kg], centre of mass [m] and inertia about it [kg m²] of n rigid parts.

    Args:
        mass: masses [kg]; if they are all 0, the centre is the origin.
        centres: centres of mass [m].
        inertias: inertias about the centres of mass [kg m²].
    """
    total = float(mass.sum())
    centre = mass @ centres / (total if total > 0 else 1.0)
    arms = centres - centre
    products = arms[:, :, None] * arms[:, None, :]
    spread = np.trace(products, axis1=1, axis2=2)[:, None, None] * np.eye(3) - products
    inertia = np.sum(inertias + mass[:, None, None] * spread, axis=0)
    return total, centre, 0.5 * (inertia + inertia.T)
