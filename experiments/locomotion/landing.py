"""A body that lands sliding, against the exact answer of Coulomb's law without restitution."""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from experiments.locomotion import reference
from jaxccp import EulerImplicitLinearized, load, rollout
from jaxccp.ccp import Law

FILE = Path(__file__).with_name("slider.xml")
DROP, SPEED, FRICTION, GRAVITY = 0.02, 1.0, 1.0, 9.81
"""Height [m], speed along the ground [m/s]; as in the file."""
H, DURATION = 5e-4, 0.4


def exact() -> tuple[float, float]:
    """Height of the rebound, and the way until it stands [m]: the impact takes μ times its normal
    speed from the sliding speed, sliding the rest."""
    flight = np.sqrt(2 * DROP / GRAVITY)
    sliding = SPEED - FRICTION * GRAVITY * flight
    return 0.0, SPEED * flight + sliding**2 / (2 * FRICTION * GRAVITY)


def ours(law: Law) -> tuple[float, float]:
    loaded = load(FILE)
    qvel = jnp.array([SPEED, 0.0])
    state = loaded.layout.state(loaded.model, loaded.state, jnp.zeros(2), qvel)
    stepper = EulerImplicitLinearized(H, law=law)
    _, trajectory = rollout(loaded.model, state, stepper, round(DURATION / H))
    qpos = jax.vmap(lambda s: loaded.layout.coordinates(loaded.model, s)[0])(trajectory.state)
    return _seen(np.asarray(qpos))


def theirs(contact: reference.Contact | None) -> tuple[float, float]:
    model = reference.compiled(FILE, contact)
    data, qpos = reference.mujoco.MjData(model), []
    data.qvel[:] = SPEED, 0.0
    while data.time < DURATION:
        reference.mujoco.mj_step(model, data)
        qpos.append(data.qpos.copy())
    return _seen(np.array(qpos))


def _seen(qpos: np.ndarray) -> tuple[float, float]:
    height = qpos[:, 1] + DROP
    landed = np.argmax(height < 1e-5)
    return float(height[landed:].max()), float(qpos[-1, 0])


def landings() -> dict[str, tuple[float, float]]:
    """Rebound and way [m] of everybody."""
    stiff, file = reference.CONTACTS["stiff"], reference.CONTACTS["as the file has it"]
    return {
        "exact": exact(),
        f"jaxccp ncp, {1e3 * H:g} ms": ours("ncp"),
        f"jaxccp ccp, {1e3 * H:g} ms": ours("ccp"),
        "MuJoCo stiff": theirs(stiff),
        "MuJoCo as the file has it": theirs(file),
    }
