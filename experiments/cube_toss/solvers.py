"""The same identification with different solvers: what it finds, and what it costs.

    python experiments/cube_toss/solvers.py DATA.npz [SOLVER ...]

Friction, restitution and size under Coulomb's law, on the data and the split of run.py, in one
descent of 30 iterations over 40 samples: a quarter of run.py's rollouts, and short ones, so that
the fit predicts whole tosses less well. The derivative does not depend on the solver: differences
are those of accuracy. Writes a row of solvers.csv for each solver named (all of them if none is)
and solvers.md, beside this file.
"""

import argparse
import csv
import time
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

from jaxccp.ccp import SOLVERS  # noqa: E402
from jaxccp.identify.fit import Descent  # noqa: E402
from jaxccp.identify.pipeline import Settings, identify  # noqa: E402
from jaxccp.io.tosses import read_tosses  # noqa: E402

HERE = Path(__file__).parent
ROWS = HERE / "solvers.csv"
NAMES = ("friction", "restitution", "half_width")
SOLVED_BY = ("apgd", "auto", "admm", "psor", "newton")
HORIZONS = (40,)
DESCENT = Descent(iterations=30, seed=0)
ERRORS = (
    "position_error_mean",
    "position_error_median",
    "rotation_error_mean",
    "rotation_error_median",
)
HEAD = """# The real cube, by solver

Written by `solvers.py` from solvers.csv: errors of tosses not fitted, in cube widths and degrees;
processor time of the whole fit and of the errors, compilation included, each solver on one core.

| solver | friction | restitution | half width [m] | position mean (median) | \
rotation mean (median) | seconds |
|---|---|---|---|---|---|---|
"""


def measured(data: Path, name: str) -> dict[str, str]:
    """One solver's row."""
    settings = Settings(
        NAMES, "ncp", SOLVERS[name](), horizons=HORIZONS, holdout=0.5, descent=DESCENT
    )
    start = time.process_time()
    found = identify(read_tosses(data), settings)
    seconds = time.process_time() - start
    row = {"solver": name}
    row |= {key: f"{value:.5f}" for key, value in zip(NAMES, found.fit.values, strict=True)}
    row |= {key: f"{found.after.whole.summary()[key]:.4f}" for key in ERRORS}
    return row | {"seconds": f"{seconds:.0f}"}


def known() -> dict[str, dict[str, str]]:
    """The rows written so far, by solver."""
    if not ROWS.exists():
        return {}
    with ROWS.open(newline="") as file:
        return {row["solver"]: row for row in csv.DictReader(file)}


def write(row: dict[str, str]) -> None:
    """The row in place of an older one of its solver, and the table of all."""
    rows = known() | {row["solver"]: row}
    ordered = [rows[name] for name in SOLVED_BY if name in rows]
    with ROWS.open("w", newline="") as file:
        writer = csv.DictWriter(file, row.keys())
        writer.writeheader()
        writer.writerows(ordered)
    lines = []
    for each in ordered:
        values = " | ".join(each[name] for name in NAMES)
        shift, middle, turn, turn_middle = (float(each[key]) for key in ERRORS)
        errors = f"{shift:.4f} ({middle:.4f}) | {turn:.2f} ({turn_middle:.2f})"
        lines.append(f"| {each['solver']} | {values} | {errors} | {each['seconds']} |")
    (HERE / "solvers.md").write_text(HEAD + "\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description="Identify the real cube with several solvers")
    parser.add_argument("data", type=Path)
    parser.add_argument("solvers", nargs="*", metavar="SOLVER", help=", ".join(SOLVED_BY))
    arguments = parser.parse_args()
    unknown = set(arguments.solvers) - set(SOLVED_BY)
    if unknown:
        parser.error(f"no such solver here: {', '.join(sorted(unknown))}")
    for name in arguments.solvers or SOLVED_BY:
        row = measured(arguments.data, name)
        print(row, flush=True)
        write(row)


if __name__ == "__main__":
    main()
