"""Measure the steppers of second order.

    python -m experiments.second_order.run [PART …]

Measures their orders on published mechanisms, their numerical damping, and the joint errors of a
closed loop after 1e5 steps. Writes results.md and pictures.
"""

import json
import sys
import time
from pathlib import Path

import jax
import jax.numpy as jnp
import matplotlib
import numpy as np
from jax import lax

from experiments.drift.run import four_bar
from experiments.second_order.any_scheme import AnyScheme
from experiments.second_order.mechanisms import (
    Mechanism,
    flexible_pendulum,
    heavy_top,
    slider_crank,
)
from jaxccp import ModelBuilder, Prismatic, forward_kinematics, joint_motion
from jaxccp.dynamics import HHT, GeneralisedAlpha, Newmark, Trapezoidal
from jaxccp.dynamics.steppers.alpha_carry import Coefficients

matplotlib.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.ticker import FormatStrFormatter, LogLocator, NullFormatter

FOLDER = Path(__file__).parent
TOLERANCE = 1e-12
SCHEMES = {
    "hht, α = −0.2": HHT(),
    "trapezoidal": Trapezoidal(),
    "newmark, γ = 0.6": Newmark(),
    "generalised-alpha, ρ = 0.8": GeneralisedAlpha(),
}


def orders(mechanism: Mechanism, panel) -> list[str]:
    """Return rows of the table: errors at the shortest step and orders from successive steps."""
    model, state = mechanism.model, mechanism.state

    @jax.jit
    def run(h, steps, coefficients):
        stepper = AnyScheme.of(coefficients, mechanism.tolerance)

        def step(_, loop_state):
            carry, report = stepper.advance(model, loop_state[0], h=h)
            return carry, report, jnp.maximum(loop_state[2], report.solver.status)

        carry = stepper.init(model, state)
        # The step is compiled once: what it reports at first is never looked at.
        shape = jax.eval_shape(stepper.advance, model, carry)[1]
        none = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), shape)
        start = carry, none, jnp.int32(0)
        carry, report, worst = lax.fori_loop(0, steps, step, start)
        return mechanism.observe(carry.state, report), worst

    lines = []
    for name, scheme in SCHEMES.items():
        counts = np.array(mechanism.steps)
        c = scheme.coefficients
        if abs(c.gamma - 0.5 - (c.alpha_f - c.alpha_m)) > 1e-9:
            counts = counts * mechanism.first_order
        lengths = mechanism.span / counts
        begin = time.process_time()
        results = [
            jax.device_get(run(h, steps, scheme.coefficients))
            for h, steps in zip(lengths, counts.tolist(), strict=True)
        ]
        print(f"{name}: {time.process_time() - begin:.0f} s", flush=True)
        worst = max(int(status) for _, status in results)
        for what, right in mechanism.exact.items():
            errors = np.array([np.abs(observed[what] - right).max() for observed, _ in results])
            order = np.log2(errors[:-1] / errors[1:])
            order_text = ", ".join(f"{value:.2f}" for value in order)
            lines.append(
                f"| {mechanism.title} | {name} | {what} | {1e3 * lengths[-1]:.3g} | "
                f"{errors[-1]:.1e} | {order_text} | {worst} |"
            )
            print(lines[-1], flush=True)
            if what == "position":
                panel.loglog(1e3 * lengths, errors, "o-", label=name)
                if scheme.coefficients == Trapezoidal().coefficients:
                    panel.loglog(
                        1e3 * lengths,
                        0.5 * errors[-1] * (lengths / lengths[-1]) ** 2,
                        "k:",
                        label="h²",
                    )
    for axis in (panel.xaxis, panel.yaxis):
        axis.set_minor_formatter(NullFormatter())
    panel.xaxis.set_major_locator(LogLocator(subs=(1, 3)))
    panel.xaxis.set_major_formatter(FormatStrFormatter("%g"))
    panel.set_title(mechanism.title)
    panel.set_xlabel("step [ms]")
    return lines


def root(angle: float, c: Coefficients) -> float:
    """Return the spectral radius of a step on q̈ = −ω² q at ω h = angle."""
    square = angle * angle
    # (1 − α_m) a⁺ + α_m a = −ω² ((1 − α_f) q⁺ + α_f q), in units of h.
    left = np.array(
        [
            [1, 0, -c.beta],
            [0, 1, -c.gamma],
            [(1 - c.alpha_f) * square, 0, 1 - c.alpha_m],
        ]
    )
    right = np.array(
        [[1, 1, 0.5 - c.beta], [0, 1, 1 - c.gamma], [-c.alpha_f * square, 0, -c.alpha_m]]
    )
    return float(np.abs(np.linalg.eigvals(np.linalg.solve(left, right))).max())


