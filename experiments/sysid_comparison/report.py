"""Write the page and the picture of the comparison."""

import matplotlib
import numpy as np

from experiments.sysid_comparison.task import FOLDER, QUANTITIES

COLOURS = {
    "jaxccp": ("#0b6e99", "#4db3d3", "#9ad9ec"),
    "mujoco": ("#b4451f", "#dd7f4f", "#efb48f", "#c9a227"),
}


def write(rows: list[dict[str, str]], missing: list[str]) -> None:
    """Write results.md and comparison.png.

    Args:
        rows: rows of results.csv.
        missing: names of the fits that were not run.
    """
    lines = [
        "# The same task in jaxccp and in mujoco.sysid",
        "",
        "An arm of seven axes with position servos, ten parameters, "
        f"{rows[0]['recordings']} motions of {rows[0]['samples']} samples that MuJoCo simulated in "
        "steps of 0.1 ms, with noise of 0.2 mrad; every fit starts 15 to 25 % off. Made by "
        "`python -m experiments.sysid_comparison.run`: whole fits, with compilation, on two cores, "
        "one iteration (residuals and Jacobian) on one. Seconds are those of the processor, since "
        "others worked on the same machine; in brackets those on the clock.",
        "",
        "| fit | whole fit [s] | iteration [s] | evaluations | mean error | largest error |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        error = np.abs(_column(row, "error"))
        lines.append(
            f"| {row['fit']} | {row['fit_cpu_seconds']} ({row['fit_seconds']}) | "
            f"{row['iteration_cpu_seconds']} ({row['iteration_seconds']}) | {row['evaluations']} | "
            f"{100 * error.mean():.2f} % | {100 * error.max():.2f} % "
            f"({QUANTITIES[int(error.argmax())].name}) |"
        )
    lines += [
        "",
        "An evaluation of jaxccp has the Jacobian with it; mujoco.sysid takes eleven for one."
        + (f" Not run: {'; '.join(missing)}." if missing else ""),
        "",
        "Errors of the parameters, with half the widths of their 95 % intervals [%]:",
        "",
        "| parameter | " + " | ".join(row["fit"] for row in rows) + " |",
        "|---" * (len(rows) + 1) + "|",
    ]
    for quantity in QUANTITIES:
        cells = [
            f"{100 * float(row[quantity.name + ' error']):+.2f} ± "
            f"{100 * float(row[quantity.name + ' interval']):.2f}"
            for row in rows
        ]
        lines.append(f"| {quantity.name} | " + " | ".join(cells) + " |")
    lines += ["", "![Errors of parameters, and times](comparison.png)", ""]
    (FOLDER / "results.md").write_text("\n".join(lines), encoding="utf-8")
    _picture(rows)


def _column(row: dict[str, str], what: str) -> np.ndarray:
    return np.array([float(row[f"{quantity.name} {what}"]) for quantity in QUANTITIES])


def _picture(rows: list[dict[str, str]]) -> None:
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, (left, right) = pyplot.subplots(
        1, 2, figsize=(13, 4.8), width_ratios=(2.2, 1), layout="constrained"
    )
    used = {"jaxccp": 0, "mujoco": 0}
    width = 0.8 / len(rows)
    for k, row in enumerate(rows):
        side = "jaxccp" if row["fit"].startswith("jaxccp") else "mujoco"
        colour = COLOURS[side][used[side]]
        used[side] += 1
        at = np.arange(len(QUANTITIES)) + (k - 0.5 * (len(rows) - 1)) * width
        error = 100 * np.maximum(np.abs(_column(row, "error")), 1e-5)
        left.bar(at, error, width, color=colour, label=row["fit"])
        right.scatter(
            float(row["iteration_cpu_seconds"]), error.mean(), s=90, color=colour, label=row["fit"]
        )
    left.set_yscale("log")
    left.set_xticks(
        range(len(QUANTITIES)), [quantity.name for quantity in QUANTITIES], rotation=30, ha="right"
    )
    left.set_ylabel("|error| of the parameter [%]")
    left.legend(fontsize=8, ncols=2)
    right.set(xscale="log", yscale="log", xlabel="iteration, one core [s of the processor]")
    right.set_ylabel("mean |error| of the ten parameters [%]")
    right.set_xticks(ticks := (2, 5, 10, 20, 50), map(str, ticks))
    right.set_xticks([], minor=True)
    right.grid(alpha=0.3, which="both")
    figure.savefig(FOLDER / "comparison.png", dpi=110)
    pyplot.close(figure)
