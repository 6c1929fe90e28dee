"""Compare a body that lands sliding with the exact motion of Coulomb's law without restitution."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from experiments.locomotion import reference
from jaxccp import EulerImplicitLinearized, load, rollout
from jaxccp.ccp import Law

FILE = Path(__file__).with_name("slider.xml")
PLACED, SPEED, FRICTION, GRAVITY = 0.02, 1.0, 1.0, 9.81
"""Height in the file [m], speed along the ground [m/s], coefficient of friction, gravity [m/s²]."""
H, DURATION = 5e-4, 0.4
DROPS = np.linspace(0.02, 0.0205, 8)
"""Drop heights [m], chosen so that impacts fall at different times within a step."""
Landings = tuple[np.ndarray, np.ndarray]
"""Height of the rebound, and distance until the body stops, from each drop height [m]."""


def exact() -> Landings:
    """Return the exact rebounds and distances.

    The impact takes μ times the normal speed from the sliding speed; sliding takes the rest.
    """
    flight = np.sqrt(2 * DROPS / GRAVITY)
    sliding = SPEED - FRICTION * GRAVITY * flight
    return 0 * DROPS, SPEED * flight + sliding**2 / (2 * FRICTION * GRAVITY)


def ours(law: Law) -> Landings:
    loaded = load(FILE)
    stepper = EulerImplicitLinearized(H, law)

    def motion(drop: jax.Array) -> jax.Array:
        start = jnp.stack([0.0, drop - PLACED]), jnp.array([SPEED, 0.0])
        state = loaded.layout.state(loaded.model, loaded.state, *start)
        _, trajectory = rollout(loaded.model, state, stepper, round(DURATION / H))
        return jax.vmap(lambda s: loaded.layout.coordinates(loaded.model, s)[0])(trajectory.state)

    return _measured(np.asarray(jax.jit(jax.vmap(motion))(DROPS)))


def theirs(contact: reference.Contact | None) -> Landings:
    model = reference.compiled(FILE, contact)
    motions = []
    for drop in DROPS:
        data, qpos = reference.mujoco.MjData(model), []
        data.qpos[:], data.qvel[:] = (0.0, drop - PLACED), (SPEED, 0.0)
        while data.time < DURATION:
            reference.mujoco.mj_step(model, data)
            qpos.append(data.qpos.copy())
        motions.append(qpos)
    return _measured(np.array(motions))


def _measured(qpos: np.ndarray) -> Landings:
    height = qpos[:, :, 1] + PLACED
    risen = np.cumsum(np.diff(height, axis=1, prepend=np.inf) > 0, axis=1) > 0
    return np.where(risen, height, 0.0).max(axis=1), qpos[:, -1, 0]


def landings() -> dict[str, tuple[float, float]]:
    """Return the highest rebound and the largest error of the distance [m] of each simulation."""
    stiffest, file = reference.CONTACTS["stiff"], reference.CONTACTS["as the file has it"]
    simulated = {
        f"jaxccp ncp, {1e3 * H:g} ms": ours("ncp"),
        f"jaxccp ccp, {1e3 * H:g} ms": ours("ccp"),
        "MuJoCo stiff": theirs(stiffest),
        "MuJoCo as the file has it": theirs(file),
    }
    _, distance = exact()
    return {
        name: (float(rebound.max()), float(np.abs(ends - distance).max()))
        for name, (rebound, ends) in simulated.items()
    }
