"""Compare derivatives of rollouts with impacts with those of the motion, as the step shrinks.

    python -m experiments.impact_derivatives.run

Writes results.md, with the remarks of notes.md, and errors.png beside this file. Nothing is random.
Float64, law ncp, solved to 1e-12 m/s. The truth comes from a closed form or from accurate
integrations between impacts, differentiated by central differences. For a cube that tumbles on
several corners, the mean of the derivatives over a range of heights is compared with the slope
between its ends, of accurate integrations or of the simulated values.
"""

from dataclasses import dataclass
from pathlib import Path

import jax
import numpy as np
from jaxtyping import Array
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from experiments.impact_derivatives.mechanisms import bar, hit_arm, limited_arm
from experiments.impact_derivatives.motions import FLIGHT, Motion, cube, dropped, struck, three

FOLDER = Path(__file__).resolve().parent
STEPS = 4e-3 / 2.0 ** np.arange(6)
AT = list(STEPS).index(1e-3)
POINTS = 161
"""Number of values of the input in a range."""
D = 1e-5
"""Half-width of the central differences of exact motions."""


@dataclass(frozen=True)
class Row:
    """One derivative or value of a motion, for all lengths of the step."""

    motion: str
    quantity: str
    truth: np.ndarray
    """Truth for each of STEPS; constant where it is that of the exact motion."""
    simulated: np.ndarray
    """Result of the simulation for each of STEPS."""
    scale: float
    """Divisor of errors: the largest derivative of any outcome by this input, or the value."""

    @property
    def errors(self) -> np.ndarray:
        return np.abs(self.simulated - self.truth) / self.scale

    @property
    def order(self) -> float:
        """Return the order of convergence of the errors, from the second step to the last."""
        return np.polyfit(np.log(STEPS[1:]), np.log(np.maximum(self.errors[1:], 1e-15)), 1)[0]


def derivatives(motion: Motion) -> list[Row]:
    """Return the rows of all cases, inputs and outcomes; for FLIGHT those of values instead."""
    inputs = np.array(list(motion.inputs.values()))

    def both(numbers: Array, h: Array) -> tuple[Array, Array]:
        def of(some: Array) -> Array:
            return motion.simulated(numbers.at[inputs].set(some), h)

        return motion.simulated(numbers, h), jax.jacfwd(of)(numbers[inputs])

    numbers = np.array(list(motion.cases.values()))
    if motion.range or motion.exact is None:
        return means(motion, jax.jit(jax.vmap(both, (0, None))), numbers[0])
    run = jax.jit(jax.vmap(jax.vmap(both, (None, 0)), (0, None)))
    values, slopes = (np.asarray(x) for x in run(numbers, STEPS))
    rows = []
    for at, (name, centre) in enumerate(motion.cases.items()):
        exact = motion.exact(np.array(centre))
        for k, (input_, place) in enumerate(motion.inputs.items()):
            shift = D * np.eye(len(centre))[place]
            above, below = motion.exact(centre + shift), motion.exact(centre - shift)
            truth = (above - below) / (2 * D)
            for o, outcome in enumerate(motion.outcomes):
                simulated = slopes[at, :, o, k]
                if name != FLIGHT and max(np.abs(simulated).max(), abs(truth[o])) > 1e-12:
                    quantity = f"d{outcome}/d{input_}"
                    every = np.full(len(STEPS), truth[o])
                    rows.append(Row(name, quantity, every, simulated, np.abs(truth).max()))
        if name == FLIGHT:
            for o, outcome in enumerate(motion.outcomes):
                every, scale = np.full(len(STEPS), exact[o]), abs(exact[o])
                rows.append(Row(name, outcome, every, values[at, :, o], scale))
    return rows