def damping() -> list[str]:
    """Return rows of the relative energy loss per step of a mass on a spring, from 300 steps,
    beside theory."""
    omega = 10.0
    builder = ModelBuilder(gravity=(0, 0, 0))
    cart = builder.add_body(1.0, (0.1,) * 3, (0, 0, 0))
    builder.add_joint(Prismatic((1, 0, 0), stiffness=omega**2), 0, cart, (0, 0, 0), name="spring")
    model, state = builder.build()
    state = forward_kinematics(model, state, jnp.array([0.1]))

    @jax.jit
    def run(h, coefficients):
        stepper = AnyScheme.of(coefficients, TOLERANCE)

        def step(carry, _):
            carry, _report = stepper.advance(model, carry, h=h)
            q, v = carry.state.joint_positions[0], carry.state.velocity[cart, 0]
            return carry, 0.5 * (v * v + (omega * q) ** 2)

        return lax.scan(step, stepper.init(model, state), length=300)[1]

    lines = []
    for alpha in (0.0, -0.05, -0.1, -0.2, -0.3):
        cells = []
        for angle in (0.1, 0.3, 1.0):
            c = HHT(alpha=alpha).coefficients
            energy = np.asarray(run(angle / omega, c))
            steps = np.arange(50, 300)
            rate = -np.polyfit(steps, np.log(energy[50:]), 1)[0]
            cells.append(f"{rate:.2e} ({-2 * np.log(root(angle, c)):.2e})")
        lines.append(f"| {alpha:g} | " + " | ".join(cells) + " |")
        print(lines[-1], flush=True)
    return lines


def loop() -> list[str]:
    """Return a line with the joint errors of a four-bar linkage simulated by HHT."""
    builder = ModelBuilder()
    four_bar(builder)
    model, state = builder.build()
    stepper = HHT(1e-3)

    @jax.jit
    def run(start):
        def step(_, loop_state):
            carry, report = stepper.advance(model, loop_state[0])
            error = jnp.max(jnp.abs(joint_motion(model, carry.state).error))
            return (
                carry,
                jnp.maximum(loop_state[1], error),
                jnp.maximum(loop_state[2], report.solver.status),
            )

        return lax.fori_loop(0, 100_000, step, (start, 0.0, jnp.int32(0)))

    carry, error, status = run(stepper.init(model, state))
    last = float(jnp.max(jnp.abs(joint_motion(model, carry.state).error)))
    return [
        f"A four-bar linkage that falls, 100 000 steps of 1 ms by `hht`: largest joint error "
        f"{float(error):.1e} m, at the end {last:.1e} m, worst status {int(status)}."
    ]


PARTS = {"damping": damping, "top": heavy_top, "pendulum": flexible_pendulum}
PARTS |= {"slider": slider_crank, "loop": loop}


def main(names: list[str]) -> None:
    """Measure the named parts, or all when none is named.

    Other parts keep their values from results.json.
    """
    jax.config.update("jax_enable_x64", True)
    kept = FOLDER / "results.json"
    results = json.loads(kept.read_text(encoding="utf-8")) if kept.exists() else {}
    for name in names or PARTS:
        made = PARTS[name]()
        if isinstance(made, Mechanism):
            figure, panel = plt.subplots(figsize=(5, 4))
            made = orders(made, panel)
            panel.set_ylabel("error of position [m, rad]")
            panel.legend(fontsize=7)
            figure.tight_layout()
            figure.savefig(FOLDER / f"{name}.png", dpi=90)
        results[name] = made
        kept.write_text(json.dumps(results, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        text = (FOLDER / "results.template.md").read_text(encoding="utf-8")
        table = [line for part in ("top", "pendulum", "slider") for line in results.get(part, [])]
        text = text.replace("ORDERS", "\n".join(table))
        text = text.replace("LOST", "\n".join(results.get("damping", [])))
        text = text.replace("DRIFT", results.get("loop", ["Loop: not measured yet."])[0])
        (FOLDER / "results.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
