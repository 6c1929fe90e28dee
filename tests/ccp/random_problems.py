"""Random cone problems of every kind with one shape, and Coulomb's law checked in plain numpy.

All kinds have the same bodies and rows, so that one compiled, vmapped solve covers them.
"""

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp.ccp import BodyDelassus, Cones, Problem

BODIES = 8
EQUALITIES, INEQUALITIES, BOXES, CONTACTS = 2, 2, 2, 6
SCALARS = EQUALITIES + INEQUALITIES + BOXES


@dataclass(frozen=True)
class Case:
    """One problem in numpy: a row's 12 numbers are J L of its two bodies, L Lᵀ = M⁻¹."""

    rows: np.ndarray
    bodies: np.ndarray
    compliance: np.ndarray
    r: np.ndarray
    lo: np.ndarray
    hi: np.ndarray
    mu: np.ndarray

    def problem(self, dtype: type = np.float64) -> Problem:
        s = len(self.lo)
        rows, r, compliance, lo, hi, mu = (
            jnp.asarray(x, dtype)
            for x in (self.rows, self.r, self.compliance, self.lo, self.hi, self.mu)
        )
        contacts = (rows[s:].reshape(-1, 3, 12), jnp.asarray(self.bodies[s::3]))
        delassus = BodyDelassus(
            rows[:s], contacts[0], jnp.asarray(self.bodies[:s]), contacts[1], compliance, BODIES
        )
        return Problem(delassus, r, Cones(lo, hi, mu))

    def jacobian(self) -> np.ndarray:
        """Return W over all bodies; the world's columns are zero because its inverse mass is."""
        full = np.zeros((len(self.r), 6 * BODIES))
        for row, values, pair in zip(full, self.rows, self.bodies, strict=True):
            for body, part in zip(pair, values.reshape(2, 6), strict=True):
                row[6 * body : 6 * body + 6] += part
        return full

    def matrix(self) -> np.ndarray:
        jacobian = self.jacobian()
        return jacobian @ jacobian.T + np.diag(self.compliance)


def random_case(
    seed: int, scalars: int = SCALARS, contacts: int = CONTACTS, kind: str = "mixed"
) -> Case:
    """Return a random problem with a solution: r = W v + b, where b is an admissible velocity.

    Args:
        seed: seed of the random numbers.
        scalars: number of scalar rows: equalities, inequalities, boxes.
        contacts: number of contacts of three rows.
        kind: one of ``KINDS``, what the problem is made to show.
    """
    rng = np.random.default_rng([seed, *kind.encode()])
    n, blocks = scalars + 3 * contacts, scalars + contacts
    top = 3 if kind == "redundant" else BODIES
    pairs = np.array([rng.choice(top, 2, replace=False) for _ in range(blocks)], int).reshape(-1, 2)
    if kind == "fixed" and contacts:
        pairs[-1] = 0  # a contact between two parts of the world: zero rows
    bodies = np.concatenate([pairs[:scalars], np.repeat(pairs[scalars:], 3, axis=0)])
    scale = 10 ** rng.uniform(-1, 1, BODIES) if kind == "masses" else rng.uniform(0.7, 1.4, BODIES)
    rows = rng.normal(size=(n, 2, 6)) * scale[bodies][:, :, None]
    rows[bodies == 0] = 0.0
    compliance = rng.uniform(0.1, 1.0, n) if kind == "compliant" else np.zeros(n)

    lo, hi = np.full(scalars, -np.inf), np.full(scalars, np.inf)
    lo[EQUALITIES:] = 0.0
    box = slice(EQUALITIES + INEQUALITIES, scalars)
    size = 0.02 if kind == "saturated" else 0.5
    hi[box] = size * rng.uniform(0.5, 1.0, len(hi[box]))
    lo[box] = -size * rng.uniform(0.5, 1.0, len(hi[box]))
    friction = {"sticking": 3.0, "frictionless": 0.0, "sliding": 0.1}.get(kind, 0.6)
    mu = friction * rng.uniform(0.8, 1.2, contacts)

    free = rng.normal(size=6 * BODIES)
    r = Case(rows.reshape(n, 12), bodies, compliance, np.zeros(n), lo, hi, mu).jacobian() @ free
    if kind == "saturated":  # one row at each of its bounds
        r[box] = 5.0 * (-1.0) ** np.arange(len(r[box]))
    if kind == "open":
        r[:EQUALITIES] = 0.0
        r[EQUALITIES:scalars] = np.abs(r[EQUALITIES:scalars])
        r[box] = 0.0
        r[scalars::3] = 1.0 + np.hypot(r[scalars + 1 :: 3], r[scalars + 2 :: 3]) * 2.0
    return Case(rows.reshape(n, 12), bodies, compliance, r, lo, hi, mu)


KINDS = (
    *("mixed", "redundant", "open", "sticking", "sliding", "frictionless"),
    *("compliant", "saturated", "fixed", "masses"),
)


def stack(problems: list[Problem]) -> Problem:
    """Stack problems into a batch for ``vmap``."""
    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *problems)


def pick(tree, index: int):
    """Return one member of a batch, in numpy."""
    return jax.tree.map(lambda leaf: np.asarray(leaf[index]), tree)


def violations(case: Case, lam: np.ndarray, law: str) -> dict[str, float]:
    """Return the largest violation of each condition of the law by ``lam``, computed row by row.

    Impulse conditions in N·s, velocity conditions in m/s, products of both in J.

    Args:
        case: the problem.
        lam: impulses.
        law: ``ccp``, the convex law, or ``ncp``, Coulomb's.
    """
    lam, s = np.asarray(lam, float), len(case.lo)
    u = case.matrix() @ lam + case.r
    worst: dict[str, float] = dict.fromkeys(
        ("lambda in K", "u in K*", "complementarity", "opposes sliding"), 0.0
    )

    def note(name: str, amount: float) -> None:
        worst[name] = max(worst[name], float(amount))

    for value, speed, lo, hi in zip(lam[:s], u[:s], case.lo, case.hi, strict=True):
        note("lambda in K", max(lo - value, value - hi))
        # A speed > 0 must have pushed the multiplier to its lower bound, < 0 to its upper one.
        if np.isfinite(lo):
            note("complementarity", max(speed, 0) * (value - lo))
        else:
            note("u in K*", speed)
        if np.isfinite(hi):
            note("complementarity", max(-speed, 0) * (hi - value))
        else:
            note("u in K*", -speed)
    for (p, *friction), (v, *slip), mu in zip(
        lam[s:].reshape(-1, 3), u[s:].reshape(-1, 3), case.mu, strict=True
    ):
        slide = np.linalg.norm(slip)
        note("lambda in K", np.linalg.norm(friction) - mu * p)
        if law == "ccp":
            note("u in K*", mu * slide - v)
            note("complementarity", abs(p * v + np.dot(friction, slip)))
        else:
            note("u in K*", -v)
            note("complementarity", abs(p * v))
            # Greatest dissipation: friction takes μ p from every metre of sliding.
            note("opposes sliding", abs(np.dot(friction, slip) + mu * p * slide))
    return worst
