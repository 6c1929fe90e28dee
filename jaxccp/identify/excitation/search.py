"""Search for the most informative motion: random motions, the best of which is improved."""

from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float
from scipy.optimize import minimize

from jaxccp.identify.excitation.basis import Basis
from jaxccp.identify.excitation.design import Design
from jaxccp.identify.excitation.program import (
    LENGTH,
    LimitBox,
    Program,
    criterion_of,
    smooth_maximum,
)
from jaxccp.math.array_input import Floats

if TYPE_CHECKING:
    from jaxccp.identify.excitation.excite import Known

SHARPNESS = 100.0
"""Sharpness of the smooth maximum over time of the use of a limit."""
FINE = 8
"""Number of times at which limits are checked, for each time at which they are constraints."""
NULL = 1e-10
"""Eigenvalue of the total information of several motions, relative to the largest, up to which a
direction counts as not determined by any motion."""


class Samples(NamedTuple):
    """A motion at s times, with its torques and its use of limits."""

    motion: Float[Array | np.ndarray, "s n 3"]
    """Positions, rates and accelerations."""
    torque: Float[Array | np.ndarray, "s n"]
    """Torques that the motion needs [N, N m]."""
    use: Float[Array | np.ndarray, "s k"]
    """Use of each joint limit (1 at the limit), and of the clearance between shapes, last."""
    gap: Float[Array | np.ndarray, " s"]
    """Smallest distance between shapes that can collide [m]."""
    pair: Float[Array | np.ndarray, "s 2"]
    """The two closest shapes."""


