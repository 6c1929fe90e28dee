"""Identify random mechanisms with known parameters; count how often intervals contain them.

    python -m experiments.random_mechanisms.run [SEED …]

Twenty chains of one or two links with random axes, masses and numbers: ten in the air, simulated
by MuJoCo (Runge–Kutta, 0.25 ms), ten on a skate that slides and hops on a floor, with dry friction
in the joints, simulated by this engine with steps of 0.01 ms where the fit's are 1 ms and then
0.2 ms. Twenty sequences of half a second each, with noise of 1 mm and 1 mrad, whose level the fit
knows. Initial values are up to 25 % off.
Writes results.csv, results.md and intervals.png; mechanisms that are not named keep their last
results. Float64; all seeds fixed.
"""

import argparse
import csv
import time
from pathlib import Path

import jax
import numpy as np
from matplotlib.figure import Figure

import jaxccp
from experiments.random_mechanisms.mechanisms import STEPS, Mechanism, mechanism, recordings
from jaxccp.identify import Method, Problem, Simulate

FOLDER = Path(__file__).resolve().parent
TABLE = FOLDER / "results.csv"
METHOD = Method(iterations=60)
"""At the default limit of 30 iterations several of these fits had not converged."""
COUNT = 20
"""Number of mechanisms of the full study."""
SEGMENTS = (0.25, 0.5)
"""Lengths of the simulated segments, first the shorter then the longer one [s]; the longer one is
that of the recordings, so that each has a single start."""


def studied(chain: Mechanism) -> list[dict]:
    """Fit a mechanism and return a row for each parameter."""
    begin = time.perf_counter()
    loaded, recorded = jaxccp.load(chain.xml), recordings(chain)
    residual = Simulate(segment=SEGMENTS, h=STEPS)
    redundant, words = chain.redundant()
    fit = Problem(loaded, recorded, [*chain.parameters(), *redundant], residual, METHOD).fit()
    # Told by a narrow prior in the fit; identifiability leaves priors out.
    lines = [line.text for line in fit.identifiability.poorly_determined]
    named = any(all(word in line for word in words) for line in lines)
    took = time.perf_counter() - begin
    rows = []
    for name, value, error in zip(
        fit.names, fit.values, fit.uncertainty.standard_error, strict=True
    ):
        if name not in chain.true:
            continue
        rows.append(
            {
                "mechanism": chain.seed,
                "contact": chain.contact,
                "parameter": name,
                "true": chain.true[name],
                "found": float(value),
                "standard error": float(error),
                "errors off": float((value - chain.true[name]) / error),
                "redundant named": named,
                "seconds": round(took),
            }
        )
        print(rows[-1], flush=True)
    if not named:
        print("not named:", words, lines)
    return rows


def main() -> None:
    """Run the study of the mechanisms that the command line names."""
    parser = argparse.ArgumentParser(description="Random mechanisms")
    parser.add_argument("seeds", nargs="*", type=int, metavar="SEED", default=list(range(COUNT)))
    asked = parser.parse_args()
    jax.config.update("jax_enable_x64", True)
    for seed in asked.seeds:
        new_rows = studied(mechanism(seed))
        rows = [row for row in kept() if row["mechanism"] != seed] + new_rows
        rows.sort(key=lambda row: row["mechanism"])
        with TABLE.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(new_rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        written(rows)


def kept() -> list[dict]:
    """Return the rows of the last results from results.csv."""
    if not TABLE.exists():
        return []
    with TABLE.open() as file:
        return [
            row
            | {
                "mechanism": int(row["mechanism"]),
                "contact": row["contact"] == "True",
                "errors off": float(row["errors off"]),
                "redundant named": row["redundant named"] == "True",
            }
            for row in csv.DictReader(file)
        ]


def written(rows: list[dict]) -> None:
    """Write results.md and intervals.png."""
    lines = [
        "# Random mechanisms with known parameters",
        "",
        "Made by `python -m experiments.random_mechanisms.run`.",
        "",
        "| | mechanisms | parameters | within 2 standard errors | within 3 | redundant named |",
        "|---|---|---|---|---|---|",
    ]
    for label, of in (
        ("in the air, by MuJoCo", [row for row in rows if not row["contact"]]),
        ("with contact", [row for row in rows if row["contact"]]),
        ("all", rows),
    ):
        off = np.abs([row["errors off"] for row in of])
        named = {row["mechanism"]: row["redundant named"] for row in of}
        lines.append(
            f"| {label} | {len(named)} | {len(of)} | {np.mean(off < 2):.1%} "
            f"| {np.mean(off < 3):.1%} | {sum(named.values())} |"
        )
    lines += ["", "![Errors over standard errors](intervals.png)", ""]
    (FOLDER / "results.md").write_text("\n".join(lines))
    figure = Figure(figsize=(7, 3.2), layout="constrained")
    axes = figure.subplots()
    for contact, label in ((False, "in the air, by MuJoCo"), (True, "with contact")):
        of = [row for row in rows if row["contact"] == contact]
        axes.plot([r["mechanism"] for r in of], [r["errors off"] for r in of], "o", label=label)
    axes.axhspan(-2, 2, color="0.9", zorder=0)
    axes.set_xlabel("mechanism")
    axes.set_ylabel("error / standard error")
    axes.legend()
    figure.savefig(FOLDER / "intervals.png", dpi=110)


if __name__ == "__main__":
    main()
