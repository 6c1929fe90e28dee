"""A cube that falls on a corner without restitution and goes on over its other corners, integrated
from event to event: what the derivatives of the simulation are held against."""

import jax.numpy as jnp
import numpy as np
from scipy.integrate import solve_ivp

from jaxccp.ccp import Cones, DenseDelassus, Problem, Stop, solve

HALF, MASS, FRICTION, GRAVITY = 0.1, 1.0, 0.3, 9.81
INERTIA = MASS * (2 * HALF) ** 2 / 6
CORNERS = HALF * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
STILL = 1e-9
"""Speed [m/s] below which a corner rests."""


def lands(begin: np.ndarray, span: float) -> np.ndarray:
    """The state after ``span`` [s].

    States are place, quaternion, velocity and angular velocity. Corners on the ground keep their
    height and slide under Coulomb's law; one that lands brings an impact without restitution on all
    corners that are down, whose impulses obey the same law with the velocities after it.

    Raises:
        ArithmeticError: where a corner comes to rest, which is not followed further.
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
        found = solve_ivp(
            lambda _, y, down=down: _rate(y, down),
            (time, span),
            y,
            method="DOP853",
            events=events,
            rtol=1e-10,
            atol=1e-11,
        )
        time, y = found.t[-1], found.y[:, -1]
        if found.status == 0:
            return y
        if len(found.t_events[0]):
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


def _row(arm: np.ndarray, along: np.ndarray) -> np.ndarray:
    """What a unit force along a direction at an arm does: force, then torque."""
    return np.concatenate([along, np.cross(arm, along)])


def _forces(y: np.ndarray, down: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Normal forces of the corners that are down, and accelerations of the cube."""
    free = np.array([0, 0, -GRAVITY, 0, 0, 0])
    if not down:
        return np.zeros(0), free
    arms, up, spin = _arms(y)[down], np.array([0.0, 0, 1]), y[10:]
    scale = np.array([MASS] * 3 + [INERTIA] * 3)
    normals = np.array([_row(arm, up) for arm in arms])
    slips = np.array([_slip(y, k) for k in down])
    way = slips[:, :2] / np.linalg.norm(slips[:, :2], axis=1, keepdims=True)
    along = np.concatenate([-FRICTION * way, np.ones((len(down), 1))], axis=1)
    pushes = np.array([_row(arm, d) for arm, d in zip(arms, along, strict=True)]) / scale
    curved = np.cross(spin, np.cross(spin, arms))[:, 2]
    forces = np.linalg.solve(normals @ pushes.T, -(normals @ free + curved))
    return forces, free + forces @ pushes


def _rate(y: np.ndarray, down: list[int]) -> np.ndarray:
    w, v, spin = y[3], y[4:7], y[10:]
    turned = 0.5 * np.concatenate([[-spin @ v], w * spin + np.cross(spin, v)])
    return np.concatenate([y[7:10], turned, _forces(y, down)[1]])


def _impact(y: np.ndarray, down: list[int]) -> tuple[np.ndarray, list[int]]:
    """The state after an impact on corners, and those that stay down."""
    axes = np.array([[0.0, 0, 1], [1, 0, 0], [0, 1, 0]])
    rows = np.array([_row(arm, axis) for arm in _arms(y)[down] for axis in axes])
    scale = np.array([MASS] * 3 + [INERTIA] * 3)
    none = jnp.zeros(0)
    cones = Cones(none, none, jnp.full(len(down), FRICTION))
    delassus = DenseDelassus(jnp.asarray(rows / scale @ rows.T))
    problem = Problem(delassus, jnp.asarray(rows @ y[7:]), cones)
    found = solve(problem, "newton", law="ncp", stop=Stop(1e-13))
    impulses = np.asarray(found.lam)
    after = y.copy()
    after[7:] += impulses @ rows / scale
    return after, [k for k, push in zip(down, impulses[::3], strict=True) if push > 0]
