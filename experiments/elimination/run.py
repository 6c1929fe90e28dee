"""Measure the cost of a step of a chain, with its joints eliminated and with iteration over them.

    python experiments/elimination/run.py

Writes results.md beside this file. The chains, with spherical joints, begin in an inclined line and
fall, so that every joint transmits forces; the last table is of a chain that hangs vertically with
a heavy last link, at rest or with that link given a small sideways velocity. Times are of one
process on the machine at hand, each the fastest of several; compilation is from scratch.
"""

import os
import platform
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp import EulerImplicitLinearized, Model, ModelBuilder, Spherical, State, joint_motion
from jaxccp.dynamics import rollout

jax.config.update("jax_enable_x64", True)

H = 1e-3
LENGTH = 0.1
SIZES = (10, 100, 1000)
ITERATED_UP_TO = 100
"""Number of links of the longest chain whose joints are iterated over."""
STEPS = 20
SECONDS = 10.0
"""Duration of the motion of the chain with the heavy end [s]."""
STEPPER = EulerImplicitLinearized(H, coordinates="maximal")


def chain(links: int, end: float = 1.0, angle: float = 1.0) -> tuple[Model, State]:
    """Build a chain of links of 1 kg in a straight line, on spherical joints.

    Args:
        links: number of links.
        end: mass of the last link [kg].
        angle: angle of the line to the vertical [rad].
    """
    builder = ModelBuilder()
    down = LENGTH * np.array([np.sin(angle), 0.0, -np.cos(angle)])
    above = 0
    for i in range(links):
        mass = end if i == links - 1 else 1.0
        inertia = 1e-3 * mass * np.array([1.0, 1.1, 0.9])
        link = builder.add_body(mass, inertia, (i + 0.5) * down)
        builder.add_joint(Spherical(), above, link, i * down)
        above = link
    return builder.build()


def cost(links: int, eliminate: bool) -> list[str]:
    """Return a row of the table of costs.

    Its cells are the number of links, how joints are treated, compile time [s], time of a step
    [ms], the same per link [µs], iterations per step and joint error [m].
    """
    model, state = chain(links)
    stepper = EulerImplicitLinearized(H, coordinates="maximal", eliminate=eliminate)
    jax.clear_caches()
    start = time.perf_counter()
    step = jax.jit(stepper.step).lower(model, state).compile()
    compiling = time.perf_counter() - start
    times, iterations = [], 0
    for _ in range(STEPS):
        start = time.perf_counter()
        state, report = jax.block_until_ready(step(model, state))
        times.append(time.perf_counter() - start)
        iterations += int(report.solver.iterations)
    error = float(jnp.max(jnp.abs(joint_motion(model, state).error)))
    treatment = "eliminated" if eliminate else "iterated over"
    return [
        str(links),
        treatment,
        f"{compiling:.1f}",
        f"{1e3 * min(times):.2f}",
        f"{1e6 * min(times) / links:.1f}",
        f"{iterations / STEPS:.0f}",
        f"{error:.0e}",
    ]


def gradient(links: int) -> list[str]:
    """Return the number of links, and the compile [s] and run [ms] times of a step's gradient."""
    model, state = chain(links)

    def tip(velocity: jax.Array) -> jax.Array:
        start = State(**{**state.__dict__, "velocity": velocity})
        return jnp.sum(STEPPER.step(model, start)[0].position[-1])

    start = time.perf_counter()
    compiled = jax.jit(jax.grad(tip)).lower(state.velocity).compile()
    compiling = time.perf_counter() - start
    times = []
    for _ in range(STEPS):
        start = time.perf_counter()
        jax.block_until_ready(compiled(state.velocity))
        times.append(time.perf_counter() - start)
    return [str(links), f"{compiling:.1f}", f"{1e3 * min(times):.2f}"]


def hang(velocity: float) -> list[str]:
    """Return how far a hanging chain of 100 links with 1 000 kg at its end moves.

    The cells are the initial sideways velocity of the end, ``velocity`` [m/s], the largest sideways
    and the largest vertical displacement of any link [m], and the joint error [m].
    """
    model, state = chain(100, end=1000.0, angle=0.0)
    state = State(**{**state.__dict__, "velocity": state.velocity.at[-1, 0].add(velocity)})
    steps = round(SECONDS / H)
    end, _ = rollout(model, state, STEPPER, steps, every=steps)
    displacement = end.position - state.position
    error = float(jnp.max(jnp.abs(joint_motion(model, end).error)))
    sideways, down = (float(jnp.max(jnp.abs(displacement[:, k]))) for k in (0, 2))
    return [f"{velocity:g}", f"{sideways:.2e}", f"{down:.2e}", f"{error:.0e}"]


def table(head: str, rows: list[list[str]]) -> str:
    names = head.split(" | ")
    lines = [names, ["---"] * len(names), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def main() -> None:
    costs = [
        cost(links, eliminate)
        for links in SIZES
        for eliminate in (True, False)
        if eliminate or links <= ITERATED_UP_TO
    ]
    head = "links | joints | compile [s] | step [ms] | µs a link | iterations | joint error [m]"
    text = f"""# Chains with their joints eliminated

{platform.processor() or platform.machine()}, {os.cpu_count()} cores, jax {jax.__version__},
float64. Written by run.py.

{table(head, costs)}

Gradient of one step in the initial velocities:

{table("links | compile [s] | run [ms]", [gradient(links) for links in SIZES])}

A chain of 100 links of 1 kg with 1 000 kg at its end after {SECONDS:g} s, its end pushed sideways:

{table("push [m/s] | sideways [m] | up or down [m] | joint error [m]", [hang(0.0), hang(1e-6)])}
"""
    Path(__file__).with_name("results.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
