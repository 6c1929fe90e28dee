"""First Piola–Kirchhoff stresses of elastic laws, by the formulas of the papers that name them."""

import numpy as np
from scipy.linalg import polar


def stress(name: str, f: np.ndarray, mu: float, lam: float) -> np.ndarray:
    """Return the first Piola–Kirchhoff stress of a deformation without inversion [Pa].

    Args:
        name: name of the law.
        f: deformation gradient (3 × 3).
        mu: Lamé's second constant, the shear modulus [Pa].
        lam: Lamé's first constant [Pa].
    """
    if name == "corotational":
        r, s = polar(f)
        return 2 * mu * (f - r) + lam * np.trace(s - np.eye(3)) * r
    if name == "st-venant-kirchhoff":
        strain = 0.5 * (f.T @ f - np.eye(3))
        return f @ (2 * mu * strain + lam * np.trace(strain) * np.eye(3))
    a, b = 4 / 3 * mu, lam + 5 / 6 * mu
    alpha = 1 + a / b - a / (4 * b)
    cofactor = np.linalg.det(f) * np.linalg.inv(f).T
    return a * (1 - 1 / (np.sum(f * f) + 1)) * f + b * (np.linalg.det(f) - alpha) * cofactor
