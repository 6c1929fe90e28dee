"""Identify the real cube from tosses drawn at random, and measure the model on all others.

    python -m experiments.cube_toss.run DATA.npz [--draws 10] [--fitted 60] [--out FOLDER]

DATA.npz: recorded tosses in the layout of ``jaxccp identify`` (ContactNets, converted to SI); those
of more than 128 samples are left out. MuJoCo, if it is installed, is simulated with the parameters
that a derivative-free search found on this data, which is not among the scripts. cube_tosses.npz of
the real data sets of CONTRIBUTING.md is such a file. Writes results.json, results.md and
identify.png beside this file; a run that was interrupted resumes with the draws that are missing.
Draws of another number of tosses need ``--out``.
"""

import argparse
import importlib.util
import json
import time
from pathlib import Path

import jax
import numpy as np
from jaxtyping import Float
from scipy import stats

from experiments.cube_toss.mujoco_baseline import mujoco_errors
from jaxccp.identify.cube.errors import Errors, TossErrors
from jaxccp.identify.cube.fit import PARAMETERS, CubeSettings, fit_cube, read_tosses
from jaxccp.identify.cube.report import Identified, picture
from jaxccp.identify.recordings.recording import Recording

FOLDER = Path(__file__).parent
LONGEST = 128
"""Samples of the longest toss that is used."""
HORIZONS = (20, 50, 100)
"""Samples compared after the start of a toss, in the successive fits. With at most 50 samples, the
sliding friction of three draws of ten came out as 0.10 to 0.15, where whole tosses show 0.2."""
SETTINGS = CubeSettings()
LEAST_HALF_WIDTH = PARAMETERS["half_width"].lower
"""Lower bound of half the width in fits [m]."""


def drawn(
    tosses: list[Recording], seed: int, fitted: int
) -> tuple[list[Recording], list[Recording]]:
    """Return the tosses to fit, drawn at random, and all remaining ones.

    Args:
        tosses: all recordings.
        seed: seed of the draw.
        fitted: number of tosses to fit.
    """
    order = np.random.default_rng(seed).permutation(len(tosses))
    return [tosses[k] for k in order[:fitted]], [tosses[k] for k in order[fitted:]]


def fit_draw(tosses: list[Recording], seed: int, fitted: int, out: Path) -> dict:
    """Return the parameters that one draw identifies; save the picture of the first draw.

    Args:
        tosses: all recordings.
        seed: seed of the draw; 0 is the first draw.
        fitted: number of tosses to fit.
        out: folder of the picture.
    """
    train, remaining = drawn(tosses, seed, fitted)
    start = time.process_time()
    cube = fit_cube(train, SETTINGS, HORIZONS)
    seconds = time.process_time() - start
    rows = zip(SETTINGS.names, cube.fit.values, cube.fit.uncertainty.standard_error, strict=True)
    if seed == 0:
        judge = TossErrors(remaining[:60], SETTINGS)
        values = cube.fit.problem.column("initial"), cube.fit.values
        before, after = (judge.compare(vector) for vector in values)
        identified = Identified(SETTINGS, cube, train, remaining[:60], judge, before, after)
        picture(identified).savefig(out / "identify.png")
    parameters = {
        name: {"value": float(value), "standard_error": float(error)} for name, value, error in rows
    }
    return {"seed": seed, "fitted": fitted, "seconds": seconds, "parameters": parameters}


def measure(draws: list[dict], tosses: list[Recording]) -> None:
    """Add to each draw the errors of both engines on the tosses that it did not fit."""
    judge = TossErrors(tosses, SETTINGS)
    mujoco = mujoco_errors(tosses) if importlib.util.find_spec("mujoco") else None
    for draw in draws:
        order = np.random.default_rng(draw["seed"]).permutation(len(tosses))[draw["fitted"] :]
        values = np.array([draw["parameters"][name]["value"] for name in SETTINGS.names])
        draw["errors"] = {"jaxccp": entry(judge.whole(values), order)}
        if mujoco is not None:
            draw["errors"]["MuJoCo"] = entry(mujoco, order)


