"""Compare derivatives in every mode and input with central differences: a table and a heat map.

    python -m experiments.gradients.run [SCENE …] [--laws ncp] [--precisions 64]

Writes results.csv, results.md and errors.png beside this file; what is run replaces its rows of an
earlier run. Nothing is random.
"""

import argparse
import csv
from itertools import product
from pathlib import Path
from typing import Any, get_args

import jax

from experiments.gradients.report import write
from experiments.gradients.scenes import SCENES, H
from jaxccp import EulerImplicitLinearized
from jaxccp.ccp import Law
from jaxccp.testing import Verdict, check_gradients

FOLDER = Path(__file__).resolve().parent
RESULTS = FOLDER / "results.csv"
FIELDS = (
    *("scene", "law", "precision", "input", "error", "agrees", "wrong", "kink", "unresolved"),
    *("no effect", "non-finite", "labels"),
)


def cells(name: str, law: Law, precision: int) -> list[dict[str, Any]]:
    """Return the rows of one motion, one for each input.

    Args:
        name: name of the scene.
        law: law of contact.
        precision: 64 or 32 bits.

    Raises:
        SystemExit: if the motion misses one of the modes that its scene requires.
    """
    scene = SCENES[name]
    model, state, controls = scene.inputs()
    stepper = EulerImplicitLinearized(H, law)
    report = check_gradients(model, state, stepper, scene.steps, controls, precision=precision)
    missing = set(scene.met) - report.modes.keys()
    if missing:
        raise SystemExit(f"{name} under {law} does not meet {missing}, but {report.modes}")
    print(f"{name}, {law}, {precision}: {report.summary()}", flush=True)
    return [
        {"scene": name, "law": law, "precision": precision, "input": row.name, "error": row.error}
        | {verdict: row.verdicts.get(verdict, 0) for verdict in get_args(Verdict)}
        | {"labels": " ".join(e.label for e in row.entries if e.verdict in LISTED)}
        for row in report.inputs
    ]


LISTED = ("wrong", "kink", "unresolved", "non-finite")
"""Verdicts whose entries are listed by label."""


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    parser = argparse.ArgumentParser()
    parser.add_argument("scenes", nargs="*", default=list(SCENES))
    parser.add_argument("--laws", nargs="+", default=["ccp", "ncp"])
    parser.add_argument("--precisions", nargs="+", type=int, default=[64, 32])
    options = parser.parse_args()
    for law, precision, name in product(options.laws, options.precisions, options.scenes):
        keep(cells(name, law, precision))
    write(FOLDER)


def keep(new: list[dict[str, Any]]) -> None:
    """Write the rows of one motion to results.csv, in place of those of an earlier run."""
    rows: list[dict[str, Any]] = []
    motion = ("scene", "law", "precision")
    if RESULTS.exists():
        with RESULTS.open(newline="") as file:
            rows += csv.DictReader(file)
    replaced = [str(new[0][part]) for part in motion]
    rows = [row for row in rows if [row[part] for part in motion] != replaced] + new
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: list(SCENES).index(str(row["scene"]))))


if __name__ == "__main__":
    main()
