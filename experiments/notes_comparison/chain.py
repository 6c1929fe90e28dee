"""Simulate a chain with a heavy ball at its end that falls on the ground: equality rows and
contacts in one problem, written out row by row.

Links are rods along their own x axis. A pin (three equality rows) joins each to the previous link,
and the first to a fixed point. A link touches the ground with a sphere around its centre.
"""

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp.ccp import BodyDelassus, Cones, Law, Newton, Problem, Stop, equality, solve

LENGTH, RADIUS, HEIGHT, FRICTION = 0.1, 0.03, 0.6, 0.5
BALL = 0.05
"""Radius of the ball [m]."""
REACH = 0.02
"""Gap below which a link has a contact with the ground [m]."""
GRAVITY = np.array([0.0, 0.0, -9.81])
# Normal up, then two tangents.
FRAME = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


def after(
    links: int, end: float, h: float, steps: int, law: Law, stop: Stop
) -> tuple[Problem, np.ndarray, np.ndarray]:
    """Return the problem after some steps, a guess of its impulses and a mask of the touching
    links.

    The guess has the impulses of the last step. Contacts of links that do not touch are rows of
    zeros whose bodies separate.

    Args:
        links: number of links.
        end: mass of the last link [kg].
        h: step length [s].
        steps: number of steps.
        law: contact law.
        stop: stopping criterion of the solver.
    """
    chain = Chain(links, end)
    solver = jax.jit(lambda problem, guess: solve(problem, Newton(), guess, law=law, stop=stop).lam)
    guess = np.zeros(6 * links)
    for _ in range(steps):
        _, problem, roots, free = chain.problem(h)
        guess = np.asarray(solver(problem, guess))
        assert isinstance(problem.delassus, BodyDelassus)
        whitened = np.asarray(problem.delassus.impulse(jnp.asarray(guess)))[:links]
        chain.move(free + np.einsum("bij,bj->bi", roots, whitened), h)
    touching, problem, _, _ = chain.problem(h)
    return problem, guess, touching


class Chain:
    """Poses and velocities of the links, stored in numpy arrays."""

    def __init__(self, links: int, end: float) -> None:
        self.count = links
        self.position = np.zeros((links, 3))
        self.position[:, 0] = LENGTH * (np.arange(links) + 0.5)
        self.position[:, 2] = HEIGHT
        self.rotation = np.tile(np.eye(3), (links, 1, 1))
        self.twist = np.zeros((links, 6))
        self.mass = np.ones(links)
        self.mass[-1] = end
        self.radius = np.full(links, RADIUS)
        self.radius[-1] = BALL
        # A rod with the thickness of its sphere; the ball is one.
        around, across = 0.4 * RADIUS**2, LENGTH**2 / 12 + 0.4 * RADIUS**2
        self.inertia = np.tile([around, across, across], (links, 1))
        self.inertia[-1] = 0.4 * end * BALL**2

    def problem(self, h: float) -> tuple[np.ndarray, Problem, np.ndarray, np.ndarray]:
        """Return the mask of the touching links, the problem of a step, the factors L of the links
        with L Lᵀ = M⁻¹, and the velocities that the links have without impulses."""
        count, world = self.count, self.count
        free = self.twist.copy()
        free[:, :3] += h * GRAVITY
        roots = np.zeros((count + 1, 6, 6))
        roots[:count, :3, :3] = np.eye(3) / np.sqrt(self.mass)[:, None, None]
        roots[:count, 3:, 3:] = self.rotation / np.sqrt(self.inertia)[:, None, :]

        gap = self.position[:, 2] - self.radius
        touching = gap < REACH
        half = 0.5 * LENGTH * self.rotation[:, :, 0]
        arm_previous, arm_next = -half, half
        anchor = np.array([[0.0, 0.0, HEIGHT]])
        ends = np.concatenate([anchor, (self.position + arm_next)[:-1]])
        error = self.position + arm_previous - ends
        before = np.concatenate([[world], np.arange(count - 1)])
        pins = np.zeros((count, 3, 2, 6))
        pins[:, :, 0, :3], pins[:, :, 1, :3] = -np.eye(3), np.eye(3)
        pins[1:, :, 0, 3:] = _turning(np.eye(3), arm_next[:-1], -1.0)
        pins[:, :, 1, 3:] = _turning(np.eye(3), arm_previous, 1.0)
        contacts = np.zeros((count, 3, 2, 6))
        contacts[:, :, 1, :3] = FRAME
        contacts[:, :, 1, 3:] = _turning(FRAME, -self.radius[:, None] * FRAME[0], 1.0)
        contacts[~touching] = 0.0

        rows = np.concatenate([pins, contacts])
        pairs = np.concatenate(
            [
                np.stack([before, np.arange(count)], axis=1),
                np.stack([np.full(count, world), np.arange(count)], axis=1),
            ]
        )
        velocity = np.concatenate([free, np.zeros((1, 6))])[pairs]
        r = np.einsum("kibj,kbj->ki", rows, velocity)
        r[:count] += error / h
        r[count:, 0] += np.where(touching, gap / h, 1.0)
        whitened = np.einsum("kibj,kbjl->kibl", rows, roots[pairs]).reshape(len(rows), 3, 12)
        delassus = BodyDelassus(
            jnp.asarray(whitened[:count].reshape(-1, 12)),
            jnp.asarray(whitened[count:]),
            jnp.asarray(np.repeat(pairs[:count], 3, axis=0), jnp.int32),
            jnp.asarray(pairs[count:], jnp.int32),
            jnp.zeros(r.size),
            count + 1,
        )
        friction = jnp.full(count, FRICTION)
        cones = Cones(*equality(3 * count, friction.dtype), friction)
        return touching, Problem(delassus, jnp.asarray(r.reshape(-1)), cones), roots[:count], free

    def move(self, twist: np.ndarray, h: float) -> None:
        """Advance the chain by a step with new velocities, without the gyroscopic torque, which is
        neglected for thin links."""
        self.twist = twist
        self.position = self.position + h * twist[:, :3]
        self.rotation = _rotations(h * twist[:, 3:]) @ self.rotation


def _turning(frame: np.ndarray, arms: np.ndarray, sign: float) -> np.ndarray:
    """Return d(frame · v)/dω at points with the given arms: rows arm × axis."""
    return sign * np.cross(arms[:, None, :], frame[None, :, :])


def _rotations(vectors: np.ndarray) -> np.ndarray:
    """Return the rotation matrices of rotation vectors, by Rodrigues' formula."""
    angle = np.linalg.norm(vectors, axis=1)[:, None, None]
    x, y, z = vectors.T
    zero = np.zeros_like(x)
    skew = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=1).reshape(-1, 3, 3)
    return (
        np.eye(3)
        + np.sinc(angle / np.pi) * skew
        + 0.5 * np.sinc(0.5 * angle / np.pi) ** 2 * (skew @ skew)
    )
