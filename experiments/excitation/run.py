"""Compare predicted and observed standard errors of fits to an optimal and to a random motion.

    python -m experiments.excitation.run

The mechanism is an arm of three axes; MuJoCo computes its torques.
"""

import csv
import importlib
from pathlib import Path
from typing import Any

import jax
import numpy as np

from jaxccp import load
from jaxccp.identify import Design, Excitation, InverseDynamics, Limits, Parameter, Problem, excite
from jaxccp.identify.recordings.recording import Recording, recording

mujoco: Any = importlib.import_module("mujoco")  # its names come from a binary

FOLDER = Path(__file__).parent
SEEDS = 24
NOISE = 0.3
"""Standard deviation of a sample of torque [N m]."""
POSITION_NOISE = 1e-5
"""Standard deviation of a sample of position [rad]."""
FRICTION = {"yaw": 0.5, "lift": 0.6, "elbow": 0.3}
"""Dry friction of each axis [N m], added here because MuJoCo's inverse dynamics omits it."""
LIMITS = Limits(rate=2.5, acceleration=15.0, clearance=0.05)
DESIGN = Design(duration=6.0, terms=4, noise=NOISE, starts=8, iterations=40, cutoff=15.0)


def parameters(per_sequence: bool) -> list[Parameter]:
    """Return the parameters to identify: dry friction, damping, and the masses of the two links.

    Args:
        per_sequence: whether each recording has its own values.
    """
    friction = [
        Parameter(f'axes["{name}"].friction', initial=0.8 * value, scale=0.1)
        for name, value in FRICTION.items()
    ]
    rest = [Parameter("axes[*].damping", scale=0.1)]
    rest += [Parameter(f'bodies["{name}"].mass', scale=0.2) for name in ("upper", "fore")]
    return [
        Parameter(
            parameter.path, parameter.initial, scale=parameter.scale, per_sequence=per_sequence
        )
        for parameter in (*friction, *rest)
    ]


def recorded(motion: Excitation, name: str, seed: int) -> Recording:
    """Return a recording of a motion: MuJoCo's torques plus dry friction, with noise.

    Args:
        motion: positions, rates and accelerations of the arm.
        name: name of the motion.
        seed: seed of the noise of torques and positions.
    """
    model = mujoco.MjModel.from_xml_path(str(FOLDER / "arm.xml"))
    data, random = mujoco.MjData(model), np.random.default_rng(seed)
    torque = np.zeros_like(motion.torque)
    for row in range(len(motion.time)):
        data.qpos[:], data.qvel[:] = motion.position[row], motion.rate[row]
        data.qacc[:] = motion.acceleration[row]
        mujoco.mj_inverse(model, data)
        torque[row] = data.qfrc_inverse
    torque += np.array(list(FRICTION.values())) * np.tanh(motion.rate / 1e-2)
    torque += NOISE * random.normal(size=torque.shape)
    position = motion.position + POSITION_NOISE * random.normal(size=torque.shape)
    return recording(
        motion.time,
        f"{name} {seed}",
        noise={"torque": NOISE},
        position=dict(zip(motion.joints, position.T, strict=True)),
        torque=dict(zip(motion.joints, torque.T, strict=True)),
    )


def run() -> None:
    """Plan both motions and fit each recording separately.

    Writes results.csv, results.md and motions.png.
    """
    jax.config.update("jax_enable_x64", True)
    arm = load(str(FOLDER / "arm.xml"))
    motions = {
        name: excite(
            arm,
            parameters(False),
            LIMITS,
            Design(**{**vars(DESIGN), "iterations": steps, "starts": starts}),
        )
        for name, steps, starts in (("random", 0, 1), ("optimal", DESIGN.iterations, 8))
    }
    logs = [recorded(m, name, seed) for name, m in motions.items() for seed in range(SEEDS)]
    residual = InverseDynamics(cutoff=DESIGN.cutoff, moving=DESIGN.moving, trim=0.1)
    fit = Problem(arm, logs, parameters(True), residual).fit()
    rows = []
    for name, motion in motions.items():
        for parameter, predicted in zip(motion.names, motion.after, strict=True):
            values = [fit[f"{parameter} of {name} {seed}"] for seed in range(SEEDS)]
            observed = float(np.std(values, ddof=1))
            rows.append((name, parameter, predicted, observed, observed / predicted))
    with (FOLDER / "results.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["motion", "parameter", "predicted", "found", "ratio"])
        writer.writerows([(a, b, f"{c:.5g}", f"{d:.5g}", f"{e:.3f}") for a, b, c, d, e in rows])
    write_page(motions, rows)
    draw(motions)


def write_page(
    motions: dict[str, Excitation], rows: list[tuple[str, str, float, float, float]]
) -> None:
    """Write results.md: standard errors, and how far the optimal motion uses the limits."""
    lines = [
        "# Optimal excitation: standard errors, predicted and found",
        "",
        f"An arm of three axes; a motion of {DESIGN.duration:g} s, sampled every "
        f"{1e3 * DESIGN.spacing:g} ms, torques by MuJoCo's inverse dynamics with noise of {NOISE} "
        f"N m; {SEEDS} recordings of each motion, each fitted for itself. The spread of a standard "
        f"deviation found from {SEEDS} is {100 / np.sqrt(2 * (SEEDS - 1)):.0f} %. "
        "`python -m experiments.excitation.run`",
        "",
        "| parameter | random: predicted | found | optimal: predicted | found | gain |",
        "|---|---|---|---|---|---|",
    ]
    by = {(name, parameter): rest for name, parameter, *rest in rows}
    for parameter in motions["optimal"].names:
        first, last = by["random", parameter], by["optimal", parameter]
        lines.append(
            f"| `{parameter}` | {first[0]:.3g} | {first[1]:.3g} | {last[0]:.3g} | {last[1]:.3g} "
            f"| {first[1] / last[1]:.2f} |"
        )
    for name in motions:
        ratios = np.array([row[4] for row in rows if row[0] == name])
        lines += [
            "",
            f"{name}: found over predicted {np.sqrt(np.mean(ratios**2)):.2f} (root mean square "
            f"over parameters), from {ratios.min():.2f} to {ratios.max():.2f}; criterion "
            f"{motions[name].scores[1]:.3f}.",
        ]
    lines += ["", "Greatest use of limits by the optimal motion:", "", "| what | value | limits |"]
    lines += ["|---|---|---|"]
    for use in motions["optimal"].limited_quantities:
        ends = f"{use.limits[0]:.3g} … {use.limits[1]:.3g}"
        lines.append(f"| {use.what} | {use.value:.3g} | {ends}{'' if use.kept else ' EXCEEDED'} |")
    lines += ["", "![Motions](motions.png)"]
    (FOLDER / "results.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def draw(motions: dict[str, Excitation]) -> None:
    """Draw positions and torques of both motions."""
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(2, 2, figsize=(9, 5), sharex=True, layout="constrained")
    for column, (name, motion) in enumerate(motions.items()):
        axes[0, column].plot(motion.time, motion.position, label=motion.joints)
        axes[0, column].set_title(f"{name} motion")
        axes[1, column].plot(motion.time, motion.torque)
        axes[1, column].set_xlabel("time [s]")
    axes[0, 0].set_ylabel("position [rad]")
    axes[1, 0].set_ylabel("torque [N m]")
    axes[0, 1].legend(loc="upper right")
    figure.savefig(FOLDER / "motions.png", dpi=80)


if __name__ == "__main__":
    run()
