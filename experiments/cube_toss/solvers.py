"""The same identification with different solvers: what it finds, and what it costs.

    python experiments/cube_toss/solvers.py DATA.npz

Friction, restitution and size under Coulomb's law, on the data and the split of run.py. The
derivative does not depend on the solver, so that differences are those of accuracy. Writes
solvers.md beside this file.
"""

import argparse
import time
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

from jaxccp.ccp import SOLVERS  # noqa: E402
from jaxccp.identify.fit import Descent  # noqa: E402
from jaxccp.identify.pipeline import Settings, identify  # noqa: E402
from jaxccp.io.tosses import read_tosses  # noqa: E402

HERE = Path(__file__).parent
NAMES = ("friction", "restitution", "half_width")
SOLVED_BY = ("apgd", "admm", "psor", "newton")
DESCENT = Descent(seed=0)


def main() -> None:
    parser = argparse.ArgumentParser(description="Identify the real cube with several solvers")
    parser.add_argument("data", type=Path)
    tosses = read_tosses(parser.parse_args().data)
    lines = [
        "# The real cube, by solver\n\nWritten by `solvers.py`: errors of tosses not fitted, in "
        "cube widths and degrees; seconds of the whole fit on one machine, compilation included.\n",
        "| solver | friction | restitution | half width [m] | position mean (median) "
        "| rotation mean (median) | seconds |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in SOLVED_BY:
        settings = Settings(NAMES, "ncp", SOLVERS[name](), holdout=0.5, descent=DESCENT)
        start = time.perf_counter()
        found = identify(tosses, settings)
        spent = time.perf_counter() - start
        values = " | ".join(f"{value:.5f}" for value in found.fit.values)
        position, middle, turn, turn_middle = found.after.whole.summary().values()
        errors = f"{position:.4f} ({middle:.4f}) | {turn:.2f} ({turn_middle:.2f})"
        lines.append(f"| {name} | {values} | {errors} | {spent:.0f} |")
        print(lines[-1], flush=True)
        (HERE / "solvers.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
