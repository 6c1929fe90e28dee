"""A robot that creeps on its feet: what one step does to small differences, under both laws.

    python -m experiments.creep.run [--seconds 30]

Without motors the ant of ``jaxccp.envs`` sinks slowly, its feet sticking and slipping by turns. The
largest eigenvalue of A (``jaxccp.linearise``) tells by how much a step multiplies a difference that
lies badly. Writes results.md beside itself. Float64, tolerance 1e-10 m/s.
"""

import argparse
import platform
from pathlib import Path

import jax
import numpy as np

from jaxccp import EulerImplicitLinearized, Stop, envs, linearise, rollout
from jaxccp.ccp import Law
from jaxccp.envs import Environment

HERE = Path(__file__).resolve().parent
H = 0.01
EVERY = 25
"""Steps between those that are linearised."""
LANDED = 100
"""Steps before the first of them."""
LAWS: tuple[Law, ...] = ("ccp", "ncp")
COLUMNS = (
    "law",
    "largest eigenvalue: median",
    "90 %",
    "most",
    "above 1.1",
    "sinks by [mm]",
    "iterations",
    "intervals with an unsolved step",
)


def measured(env: Environment, law: Law, steps: int) -> list[str]:
    """A row of the table."""
    stepper = EulerImplicitLinearized(H, law, stop=Stop(1e-10, max_iterations=2000))
    start = env.reset(jax.random.key(0)).physics.state
    _, path = rollout(env.model, start, stepper, steps, every=EVERY)
    landed = jax.tree.map(lambda leaf: leaf[LANDED // EVERY :], path.state)

    @jax.jit
    def slopes(states):
        return jax.lax.map(lambda s: linearise(env.model, s, stepper=stepper).A, states)

    largest = np.abs(np.linalg.eigvals(np.asarray(slopes(landed)))).max(axis=1)
    height = np.asarray(landed.position[:, env.model.topology.body("torso"), 2])
    solver = path.report.solver
    return [
        law,
        f"{np.median(largest):.3f}",
        f"{np.quantile(largest, 0.9):.3f}",
        f"{largest.max():.2f}",
        f"{100 * np.mean(largest > 1.1):.0f} %",
        f"{1e3 * (height[0] - height[-1]):.1f}",
        f"{np.mean(solver.iterations) / EVERY:.1f}",
        f"{100 * np.mean(solver.status != 0):.1f} %",
    ]


def main(seconds: float) -> None:
    jax.config.update("jax_enable_x64", True)
    env = envs.make("ant", auto_reset=False)
    assert isinstance(env, Environment)
    rows = [measured(env, law, EVERY * round(seconds / H / EVERY)) for law in LAWS]
    lines = [
        "# A robot that creeps",
        "",
        f"`python -m experiments.creep.run --seconds {seconds:g}`. The ant without motors, steps",
        f"of {1e3 * H:g} ms, float64, to 1e-10 m/s; from {LANDED * H:g} s on, a step in {EVERY}",
        "is linearised. An eigenvalue of 1.01 is a motion that departs at 1 per second, as what",
        "stands on stiff legs does.",
        "",
        f"{platform.machine()}; jax {jax.__version__}",
        "",
        *("| " + " | ".join(row) + " |" for row in (COLUMNS, ["---"] * len(COLUMNS), *rows)),
    ]
    page = "\n".join(lines) + "\n"
    (HERE / "results.md").write_text(page, encoding="utf-8")
    print(page)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30.0)
    main(parser.parse_args().seconds)
