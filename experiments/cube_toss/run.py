"""Identify the real cube and measure the models on tosses that were not fitted.

    python experiments/cube_toss/run.py DATA.npz

DATA.npz: recorded tosses in the layout of ``jaxccp identify`` (ContactNets, converted to SI).
Half of the tosses are fitted, the other half measured. Models of growing detail, both laws, and,
if mujoco is installed, MuJoCo with the parameters a derivative-free search found on this data.
Writes results.json, results.md and identify.png beside this file.
"""

import argparse
import importlib.util
import json
import time
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

from mujoco_baseline import mujoco_errors  # noqa: E402

from jaxccp.ccp.problem import Law  # noqa: E402
from jaxccp.identify.fit import Descent  # noqa: E402
from jaxccp.identify.identification_report import as_json, picture  # noqa: E402
from jaxccp.identify.pipeline import Identification, Settings, identify, split  # noqa: E402
from jaxccp.io.tosses import Tosses, read_tosses  # noqa: E402

HERE = Path(__file__).parent
SEED = 0
HOLDOUT = 0.5
DESCENT = Descent(seed=SEED)
PLAIN = ("friction", "restitution", "half_width")
GEOMETRY = (*PLAIN, "inertia", "ground_height", "rounding", "gravity")
IMPACT = (*GEOMETRY, "impact_friction")
MODELS: dict[str, tuple[tuple[str, ...], Law]] = {
    "plain, Coulomb": (PLAIN, "ncp"),
    "geometry, Coulomb": (GEOMETRY, "ncp"),
    "geometry, CCP": (GEOMETRY, "ccp"),
    "impact friction, Coulomb": (IMPACT, "ncp"),
    "impact friction, CCP": (IMPACT, "ccp"),
}
PICTURED = "impact friction, Coulomb"


def fit_model(tosses: Tosses, names: tuple[str, ...], law: Law) -> tuple[Identification, dict]:
    settings = Settings(names=names, law=law, holdout=HOLDOUT, descent=DESCENT)
    start = time.perf_counter()
    found = identify(tosses, settings)
    rollouts = DESCENT.iterations * DESCENT.batch * len(settings.horizons)
    return found, as_json(found) | {"seconds": time.perf_counter() - start, "rollouts": rollouts}


def baseline(tosses: Tosses) -> dict:
    _, held = split(tosses, HOLDOUT, SEED)
    return {"after": mujoco_errors(tosses.take(held)).summary()}


def table(results: dict[str, dict]) -> str:
    lines = [
        "| model | position mean (median) [widths] | rotation mean (median) [°] "
        "| 10 / 20 / 40 samples [widths] | rollouts |",
        "|---|---|---|---|---|",
    ]
    for name, result in results.items():
        e = result["after"]
        short = e.get("horizons", {})
        horizons = " / ".join(f"{h['position_error_mean']:.4f}" for h in short.values())
        lines.append(
            f"| {name} | {e['position_error_mean']:.4f} ({e['position_error_median']:.4f}) "
            f"| {e['rotation_error_mean']:.2f} ({e['rotation_error_median']:.2f}) "
            f"| {horizons or '–'} | {result.get('rollouts', '–')} |"
        )
    lines += ["", "| model | parameter | value | standard error |", "|---|---|---|---|"]
    for name, result in results.items():
        for parameter, entry in result.get("parameters", {}).items():
            error = entry["standard_error"]
            spread = "–" if error is None else f"{error:.2g}"
            lines.append(f"| {name} | {parameter} | {entry['value']:.5g} | {spread} |")
    return "\n".join(lines)


def save(results: dict[str, dict]) -> None:
    (HERE / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    head = (
        "# The real cube\n\nWritten by `run.py`. Errors of whole tosses that were not fitted, from "
        "their second sample to their end.\n\n"
    )
    (HERE / "results.md").write_text(head + table(results) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="Identify the real cube")
    parser.add_argument("data", type=Path)
    tosses = read_tosses(parser.parse_args().data)
    results: dict[str, dict] = {}
    if importlib.util.find_spec("mujoco"):
        results["MuJoCo, fitted by search"] = baseline(tosses)
    for name, (names, law) in MODELS.items():
        found, results[name] = fit_model(tosses, names, law)
        print(name, json.dumps(results[name]["after"]), flush=True)
        save(results)
        if name == PICTURED:
            picture(found, tosses).savefig(HERE / "identify.png")
    print(table(results))


if __name__ == "__main__":
    main()
