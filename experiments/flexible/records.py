"""Compare simulations of bricks with enhanced strains and of bilinear shells with whole records.

    python -m experiments.flexible.records [NAME …]

The records (multibody/fea of the real data sets, see CONTRIBUTING.md) were made with the HHT
method, which is used here, too. Writes records.md; with names it only prints their rows.
"""

import os
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from tests.reference.series import RECORDS, stepped

FOLDER = Path(__file__).parent
DATA = Path(os.environ.get("JAXCCP_DATA", FOLDER.parents[2] / "shared/data")) / "multibody/fea"


def main(names: list[str]) -> None:
    """Compare the rows of each record with a simulation, up to the number of steps in RECORDS."""
    if not DATA.exists():
        sys.exit(f"{DATA} is not there: put the reference data beside the checkout")
    jax.config.update("jax_enable_x64", True)
    lines = ["# Records of elements with enhanced strains\n"]
    lines += ["Written by `python -m experiments.flexible.records`.\n"]
    lines += ["| record | steps | rows | moves by | largest difference | in the first 40 steps |"]
    lines += ["|---|---|---|---|---|---|"]
    for name in names or RECORDS:
        record = RECORDS[name]
        data = np.load(DATA / f"{name}.npz")
        family = record.family(data)
        q = stepped(family, data["gravity"], 1e-3, record.steps, float(data["hht_alpha"]))
        place = jax.vmap(family.coordinates)(jnp.asarray(q))[:, family.layout.frames[-1]]
        step = np.round(data["time"] / 1e-3).astype(int)
        step = step[step <= record.steps]
        recorded = data[record.key].reshape(len(data["time"]), -1)[: len(step)]
        simulated = np.asarray(place)[step - 1][:, list(record.axes)]
        error = np.abs(simulated - recorded).max(axis=1)
        travel = np.abs(recorded - recorded[0]).max()
        lines += [
            f"| {name} | {record.steps} | {len(step)} | {travel:.3f} m | {error.max():.1e} m | "
            f"{error[step <= 40].max():.1e} m |"
        ]
        print(lines[-1], flush=True)
    if not names:
        (FOLDER / "records.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