class Search:
    """The search for a motion, over the coefficients of all joints."""

    def __init__(self, program: Program, design: Design, box: LimitBox, known: "Known") -> None:
        """Choose the functions of time, the grids of times and the units of the coefficients.

        Args:
            program: program of the mechanism.
            design: settings.
            box: limits.
            known: what is known of the parameters before.
        """
        self.program, self.design, self.box = program, design, box
        names, scale = program.names, program.scale
        initial = np.asarray(program.parameters.column("initial"))
        self.theta = np.array([known.values.get(n, v) for n, v in zip(names, initial, strict=True)])
        prior = np.asarray(program.parameters.column("prior"), float)
        earlier = known.matrix(names)
        precision = np.where(np.diag(earlier) > 0, 0.0, prior**-2.0)
        self.before = (earlier + np.diag(precision)) * np.outer(scale, scale)
        self.precision = np.array([known.noise.get(n, design.noise) for n in program.joints]) ** -2
        self.basis = Basis(design.series, design.duration, design.terms)  # type: ignore[arg-type]
        self.count = 10 * design.terms
        self.grid = np.linspace(0.0, design.duration, self.count, endpoint=False)
        self.recorded = max(round(design.duration / (known.spacing or design.spacing)), 1)
        # Units in which coefficients are of order 1: half widths of positions for the constants,
        # rates for the others.
        reach = np.pi / design.duration * design.terms * box.half[0]
        speed = np.repeat(np.minimum(box.half[1], reach)[:, None], len(self.basis) - 1, axis=1)
        self.unit = np.concatenate([box.half[0][:, None], speed], axis=1)
        self.kept = np.eye(len(names))
        self._run = jax.jit(self._samples)
        self._tell = jax.jit(self._information)
        self._loss = jax.jit(jax.value_and_grad(self._criterion))
        self._room = jax.jit(jax.jacrev(self._smooth_use, has_aux=True))

    def samples(self, x: np.ndarray, times: Float[np.ndarray, " s"]) -> Samples:
        """Return a motion at any times, computed in parts of the size for which programs are
        compiled."""
        parts = []
        for begin in range(0, len(times), self.count):
            chunk = times[begin : begin + self.count]
            full = np.pad(chunk, (0, self.count - len(chunk)))
            part = self._run(x, self.basis.at(full))
            parts.append([np.asarray(leaf)[: len(chunk)] for leaf in part])
        return Samples(*(np.concatenate(leaves) for leaves in zip(*parts, strict=True)))

    def fine(self) -> Float[np.ndarray, " s"]:
        """Return the times at which limits are checked [s]."""
        return np.linspace(0.0, self.design.duration, FINE * self.count + 1)

    def greatest_use(self, x: np.ndarray) -> float:
        """Return the largest use of any limit on the fine grid; above 1, a limit is exceeded."""
        return float(np.max(self.samples(x, self.fine()).use))

    def information(self, x: np.ndarray) -> Float[np.ndarray, "P P"]:
        """Return the information of the recording, approximated on the grid, in scales.

        The weight of a joint's samples falls smoothly to zero as the joint stops.
        """
        multiplicity = np.full(self.count, self.recorded / self.count)
        return np.asarray(self._tell(x, self.basis.at(self.grid), multiplicity, True))

    def exact_information(self, x: np.ndarray) -> Float[np.ndarray, "P P"]:
        """Return the information of all samples of the recording, in scales, without those of
        joints slower than the design's ``moving``."""
        times = np.linspace(0.0, self.design.duration, self.recorded, endpoint=False)
        total = np.zeros_like(self.before)
        for begin in range(0, len(times), self.count):
            chunk = times[begin : begin + self.count]
            room = self.count - len(chunk)
            basis = self.basis.at(np.pad(chunk, (0, room)))
            total += self._tell(x, basis, np.pad(np.ones(len(chunk)), (0, room)), False)
        return total

    def best_random(self) -> tuple[np.ndarray, float]:
        """Return the best of several random motions within 0.95 of the limits, and its criterion.

        It also sets the directions of the parameters that some motion determines; only these count
        in all later criteria.
        """
        random = np.random.default_rng(self.design.seed)
        basis, starts = self.basis.at(self.grid), []
        for _ in range(self.design.starts):
            x = random.normal(size=self.unit.shape)
            x[:, 0] = random.uniform(-0.3, 0.3, len(x))
            for _ in range(40):
                use = float(np.max(self._run(x.ravel(), basis).use))
                if use <= 0.95:
                    break
                x = x * max(0.7, min(0.93 / use, 0.97))
            starts.append(x.ravel())
        gains = [self.information(x) for x in starts]
        total = sum(gains) + len(gains) * self.before
        values, vectors = np.linalg.eigh(total)
        self.kept = vectors[:, values > NULL * max(values.max(), 1e-300)]
        scores = np.array([self.score(gain) for gain in gains])
        best = int(np.argmin(np.where(np.isfinite(scores), scores, np.inf)))
        return starts[best], float(scores[best])

    def score(self, information: np.ndarray) -> float:
        """Return the criterion of a motion's information together with what is known before."""
        matrix = self.kept.T @ (information + self.before) @ self.kept
        return float(criterion_of(jnp.asarray(matrix), self.design.criterion))

    def loss(self, x: np.ndarray) -> tuple[float, Float[np.ndarray, " k"]]:
        """Return the criterion of a motion, and its gradient."""
        value, slope = self._loss(x, self.kept)
        return float(value), np.asarray(slope, float)

    def improve(self, x: np.ndarray, margin: float) -> np.ndarray:
        """Return the optimal motion within a fraction of the limits, by sequential quadratic
        programming.

        Args:
            x: coefficients to start from.
            margin: largest allowed use of each limit; 1 is the limit itself.
        """
        limited = np.append(np.isfinite(self.box.half).ravel(), self.program.touching)
        rows = np.flatnonzero(limited)

        def room(x: np.ndarray) -> np.ndarray:
            return margin - np.asarray(self._room(x)[1], float)[rows]

        def slope(x: np.ndarray) -> np.ndarray:
            return -np.asarray(self._room(x)[0], float)[rows]

        result = minimize(
            self.loss,
            x,
            jac=True,
            method="SLSQP",
            constraints={"type": "ineq", "fun": room, "jac": slope},
            options={"maxiter": self.design.iterations, "ftol": 1e-5},
        )
        return result.x if np.isfinite(result.x).all() else x

    def drawn_back(self, x: np.ndarray, inside: np.ndarray) -> np.ndarray:
        """Return a motion between one within limits and one that exceeds them: as far from the
        first as the limits allow.

        It is the one within limits if that has a better criterion.

        Args:
            x: coefficients of a motion that exceeds limits.
            inside: coefficients of a motion that does not.
        """
        low, high = 0.0, 1.0
        for _ in range(8):
            share = 0.5 * (low + high)
            kept = self.greatest_use(inside + share * (x - inside)) <= 1.0
            low, high = (share, high) if kept else (low, share)
        kept_motion = inside + low * (x - inside)
        scores = [self.score(self.information(motion)) for motion in (kept_motion, inside)]
        return kept_motion if scores[0] < scores[1] else inside

    def _motion(self, x: Array, basis: Float[Floats, "4 s m"]) -> Float[Array, "s n 4"]:
        """Return positions of all joints and their first three derivatives."""
        middle = jnp.zeros(self.unit.shape).at[:, 0].set(self.box.middle[0])
        return self.program.motion(
            jnp.asarray(basis), middle + self.unit * jnp.reshape(x, self.unit.shape)
        )

    def _samples(self, x: Array, basis: Float[Floats, "4 s m"]) -> Samples:
        """Return a motion for given values of the functions of time."""
        motion = self._motion(x, basis)
        torque = self.program.torques(jnp.asarray(self.theta), motion)
        motion = motion[:, :, :3]
        values = jnp.concatenate([motion, torque[:, :, None]], axis=2).transpose(0, 2, 1)
        use = jnp.abs(values - self.box.middle) / self.box.half
        use = use.reshape(len(motion), -1)
        if not self.program.touching:
            none = jnp.zeros(len(motion))
            use = jnp.concatenate([use, none[:, None]], axis=1)
            return Samples(motion, torque, use, none, jnp.zeros((len(motion), 2), int))
        gaps, shapes = self.program.gaps(motion)
        proximity = smooth_maximum(1.0 + (self.box.clearance - gaps.T) / LENGTH, SHARPNESS)
        use = jnp.concatenate([use, proximity[:, None]], axis=1)
        closest = jnp.argmin(gaps, axis=1)
        pair = jnp.take_along_axis(shapes, closest[:, None, None], axis=1)[:, 0]
        return Samples(motion, torque, use, jnp.min(gaps, axis=1), pair)

    def _smooth_use(self, x: Array) -> tuple[Array, Array]:
        """Return smooth upper bounds of the largest use of each limit, as value and as auxiliary
        output."""
        use = self._samples(x, self.basis.at(self.grid)).use
        bound = smooth_maximum(jnp.asarray(use), SHARPNESS)
        return bound, bound

    def _information(
        self,
        x: Array,
        basis: Float[Floats, "4 s m"],
        multiplicity: Float[Array, " s"],
        smooth: Array,
    ) -> Float[Array, "P P"]:
        """Return the information matrix of samples, for the parameters in their scales.

        Args:
            x: coefficients of the motion.
            basis: values and three derivatives of the functions of time at the samples.
            multiplicity: number of recorded samples that each one stands for.
            smooth: whether a joint's samples count in part, r²/(r² + moving²) at the rate r;
                otherwise in full if r exceeds the design's ``moving``, or not at all.
        """
        motion = self._motion(x, basis)
        rate, slow = motion[:, :, 1], self.design.moving
        soft = rate**2 / (rate**2 + slow**2)
        moving = jnp.where(smooth, soft, jnp.abs(rate) > slow)
        weight = moving * self.precision * multiplicity[:, None]
        return self.program.information(jnp.asarray(self.theta), motion, weight)

    def _criterion(self, x: Array, kept: Float[Array, "P k"]) -> Float[Array, ""]:
        """Return the criterion of a motion."""
        multiplicity = jnp.full(self.count, self.recorded / self.count)
        gained = self._information(x, self.basis.at(self.grid), multiplicity, jnp.asarray(True))
        return criterion_of(kept.T @ (gained + self.before) @ kept, self.design.criterion)
