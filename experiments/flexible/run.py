"""Compare a simulation with the whole record of the ANCF cable pendulum; write results.md.

    python experiments/flexible/run.py

The record is in multibody/fea of the real data sets (CONTRIBUTING.md says where they are looked
for).
"""

import os
import sys
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp import EulerImplicitLinearized, ModelBuilder, rollout
from jaxccp.flexible.ancf import rope

FOLDER = Path(__file__).resolve().parent
SHARED = Path(os.environ.get("JAXCCP_DATA", FOLDER.parents[2] / "shared/data"))
DATA = SHARED / "multibody/fea/ancf_cable_pendulum.npz"


def main() -> None:
    """Compare all 500 rows of the record with a simulation of 20 000 steps."""
    if not DATA.exists():
        sys.exit(f"{DATA} is not there: put the reference data beside the checkout")
    jax.config.update("jax_enable_x64", True)
    data = np.load(DATA)
    keys = "area", "second_moment", "young_modulus", "density", "damping_alpha"
    nodes = np.zeros((5, 3))
    nodes[:, 0] = data["node_x"]
    family = rope(jnp.asarray(nodes), *(float(data[key]) for key in keys), pinned=(0,))
    velocity = jnp.zeros((10, 3)).at[::2].set(data["node_velocity0"])
    builder = ModelBuilder(gravity=data["gravity"])
    builder.add_family(replace(family, velocity=velocity), "cable")
    model, state = builder.build()
    h, steps = float(data["sim_step"]), 20_000
    _final, path = rollout(model, state, EulerImplicitLinearized(h), steps)
    step = np.round(data["time"] / h).astype(int)
    later = step > 0
    at = path.state.position[step[later] - 1]
    slope = path.state.families[0].q[step[later] - 1, :3]
    errors = {
        "mid y [m]": at[:, 3, 1] - data["mid_y"][later],
        "tip x [m]": at[:, 5, 0] - data["tip_x"][later],
        "tip z [m]": at[:, 5, 2] - data["tip_z"][later],
        "slope at the hinge": slope - data["root_slope"][later],
    }
    lines = [f"# Cable pendulum: {steps} steps of {h:g} s\n"]
    lines += ["Written by `python experiments/flexible/run.py`.\n", "| | largest difference |"]
    lines += ["|---|---|", *(f"| {k} | {np.abs(v).max():.1e} |" for k, v in errors.items())]
    (FOLDER / "results.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