def entry(errors: Errors, which: np.ndarray) -> dict[str, list[float]]:
    """Return the errors of the tosses ``which`` as lists for JSON: widths and degrees."""
    return {
        "position": np.round(errors.position[which], 4).tolist(),
        "rotation": np.round(errors.rotation[which], 2).tolist(),
    }


def spread(values: Float[np.ndarray, " n"]) -> float:
    """Return half the width of the 95 % interval of a mean, by Student's t distribution."""
    count = len(values)
    return float(stats.t.ppf(0.975, count - 1) * np.std(values, ddof=1) / np.sqrt(count))


def table(draws: list[dict]) -> str:
    """Return the results of all draws as Markdown."""
    lines = [
        "| draw | quantity | jaxccp, mean (median) | MuJoCo, mean (median) | difference of means, "
        "toss by toss |",
        "|---|---|---|---|---|",
    ]
    for draw in draws:
        for kind, unit, digits in (("position", "widths", 4), ("rotation", "°", 2)):
            ours, theirs = (
                np.array(draw["errors"].get(name, {}).get(kind, []))
                for name in ("jaxccp", "MuJoCo")
            )
            cells = [f"{np.mean(ours):.{digits}f} ({np.median(ours):.{digits}f})", "–", "–"]
            if len(theirs):
                gap = ours - theirs
                cells[1] = f"{np.mean(theirs):.{digits}f} ({np.median(theirs):.{digits}f})"
                cells[2] = f"{np.mean(gap):+.{digits}f} ± {spread(gap):.{digits}f}"
            lines.append(f"| {draw['seed']} | {kind} [{unit}] | {' | '.join(cells)} |")
    lines += ["", "| parameter | " + " | ".join(f"draw {draw['seed']}" for draw in draws) + " |"]
    lines.append("|---" * (len(draws) + 1) + "|")
    for name in SETTINGS.names:
        rows = [draw["parameters"][name] for draw in draws]
        cells = [f"{row['value']:.4g} ± {row['standard_error']:.1g}" for row in rows]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def save(draws: list[dict], count: int, out: Path) -> None:
    """Write the draws to results.json and their table to results.md.

    Args:
        draws: results of all draws.
        count: number of all tosses.
        out: folder of both files.
    """
    (out / "results.json").write_text(json.dumps(draws) + "\n")
    head = (
        "# The real cube\n\nWritten by `run.py`. Each draw fits some of the tosses (first "
        f"{draws[0]['fitted']} of {count} in a random order) and is measured on all others: errors "
        "of whole tosses, from their second sample to their end; ± half the 95 % interval. "
        f"Processor time of a fit with compilation: {draws[0]['seconds']:.0f} s for the first. Of "
        "parameters ± one standard error, which does not know of bounds: half the width ends at "
        f"{LEAST_HALF_WIDTH:g} m.\n\n"
    )
    (out / "results.md").write_text(head + table(draws) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="Identify the real cube from random tosses")
    parser.add_argument("data", type=Path)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--fitted", type=int, default=60)
    parser.add_argument("--out", type=Path, default=FOLDER, help="where the results go")
    arguments = parser.parse_args()
    results: Path = arguments.out / "results.json"
    draws = json.loads(results.read_text()) if results.exists() else []
    if any(draw["fitted"] != arguments.fitted for draw in draws):
        parser.error(f"{results} has draws of another number of tosses: give --out FOLDER")
    arguments.out.mkdir(parents=True, exist_ok=True)
    jax.config.update("jax_enable_x64", True)
    tosses = [toss for toss in read_tosses(arguments.data) if len(toss.time) <= LONGEST]
    for seed in range(len(draws), arguments.draws):
        draws.append(fit_draw(tosses, seed, arguments.fitted, arguments.out))
        results.write_text(json.dumps(draws) + "\n")
        print(seed, json.dumps(draws[-1]["parameters"]), flush=True)
    measure(draws, tosses)
    save(draws, len(tosses), arguments.out)
    print(table(draws))


if __name__ == "__main__":
    main()
