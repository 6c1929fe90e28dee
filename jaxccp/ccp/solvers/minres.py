"""MINRES on the saddle system of bodies and constraints."""

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.ccp.cones import ConeType
from jaxccp.ccp.methods.linear_problem import require_equalities
from jaxccp.ccp.problem import Law, Problem
from jaxccp.ccp.solver import Solver, Task
from jaxccp.math import safe


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _Vector:
    """Velocities of the bodies and multipliers, scaled so that √ρ N √ρ has a diagonal near 1."""

    bodies: Float[Array, "..."]
    """Whitened velocities."""
    rows: Float[Array, " n"]
    """Multipliers divided by √ρ."""

    def plus(self, factor: Array | float, vector: "_Vector") -> "_Vector":
        return _Vector(self.bodies + factor * vector.bodies, self.rows + factor * vector.rows)

    def divided_by(self, divisor: Array) -> "_Vector":
        inverse = safe.divide(jnp.ones_like(divisor), divisor)
        return _Vector(inverse * self.bodies, inverse * self.rows)

    def dot(self, vector: "_Vector") -> Float[Array, ""]:
        return jnp.sum(self.bodies * vector.bodies) + self.rows @ vector.rows


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class _State:
    x: _Vector
    """The iterate."""
    n_lam: Float[Array, " n"]
    """N λ [m/s]."""
    v_before: _Vector
    """The Lanczos vector before the last."""
    v: _Vector
    """The last Lanczos vector."""
    w_before: _Vector
    """The search direction before the last."""
    w: _Vector
    """The last search direction."""
    beta: Float[Array, ""]
    """Subdiagonal entry of the tridiagonal matrix."""
    eta: Float[Array, ""]
    """Norm of the residual, with a sign."""
    cosines: tuple[Array, Array]
    """Cosines of the last two Givens rotations, the older one first."""
    sines: tuple[Array, Array]
    """Sines of the last two Givens rotations, the older one first."""


@dataclass(frozen=True)
class MINRES(Solver):
    """MINRES on the saddle-point system of velocities and multipliers, for problems of equality
    rows only.

        [ −I  Wᵀ ] [ y ]   [  0 ]
        [  W  E  ] [ λ ] = [ −r ]

    y = Wᵀ λ are the changes of the whitened velocities. N = W Wᵀ + E is never formed. Where E = 0,
    each eigenvalue x of √ρ N √ρ becomes the two eigenvalues (−1 ± √(1 + 4 x)) / 2 of the scaled
    matrix. Paige & Saunders, SIAM J. Numer. Anal. 12 (1975), in the form of Elman, Silvester &
    Wathen, *Finite Elements and Fast Iterative Solvers*, algorithm 2.4; the rows and columns of λ
    are scaled by √ρ. It does not accept contacts or rows with bounds.
    """

    laws: ClassVar[tuple[Law, ...]] = ("ccp", "ncp")
    cone_types: ClassVar[tuple[ConeType, ...]] = ()

    def resolve(self, problem: Problem, law: Law) -> Solver:
        require_equalities("MINRES", problem)
        if problem.delassus.split() is None:
            raise ValueError(
                "MINRES solves for velocities too and needs N = W Wᵀ + E as factors, such as a "
                "BodyDelassus; this problem is iterated on with a "
                f"{type(problem.delassus).__name__}: use CG"
            )
        return self

    def _apply(self, task: Task, x: _Vector) -> _Vector:
        """Return the product of the scaled saddle-point matrix with ``x``."""
        delassus, root = task.problem.delassus.split(), jnp.sqrt(task.rho)
        assert delassus is not None
        lam = root * x.rows
        return _Vector(
            delassus.impulse(lam) - x.bodies,
            root * (delassus.velocity(x.bodies) + delassus.compliance * lam),
        )

    def init(self, task: Task, lam: Array, n_lam: Array) -> _State:
        root, delassus = jnp.sqrt(task.rho), task.problem.delassus.split()
        assert delassus is not None
        x = _Vector(delassus.impulse(lam), lam / root)
        residual = _Vector(jnp.zeros_like(x.bodies), -root * (n_lam + task.problem.r))
        beta = jnp.sqrt(residual.dot(residual))
        zero = jax.tree.map(jnp.zeros_like, x)
        unit, none = jnp.ones_like(beta), jnp.zeros_like(beta)
        return _State(
            x=x,
            n_lam=n_lam,
            v_before=zero,
            v=residual.divided_by(beta),
            w_before=zero,
            w=zero,
            beta=beta,
            eta=beta,
            cosines=(unit, unit),
            sines=(none, none),
        )

    def step(self, task: Task, state: _State) -> _State:
        (c0, c1), (s0, s1), beta = state.cosines, state.sines, state.beta
        image = self._apply(task, state.v)
        alpha = image.dot(state.v)
        following = image.plus(-alpha, state.v).plus(-beta, state.v_before)
        after = jnp.sqrt(following.dot(following))
        # The column of the tridiagonal matrix, turned by the two rotations before.
        delta = c1 * alpha - c0 * s1 * beta
        diagonal = jnp.hypot(delta, after)
        cosine, sine = safe.divide(delta, diagonal), safe.divide(after, diagonal)
        w = state.v.plus(-s0 * beta, state.w_before).plus(-(s1 * alpha + c0 * c1 * beta), state.w)
        w = w.divided_by(diagonal)
        x = state.x.plus(cosine * state.eta, w)
        n_lam = task.problem.delassus.apply(jnp.sqrt(task.rho) * x.rows)
        return _State(
            x=x,
            n_lam=n_lam,
            v_before=state.v,
            v=following.divided_by(after),
            w_before=state.w,
            w=w,
            beta=after,
            eta=-sine * state.eta,
            cosines=(c1, cosine),
            sines=(s1, sine),
        )

    def candidate(self, task: Task, state: _State) -> tuple[Array, Array]:
        return jnp.sqrt(task.rho) * state.x.rows, state.n_lam

    def done(self, task: Task, state: _State) -> Bool[Array, ""]:
        """Return whether the Krylov space is exhausted; a residual that remains then comes from
        rows that contradict each other.

        Args:
            task: the problem.
            state: the state.
        """
        eps = jnp.finfo(state.eta.dtype).eps
        first = jnp.linalg.norm(jnp.sqrt(task.rho) * task.problem.r)
        return (jnp.abs(state.eta) <= 10 * eps * first) | (state.beta <= eps)
