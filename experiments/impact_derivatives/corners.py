"""Integrate a cube that falls on a corner without restitution and tumbles over its other corners.

The integration goes from event to event; it is the reference for the derivatives of the simulation.
"""

import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

from jaxccp.ccp import Cones, DenseDelassus, Problem, Stop, solve

HALF, MASS, FRICTION, GRAVITY = 0.1, 1.0, 0.3, 9.81
INERTIA = MASS * (2 * HALF) ** 2 / 6
CORNERS = HALF * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
STILL = 1e-9
"""Slip speed below which a corner counts as at rest [m/s]."""


def lands(begin: np.ndarray, span: float) -> np.ndarray:
    """Return the state of the cube after ``span`` [s].

    A state is position, quaternion, velocity and angular velocity, shape (13,). Corners on the
    ground keep their height and slide under Coulomb's law. When another corner lands, there is an
    impact without restitution on all corners on the ground, whose impulses obey the same law with
    the velocities after the impact.

    Raises:
        ArithmeticError: if a corner on the ground comes to rest; sticking is not modelled.
    """
    time, y, down = 0.0, begin.copy(), []
    while True:
        lifted = [k for k in range(8) if k not in down]

        def falls(_: float, y: np.ndarray, lifted=lifted) -> float:
            return min(y[2] + arm[2] for arm in _arms(y)[lifted])

        def presses(_: float, y: np.ndarray, down=down) -> float:
            return _forces(y, down)[0].min(initial=1.0)

        events = [falls, presses]
        for event in events:
            event.terminal, event.direction = True, -1  # type: ignore[attr-defined]
        solution = solve_ivp(
            lambda _, y, down=down: _rate(y, down),
            (time, span),
            y,
            method="DOP853",
            events=events,
            rtol=1e-10,
            atol=1e-11,
        )
        time, y = solution.t[-1], solution.y[:, -1]
        if solution.status == 0:
            return y
        if len(solution.t_events[0]):
            corner = lifted[int(np.argmin(_arms(y)[lifted][:, 2]))]
            y, down = _impact(y, [*down, corner])
        else:
            corner = down[int(np.argmin(_forces(y, down)[0]))]
            down = [k for k in down if k != corner]
        if down and min(np.linalg.norm(_slip(y, k)[:2]) for k in down) < STILL:
            raise ArithmeticError(f"corner {down} rests at {time} s")


def _arms(y: np.ndarray) -> np.ndarray:
    w, *v = y[3:7]
    v = np.array(v)
    return CORNERS + 2 * np.cross(v, w * CORNERS + np.cross(v, CORNERS))


def _slip(y: np.ndarray, corner: int) -> np.ndarray:
    return y[7:10] + np.cross(y[10:], _arms(y)[corner])


def _row(arm: np.ndarray, direction: np.ndarray) -> np.ndarray:
    """Return force and torque of a unit force along ``direction`` at ``arm``, shape (6,)."""
    return np.concatenate([direction, np.cross(arm, direction)])


def _forces(y: np.ndarray, down: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Return normal forces of the corners ``down``, and the cube's acceleration, shape (6,)."""
    free = np.array([0, 0, -GRAVITY, 0, 0, 0])
    if not down:
        return np.zeros(0), free
    arms, up, spin = _arms(y)[down], np.array([0.0, 0, 1]), y[10:]
    scale = np.array([MASS] * 3 + [INERTIA] * 3)
    normals = np.array([_row(arm, up) for arm in arms])
    slips = np.array([_slip(y, k) for k in down])
    slip_directions = slips[:, :2] / np.linalg.norm(slips[:, :2], axis=1, keepdims=True)
    directions = np.concatenate([-FRICTION * slip_directions, np.ones((len(down), 1))], axis=1)
    responses = np.array([_row(arm, d) for arm, d in zip(arms, directions, strict=True)]) / scale
    curved = np.cross(spin, np.cross(spin, arms))[:, 2]
    forces = np.linalg.solve(normals @ responses.T, -(normals @ free + curved))
    return forces, free + forces @ responses


def _rate(y: np.ndarray, down: list[int]) -> np.ndarray:
    w, v, spin = y[3], y[4:7], y[10:]
    quaternion_rate = 0.5 * np.concatenate([[-spin @ v], w * spin + np.cross(spin, v)])
    return np.concatenate([y[7:10], quaternion_rate, _forces(y, down)[1]])


def _impact(y: np.ndarray, down: list[int]) -> tuple[np.ndarray, list[int]]:
    """Return the state after an impact on the corners ``down``, and those that stay down."""
    axes = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])
    rows = np.array([_row(arm, axis) for arm in _arms(y)[down] for axis in axes])
    scale = np.array([MASS] * 3 + [INERTIA] * 3)
    none = jnp.zeros(0)
    cones = Cones(none, none, jnp.full(len(down), FRICTION))
    delassus = DenseDelassus(jnp.asarray(rows / scale @ rows.T))
    problem = Problem(delassus, jnp.asarray(rows @ y[7:]), cones)
    solution = solve(problem, "newton", law="ncp", stop=Stop(1e-13))
    impulses = np.asarray(solution.lam)
    after = y.copy()
    after[7:] += impulses @ rows / scale
    return after, [k for k, impulse in zip(down, impulses[::3], strict=True) if impulse > 0]
