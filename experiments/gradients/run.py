"""Derivatives of every mode in every input against central differences: a table and a heat map.

    python experiments/gradients/run.py [SCENE …]

Writes results.csv, results.md and errors.png beside itself; scenes that are named replace their
rows of an earlier run. There is nothing random.
"""

import csv
import sys
from pathlib import Path

import jax

from experiments.gradients.report import write
from experiments.gradients.scenes import SCENES, H
from jaxccp import EulerImplicitLinearized
from jaxccp.testing import check_gradients

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results.csv"
FIELDS = (
    *("scene", "law", "precision", "input", "error", "agrees", "wrong", "kink", "unresolved"),
    *("no effect", "non-finite", "labels"),
)


def cells(name: str, law: str, precision: int) -> list[dict[str, object]]:
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
        | {verdict: one.verdicts.get(verdict, 0) for verdict in FIELDS[5:-1]}
        | {"labels": " ".join(e.label for e in one.entries if e.verdict in TOLD)}
        for one in found.inputs
    ]


TOLD = ("wrong", "kink", "unresolved", "non-finite")
"""Verdicts of entries that are named."""


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    wanted = sys.argv[1:] or list(SCENES)
    rows: list[dict[str, object]] = []
    if RESULTS.exists():
        with RESULTS.open(newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["scene"] not in wanted]
    for name in wanted:
        for law in ("ccp", "ncp"):
            for precision in (64, 32):
                rows += cells(name, law, precision)
        with RESULTS.open("w", newline="") as file:
            writer = csv.DictWriter(file, FIELDS)
            writer.writeheader()
            writer.writerows(sorted(rows, key=lambda row: list(SCENES).index(str(row["scene"]))))
    write(HERE)


if __name__ == "__main__":
    main()
