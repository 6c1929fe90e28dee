"""Make the synthetic tosses that ``jaxccp identify --demo`` fits.

    python experiments/demo_tosses/make.py [--out jaxccp/identify/data]

A cube with known parameters is thrown from random states, simulated with small steps, sampled at
148 Hz and given noise like that of the real recordings (see NOISE). Velocities are backward
differences of the noisy poses, as in the real data. The true values are written to ``truth.json``
beside ``tosses.npz``, in the layout in which ``jaxccp identify`` writes those it finds.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

jax.config.update("jax_enable_x64", True)

from jaxccp.ccp.solve import Stop  # noqa: E402
from jaxccp.dynamics import EulerImplicitLinearized, rollout  # noqa: E402
from jaxccp.identify.cube.fit import PARAMETERS, UNITS, Cube  # noqa: E402
from jaxccp.identify.parameters.parameter import ParameterSet  # noqa: E402
from jaxccp.identify.subject import Subject  # noqa: E402
from jaxccp.io.output import write_npz  # noqa: E402
from jaxccp.math import quaternion  # noqa: E402
from jaxccp.scenes.library import SCENES, batch  # noqa: E402

SEED = 7
TOSSES = 36
SAMPLES = 80
DT = 1.0 / 148.0
SUBSTEPS = 8
LAW = "ncp"
TRUTH = {
    "friction": 0.22,
    "impact_friction": 0.8,
    "restitution": 0.2,
    "inertia": 1.1,
    "half_width": 0.0521,
    "rounding": 0.003,
    "ground_height": 0.0006,
    "gravity": 0.985,
}
NOISE = {"position": 2e-5, "rotation": 1e-4}
"""Standard deviations [m], [rad], from second differences in the real cube's free flights."""


def simulate() -> tuple[np.ndarray, np.ndarray]:
    """Simulate the tosses without noise.

    Returns positions [m], shape (tosses, samples, 3), and quaternions, shape (tosses, samples, 4).
    """
    _, state = batch(SCENES["cube-toss"], jax.random.key(SEED), TOSSES)
    cube = Cube.nominal()
    subject = Subject.of(cube.model, cube.layout, cube.state, ())
    parameters = ParameterSet([PARAMETERS[name] for name in TRUTH], subject)
    model = parameters.apply(subject, jnp.asarray(list(TRUTH.values()))).model
    # Low tosses, so that most of the recording is contact.
    state = replace(state, position=state.position.at[:, 1, 2].set(0.16))
    stepper = EulerImplicitLinearized(DT / SUBSTEPS, LAW, stop=Stop(1e-9, 0.0, 2000))

    @jax.jit
    def run(state):
        return jax.vmap(
            lambda s: rollout(model, s, stepper, SAMPLES * SUBSTEPS, every=SUBSTEPS)[1].state
        )(state)

    trajectory = run(state)
    return np.asarray(trajectory.position[:, :, 1]), np.asarray(trajectory.quaternion[:, :, 1])


def measure(position: np.ndarray, orientation: np.ndarray) -> dict[str, np.ndarray]:
    """Return noisy poses and their backward differences, in the layout of recorded tosses."""
    random = np.random.default_rng(SEED)
    position = position + NOISE["position"] * random.standard_normal(position.shape)
    rotation = NOISE["rotation"] * random.standard_normal(position.shape)
    orientation = np.asarray(
        quaternion.multiply(quaternion.exp(jnp.asarray(rotation)), jnp.asarray(orientation))
    )
    velocity = np.diff(position, axis=1, prepend=position[:, :1]) / DT
    earlier = np.concatenate([orientation[:, :1], orientation[:, :-1]], axis=1)
    step = np.asarray(
        quaternion.multiply(jnp.asarray(orientation), quaternion.conjugate(jnp.asarray(earlier)))
    )
    step = step * np.where(step[..., :1] < 0, -1.0, 1.0)
    spin = quaternion.rotate(
        quaternion.conjugate(jnp.asarray(orientation)), jnp.asarray(2.0 * step[..., 1:] / DT)
    )
    return {
        "ids": np.arange(TOSSES),
        "lengths": np.full(TOSSES, SAMPLES),
        "q": np.concatenate([position, orientation], axis=-1).reshape(-1, 7),
        "v": np.concatenate([velocity, np.asarray(spin)], axis=-1).reshape(-1, 6),
        "dt": np.asarray(DT),
    }


def truth() -> dict:
    """Return the true values, in the layout of a params.json."""
    values = {name: {"value": value, "unit": UNITS.get(name, "")} for name, value in TRUTH.items()}
    return {"parameters": values, "law": LAW, "substeps": SUBSTEPS}


def main() -> None:
    parser = argparse.ArgumentParser(description="Synthetic tosses")
    parser.add_argument("--out", type=Path, default=Path("jaxccp/identify/data"))
    folder = parser.parse_args().out
    out = folder / "tosses.npz"
    write_npz(out, **measure(*simulate()))
    (folder / "truth.json").write_text(json.dumps(truth(), indent=2) + "\n")
    print(f"{TOSSES} tosses of {SAMPLES} samples in {out} ({out.stat().st_size / 1024:.0f} kB)")


if __name__ == "__main__":
    main()
