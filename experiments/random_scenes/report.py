"""Write the page of the results in results.csv."""

import csv
from collections import defaultdict
from pathlib import Path

from jaxccp.ccp import Status

SUMMED = ("scenes", "non-finite values", "non-finite derivatives", *(s.name for s in Status))


def write(folder: Path) -> None:
    """Write results.md from the results.csv of a folder, followed by mended.md if there is one."""
    with (folder / "results.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    (folder / "results.md").write_text(_page(rows, folder / "mended.md"), encoding="utf-8")


def _page(rows: list[dict[str, str]], mended: Path) -> str:
    cells: dict[tuple[str, ...], dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for row in rows:
        for name in (*SUMMED, "with contacts"):
            cells[row["family"], row["law"], row["precision"]][name] += int(row[name] or 0)
    every = {
        name: sum(cell[name] for cell in cells.values()) for name in next(iter(cells.values()))
    }
    cells["all", "", ""].update(every)
    columns = (*SUMMED, "with contacts")
    lines = [
        "# Random scenes",
        "",
        "`python -m experiments.random_scenes.run` · two steps of 5 ms, at most 200 iterations",
        "each; derivatives in every number of model, state, force and control. The status is the",
        "worst of the two solves. What is drawn is in scenes.py: bodies that touch exactly,",
        "coincide, are stacked, piled deep into each other, at rest or fast; solids of 1 cm to",
        "10 m, now and then one a tenth or ten times the size of its neighbours; μ, e, gravity,",
        "rolling friction, springs and forces that vanish; joints at their limits and beyond,",
        "limits that coincide.",
        "",
        "| family | law | precision | "
        + " | ".join(c.replace("_", " ").lower() for c in columns)
        + " |",
        "|---" * (3 + len(columns)) + "|",
    ]
    for key, cell in cells.items():
        lines.append(f"| {' | '.join(key)} | " + " | ".join(str(cell[c]) for c in columns) + " |")
    if mended.exists():
        lines += ["", mended.read_text(encoding="utf-8").rstrip()]
    return "\n".join([*lines, ""])
