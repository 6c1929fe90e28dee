"""Write the table and the picture of the results of run.py."""

from math import hypot
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from experiments.smoothing.scenes import EXAMPLES

COLUMNS = ("gradient", "rollouts", "mean", "bias", "scatter", "error", "α")
CURVES = {
    "truth": ("smoothed loss", "black", "-"),
    "mean slope": ("mean of plain slopes", "tab:blue", "--"),
    "plain": ("plain", "tab:blue", "-"),
    "relaxed, at a distance": ("relaxed, at a distance", "tab:orange", "-"),
}


def write(results: dict, samples: int, repeats: int, folder: Path) -> None:
    """Write results.md and gradients.png.

    Args:
        results: results of each example, as results.json has them.
        samples: number of samples of an estimate.
        repeats: number of estimates.
        folder: folder of the files.
    """
    lines = [
        "# Gradients of losses with contact: plain, relaxed, smoothed",
        "",
        "`python -m experiments.smoothing.run`, with one seed. Each loss is of one number x. Truth",
        "is the gradient of the loss smoothed by Gaussian noise on x, a sum over a fine grid.",
        f"Estimates take {samples} samples of each kind; the scatter is the standard deviation of",
        f"{repeats} of them, the error the root of bias² + scatter². Of one rollout there is no",
        "scatter: its bias is how far the slope at x is from that of the smoothed loss, which it",
        "does not claim to be. [docs/smoothing.md](../../docs/smoothing.md) says what that means.",
        "",
        "![losses and gradients](gradients.png)",
    ]
    for name, result in results.items():
        example = EXAMPLES[name]
        lines += [
            "",
            f"## {example.title}",
            "",
            f"{example.source}. By the {example.number}, x = {example.x:g}, σ = {example.sigma:g}"
            + (f", w = {example.relaxed.speed:g} m/s" if example.relaxed else "")
            + f", γ = {example.accuracy:g}. **Truth: {result['truth']:.3g}.**",
            f"The mean of the plain slope over the same grid: {result['mean slope']:.3g}.",
            "",
            "| " + " | ".join(COLUMNS) + " |",
            "|" + "---|" * len(COLUMNS),
        ]
        for row, values in result["rows"].items():
            bias = values["mean"] - result["truth"]
            share = f"{values['share']:.2f}" if row == "mixed" else ""
            numbers = (values["mean"], bias, values["scatter"], hypot(bias, values["scatter"]))
            cells = [row, str(values["rollouts"]), *(f"{x:.3g}" for x in numbers), share]
            lines.append("| " + " | ".join(cells) + " |")
    (folder / "results.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    _picture(results, folder / "gradients.png")


def _picture(results: dict, path: Path) -> None:
    figure, axes = plt.subplots(
        2,
        len(results),
        figsize=(4 * len(results), 5),
        sharex="col",
        squeeze=False,
        layout="constrained",
    )
    for (top, bottom), (name, result) in zip(axes.T, results.items(), strict=True):
        example, curves = EXAMPLES[name], result["curves"]
        x = np.asarray(curves["x"])
        top.plot(x, curves["loss"], color="grey", lw=1, label="loss")
        top.plot(x, curves["smoothed"], color="black", label="smoothed")
        top.set_title(example.title)
        for key, (label, color, style) in CURVES.items():
            if key in curves:
                width = 2 if key == "truth" else 1
                bottom.plot(x, curves[key], style, color=color, lw=width, label=label)
        low, high = np.min(curves["truth"]), np.max(curves["truth"])
        room = 0.5 * (high - low)
        bottom.set_ylim(low - room, high + room)
        bottom.set_xlabel(example.number)
        for axis in (top, bottom):
            axis.axvline(example.x, color="lightgrey", lw=1, zorder=0)
    axes[0, 0].set_ylabel("loss")
    axes[1, 0].set_ylabel("gradient")
    axes[0, 0].legend(fontsize="small")
    handles, labels = axes[1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), fontsize="small")
    figure.savefig(path, dpi=80)
