"""Derivatives of every mode in every input against central differences: a table and a heat map.

    python experiments/gradients/run.py [SCENE …] [--laws ncp] [--precisions 64]

Writes results.csv, results.md and errors.png beside itself; what is run replaces its rows of an
earlier run. There is nothing random.
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

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.csv"
FIELDS = (
    *("scene", "law", "precision", "input", "error", "agrees", "wrong", "kink", "unresolved"),
    *("no effect", "non-finite", "labels"),
)


def cells(name: str, law: Law, precision: int) -> list[dict[str, Any]]:
    """A row for each input of one motion."""
    scene = SCENES[name]
    model, state, controls = scene.inputs()
    stepper = EulerImplicitLinearized(H, law)
    found = check_gradients(model, state, stepper, scene.steps, controls, precision=precision)
    missing = set(scene.met) - found.modes.keys()
    if missing:
        raise SystemExit(f"{name} under {law} does not meet {missing}, but {found.modes}")
    print(f"{name}, {law}, {precision}: {found.summary()}", flush=True)
    return [
        {"scene": name, "law": law, "precision": precision, "input": one.name, "error": one.error}
        | {verdict: one.verdicts.get(verdict, 0) for verdict in get_args(Verdict)}
        | {"labels": " ".join(e.label for e in one.entries if e.verdict in TOLD)}
        for one in found.inputs
    ]


TOLD = ("wrong", "kink", "unresolved", "non-finite")
"""Verdicts of entries that are named."""


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    parser = argparse.ArgumentParser()
    parser.add_argument("scenes", nargs="*", default=list(SCENES))
    parser.add_argument("--laws", nargs="+", default=["ccp", "ncp"])
    parser.add_argument("--precisions", nargs="+", type=int, default=[64, 32])
    wanted = parser.parse_args()
    for law, precision, name in product(wanted.laws, wanted.precisions, wanted.scenes):
        keep(cells(name, law, precision))
    write(HERE)


def keep(found: list[dict[str, Any]]) -> None:
    """Put these rows of one motion in the place of those of an earlier run."""
    rows: list[dict[str, Any]] = []
    motion = ("scene", "law", "precision")
    if RESULTS.exists():
        with RESULTS.open(newline="") as file:
            rows += csv.DictReader(file)
    taken = [str(found[0][part]) for part in motion]
    rows = [row for row in rows if [row[part] for part in motion] != taken] + found
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(sorted(rows, key=lambda row: list(SCENES).index(str(row["scene"]))))


if __name__ == "__main__":
    main()
