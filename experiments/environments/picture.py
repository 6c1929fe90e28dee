"""Draw docs/images/environments.png: environments whose models have no counterpart elsewhere.

python -m experiments.environments.picture
"""

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from matplotlib.figure import Figure

from jaxccp import envs

FILE = Path(__file__).resolve().parents[2] / "docs" / "images" / "environments.png"
SHOWN = {
    "push_t": ([0.0, 0.0], 12),
    "quadruped": ([0.0] * 12, 25),
    "linkage_walker": ([1.0], 22),
    "in_hand": ([0.25, -0.25, -0.25, 0.25], 25),
}
"""Action of each environment, and the number of steps with it before the picture."""


def main() -> None:
    figure = Figure(figsize=(9.6, 7.2), dpi=100)
    for place, (name, (action, times)) in zip(
        figure.subplots(2, 2).flat, SHOWN.items(), strict=True
    ):
        env: Any = envs.make(name, auto_reset=False)
        state = jax.jit(env.reset)(jax.random.key(1))
        step = jax.jit(env.step)
        for _ in range(times):
            state = step(state, jnp.array(action))
        place.imshow(np.asarray(envs.Renderer(env)(state)))
        place.set(title=name)
        place.set_axis_off()
    figure.tight_layout()
    figure.savefig(FILE)


if __name__ == "__main__":
    main()
