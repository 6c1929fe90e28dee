"""The linear system of a step: initial states of segments are eliminated, parameters remain."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import cho_factor, cho_solve


@dataclass(frozen=True)
class Chains:
    """Normal equations of the parameters and of the initial states of n segments, of which
    neighbours may be joined.

    The matrix is block-tridiagonal in the initial states (``diagonal`` and ``coupling``), bordered
    by the parameters.
    """

    diagonal: Float[np.ndarray, "n x x"]
    """Diagonal blocks of each initial state."""
    coupling: Float[np.ndarray, "n x x"]
    """Blocks of each initial state (rows) with that of the next segment; 0 if the two are not
    joined."""
    border: Float[np.ndarray, "n x P"]
    """Blocks of each initial state with the parameters."""
    corner: Float[np.ndarray, "P P"]
    """Block of the parameters: the last of the bordered matrix."""
    gradient: Float[np.ndarray, "n x"]
    """Gradient of the loss with respect to each initial state."""
    corner_gradient: Float[np.ndarray, " P"]
    """Gradient of the loss with respect to the parameters."""

    def reduced(self, damping: float) -> "Reduced":
        """Return the system of the parameters after elimination of the initial states, with
        Marquardt's damping.

        Args:
            damping: number added to each diagonal entry, relative to the entry.
        """
        n, x, _ = self.diagonal.shape
        corner = self.corner + damping * np.diag(np.diag(self.corner))
        if not x:
            return Reduced(self, [], corner, self.corner_gradient)
        factors = []
        slope = self.corner_gradient.copy()
        passed, border, gradient = None, None, None
        for i in range(n):
            damped = self.diagonal[i] + damping * np.diag(np.diag(self.diagonal[i]))
            side, pull = self.border[i], self.gradient[i]
            if passed is not None:
                damped, side, pull = damped - passed, side - border, pull - gradient
            factor = cho_factor(damped + 1e-12 * np.trace(damped) / x * np.eye(x))
            solved = cho_solve(
                factor, np.concatenate([side, pull[:, None], self.coupling[i]], axis=1)
            )
            P = side.shape[1]
            by_side, by_pull, by_next = solved[:, :P], solved[:, P], solved[:, P + 1 :]
            corner = corner - side.T @ by_side
            slope = slope - side.T @ by_pull
            factors.append((by_side, by_pull, by_next, side))
            joined = np.any(self.coupling[i])
            if joined:
                passed = self.coupling[i].T @ by_next
                border = self.coupling[i].T @ by_side
                gradient = self.coupling[i].T @ by_pull
            else:
                passed = border = gradient = None
        return Reduced(self, factors, corner, slope)


@dataclass(frozen=True)
class Reduced:
    """The Schur complement on the parameters, with the factors of the elimination."""

    chains: Chains
    """Normal equations before the elimination."""
    factors: list
    """For each initial state: its dependence on the parameters, its own step, its dependence on the
    next initial state, and its block with the parameters after elimination of those before."""
    corner: Float[np.ndarray, "P P"]
    """Schur complement of the parameters, damped."""
    gradient: Float[np.ndarray, " P"]
    """Gradient of the loss with respect to the parameters, after the elimination."""

    def starts(self, step: Float[np.ndarray, " P"]) -> Float[np.ndarray, "n x"]:
        """Return the changes of all initial states for a change of the parameters."""
        n, x, _ = self.chains.diagonal.shape
        out = np.zeros((n, x))
        if not x:
            return out
        after = np.zeros(x)
        for i in reversed(range(n)):
            by_side, by_pull, by_next, _ = self.factors[i]
            out[i] = -by_pull - by_side @ step - by_next @ after
            after = out[i]
        return out

    def eliminated(self, index: int, rows: Int[np.ndarray, " p"]) -> Float[np.ndarray, "p p"]:
        """Return what elimination of an initial state has taken from the matrix of some parameters.

        Args:
            index: index of the initial state.
            rows: indices of the parameters.
        """
        by_side, _, _, side = self.factors[index]
        return side[:, rows].T @ by_side[:, rows]
