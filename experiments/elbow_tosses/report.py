"""Write the results of the elbow as a page and a picture."""

from collections.abc import Sequence

import matplotlib
import numpy as np
from scipy import stats

from experiments.elbow_tosses.task import FOLDER

HORIZONS = {"20": "20 samples", "40": "40 samples", "whole": "whole tosses"}
COLOURS = {
    "nominal": "#4cb3d4",
    "identified": "#0a6e99",
    "MuJoCo, nominal": "#f2b391",
    "MuJoCo, fitted": "#b5441f",
}


def page(draws: Sequence[dict]) -> None:
    """Write results.md and elbow.png.

    Args:
        draws: entries of results.json, one for each draw.
    """
    lines = [
        "# The articulated elbow",
        "",
        f"Written by `run.py`, with --draws {len(draws)}. Each draw fits some tosses, chosen at "
        "random, from starts all along them, and predicts others from starts that are the same for "
        "all models: the mean distance of both boxes from where they were recorded, over the "
        "samples after each start, in lengths of a box (0.1 m); ± half the 95 % interval of the "
        "mean.",
        "",
        "| draw | model | " + " | ".join(HORIZONS.values()) + " |",
        "|---|---|" + "---|" * len(HORIZONS),
    ]
    for draw in draws:
        for model, errors in draw["errors"].items():
            cells = [_mean(errors[key]) for key in HORIZONS]
            lines.append(f"| {draw['seed']} | {model} | {' | '.join(cells)} |")
        for model in ("nominal", "MuJoCo, fitted"):
            if model in draw["errors"]:
                pairs = [
                    np.subtract(draw["errors"]["identified"][key], draw["errors"][model][key])
                    for key in HORIZONS
                ]
                cells = " | ".join(_mean(pair, "+") for pair in pairs)
                lines.append(f"| {draw['seed']} | identified − {model} | {cells} |")
    lines += [
        "",
        "Evaluations and processor time of the fits, with compilation: "
        + "; ".join(_effort(draw) for draw in draws)
        + ". An evaluation of jaxccp has the Jacobian with it; MuJoCo's are simulations of all "
        "segments.",
        "",
        "| parameter | " + " | ".join(f"draw {draw['seed']}" for draw in draws) + " |",
        "|---" * (len(draws) + 1) + "|",
    ]
    for name in draws[0]["parameters"]:
        rows = [draw["parameters"][name] for draw in draws]
        cells = [f"{row['value']:.4g} ± {row['standard_error']:.1g}" for row in rows]
        lines.append(f"| `{name}` | {' | '.join(cells)} |")
    lines += ["", "(± one standard error, clustered by toss.)", "", "![Errors](elbow.png)"]
    (FOLDER / "results.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    _picture(draws)


def _mean(values: Sequence[float] | np.ndarray, sign: str = "") -> str:
    half = _half_interval(values)
    return f"{np.mean(values):{sign}.4f} ± {half:.4f}"


def _half_interval(values: Sequence[float] | np.ndarray) -> float:
    count = len(values)
    return float(stats.t.ppf(0.975, count - 1) * np.std(values, ddof=1) / np.sqrt(count))


def _effort(draw: dict) -> str:
    text = f"draw {draw['seed']}: {draw['evaluations']}, {draw['cpu_seconds']:.0f} s"
    if "peer" in draw:
        peer = draw["peer"]
        text += f" (mujoco.sysid {peer['evaluations']}, {peer['cpu_seconds']:.0f} s)"
    return text


def _picture(draws: Sequence[dict]) -> None:
    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, len(HORIZONS), figsize=(11, 3.6), layout="constrained")
    models = list(draws[0]["errors"])
    for axis, (key, title) in zip(axes, HORIZONS.items(), strict=True):
        for place, model in enumerate(models):
            for k, draw in enumerate(draws):
                errors = draw["errors"][model][key]
                at = k + (place - 0.5 * (len(models) - 1)) * 0.8 / len(models)
                axis.bar(
                    at,
                    np.mean(errors),
                    0.8 / len(models),
                    yerr=_half_interval(errors),
                    color=COLOURS[model],
                    label=model if k == 0 else None,
                    error_kw={"lw": 0.8},
                )
        axis.set_title(title)
        axis.set_xticks(range(len(draws)), [f"draw {draw['seed']}" for draw in draws])
    axes[0].set_ylabel("mean distance [lengths]")
    axes[0].legend(fontsize=8)
    figure.savefig(FOLDER / "elbow.png", dpi=100)
    pyplot.close(figure)
