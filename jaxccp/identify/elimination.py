"""The linear system of a step: starts of segments are eliminated, parameters are left."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import cho_factor, cho_solve


@dataclass(frozen=True)
class Chains:
    """Normal equations of parameters and of the starts of n segments, of which neighbours may be
    joined: the Hessian is an arrow with a block-tridiagonal shaft."""

    shaft: Float[np.ndarray, "n x x"]
    """Blocks of each start with itself."""
    coupling: Float[np.ndarray, "n x x"]
    """Blocks of each start (rows) with the next one's; 0 where they are not joined."""
    border: Float[np.ndarray, "n x P"]
    """Blocks of each start with the parameters."""
    corner: Float[np.ndarray, "P P"]
    gradient: Float[np.ndarray, "n x"]
    corner_gradient: Float[np.ndarray, " P"]

    def reduced(self, damping: float) -> "Reduced":
        """Return the system of the parameters alone, damped in Marquardt's way.

        Args:
            damping: what is added to each diagonal entry, relative to it.
        """
        n, x, _ = self.shaft.shape
        corner = self.corner + damping * np.diag(np.diag(self.corner))
        if not x:
            return Reduced(self, [], corner, self.corner_gradient)
        factors = []
        slope = self.corner_gradient.copy()
        diagonal, border, gradient = None, None, None
        for i in range(n):
            damped = self.shaft[i] + damping * np.diag(np.diag(self.shaft[i]))
            side, pull = self.border[i], self.gradient[i]
            if diagonal is not None:
                damped, side, pull = damped - diagonal, side - border, pull - gradient
            factor = cho_factor(damped + 1e-12 * np.trace(damped) / x * np.eye(x))
            solved = cho_solve(
                factor, np.concatenate([side, pull[:, None], self.coupling[i]], axis=1)
            )
            P = side.shape[1]
            by_side, by_pull, by_next = solved[:, :P], solved[:, P], solved[:, P + 1 :]
            corner = corner - side.T @ by_side
            slope = slope - side.T @ by_pull
            factors.append((by_side, by_pull, by_next))
            joined = np.any(self.coupling[i])
            if joined:
                diagonal = self.coupling[i].T @ by_next
                border = self.coupling[i].T @ by_side
                gradient = self.coupling[i].T @ by_pull
            else:
                diagonal = border = gradient = None
        return Reduced(self, factors, corner, slope)


@dataclass(frozen=True)
class Reduced:
    """The Schur complement on the parameters."""

    chains: Chains
    factors: list
    """Of each start: its dependence on the parameters, its own step, and that on the next."""
    corner: Float[np.ndarray, "P P"]
    gradient: Float[np.ndarray, " P"]

    def starts(self, step: Float[np.ndarray, " P"]) -> Float[np.ndarray, "n x"]:
        """Return the change of all starts that belongs to a change of the parameters."""
        n, x, _ = self.chains.shaft.shape
        out = np.zeros((n, x))
        if not x:
            return out
        after = np.zeros(x)
        for i in reversed(range(n)):
            by_side, by_pull, by_next = self.factors[i]
            out[i] = -by_pull - by_side @ step - by_next @ after
            after = out[i]
        return out