def means(motion: Motion, run, numbers: np.ndarray) -> list[Row]:
    """Return rows that compare means of derivatives over a range with slopes between its ends.

    Args:
        motion: motion with one case and one input.
        run: function from several sets of numbers and a step to outcomes and derivatives.
        numbers: numbers at the centre of the range.
    """
    (name,), (input_,) = motion.cases, motion.inputs
    offsets = np.linspace(-motion.range, motion.range, POINTS)
    simulated, truth = [], []
    for h in STEPS:
        values, slopes = run(numbers + offsets[:, None], h)
        simulated.append(np.asarray(slopes)[:, :, 0].mean(0))
        ends = np.asarray(values)[[0, -1]]
        if motion.exact is not None:
            ends = [motion.exact(numbers + end) for end in offsets[[0, -1]]]
        truth.append((ends[1] - ends[0]) / (offsets[-1] - offsets[0]))
    simulated, truth = np.array(simulated), np.array(truth)
    scale = np.abs(truth[-1]).max()
    return [
        Row(name, f"d{outcome}/d{input_}, mean", truth[:, o], simulated[:, o], scale)
        for o, outcome in enumerate(motion.outcomes)
    ]


MOTIONS = (
    dropped,
    struck,
    three,
    lambda: bar("reduced"),
    lambda: hit_arm("reduced"),
    lambda: limited_arm("reduced"),
    lambda: bar("maximal"),
    lambda: hit_arm("maximal"),
    lambda: limited_arm("maximal"),
    lambda: cube("spinning cube, e = 0.5", 0.5, (0, 3, 1), "bounces"),
    lambda: cube("cube without spin, e = 0, all impacts timed", 0.0, (0, 0, 0), "all"),
    lambda: cube("cube without spin, e = 0", 0.0, (0, 0, 0), "bounces"),
)


def table(rows: list[Row]) -> list[str]:
    lengths = " | ".join(f"{1e3 * h:g} ms" for h in STEPS)
    lines = [f"| motion | quantity | truth | at 1 ms | {lengths} | order |", "|---" * 11 + "|"]
    for row in rows:
        errors = " | ".join(f"{100 * e:.2g} %" for e in row.errors)
        order = f"{row.order:.1f}" if row.errors[1:].max() > 1e-9 else "exact"
        lines.append(
            f"| {row.motion} | {row.quantity} | {row.truth[AT]:.4g} | {row.simulated[AT]:.4g} | "
            f"{errors} | {order} |"
        )
    return lines


def write(rows: list[Row]) -> None:
    values = [row for row in rows if row.motion == FLIGHT]
    slopes = [row for row in rows if row.motion != FLIGHT]
    notes = FOLDER / "notes.md"
    lines = [
        "# Derivatives through impacts",
        "",
        "`python -m experiments.impact_derivatives.run` · errors by length of step, relative to",
        "the largest derivative of any outcome by that input; the order is that of a fit from",
        "2 ms on.",
        "",
        "![errors](errors.png)",
        "",
        "Cubes without restitution are held against an integration from event to event",
        "(corners.py). Where their impacts are not timed, what comes out depends on when in a step",
        "they land: there is no derivative to converge to.",
        "",
        *([notes.read_text(encoding="utf-8")] if notes.exists() else []),
        *table(slopes),
        "",
        "## Values",
        "",
        "The ball from 0.5 m, 4 m/s across. The scheme has velocities half a step before poses;",
        "started like that, its flight is exact, and all that is left is when and how it bounces.",
        "",
        *table(values),
        "",
    ]
    (FOLDER / "results.md").write_text("\n".join(lines), encoding="utf-8")
    figure = Figure(figsize=(7, 5), layout="constrained")
    axes = figure.subplots()
    for row in slopes:
        if row.errors.max() > 1e-9:
            axes.loglog(1e3 * STEPS, row.errors, color="tab:blue", alpha=0.4, lw=1)
    for row in values:
        if row.quantity == "t":
            axes.loglog(1e3 * STEPS, row.errors, color="tab:orange", label="time of impact")
    axes.loglog(1e3 * STEPS, 10 * STEPS, "k--", label="first order: 1 % at 1 ms")
    axes.loglog([], [], color="tab:blue", label="derivatives")
    axes.set_xticks(1e3 * STEPS, [f"{1e3 * h:g}" for h in STEPS])
    axes.xaxis.set_minor_locator(NullLocator())
    axes.set_xlabel("step [ms]")
    axes.set_ylabel("relative error")
    axes.legend()
    figure.savefig(FOLDER / "errors.png", dpi=110)


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    # Compiling takes longer than running.
    jax.config.update("jax_disable_most_optimizations", True)
    rows: list[Row] = []
    for build in MOTIONS:
        rows += derivatives(build())
        print(build, len(rows), flush=True)
        write(rows)


if __name__ == "__main__":
    main()
