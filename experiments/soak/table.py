"""Write the table of README.md from the counts."""

from pathlib import Path

MARK = "<!-- results -->"
"""Marker in README.md after which the table is written."""


def written(page: Path, results: dict[str, dict[str, dict[str, float]]]) -> None:
    """Write the table into a page, after its marker."""
    head = page.read_text(encoding="utf-8").split(MARK)[0]
    page.write_text(f"{head}{MARK}\n\n{table(results)}\n", encoding="utf-8")


def table(results: dict[str, dict[str, dict[str, float]]]) -> str:
    """Return a table with a line for each environment and a last one for all."""
    lines = [
        "| environment | steps | steps/s | episodes | unsolved | overflow | not finite | escaped "
        "| bad actions: steps | NaN, clipped entries | not finite | refuses shapes |",
        "|---|" + "---|" * 11,
    ]
    total = dict.fromkeys(("steps", "solves", "unsolved", "overflow", "wrong", "escaped"), 0.0)
    for name, both in results.items():
        good, bad = both["good"], both["bad"]
        wrong = good["non_finite"] + good["not_finite_shown"]
        for key in total:
            total[key] += wrong if key == "wrong" else good[key]
        lines.append(
            f"| `{name}` | {good['steps']:,} | {good['steps'] / good['seconds']:,.0f} "
            f"| {good['episodes']:,} | {_share(good['unsolved'], good['solves'])} "
            f"| {_share(good['overflow'], good['solves'])} | {wrong} | {good['escaped']} "
            f"| {bad['steps']:,} | {bad['action_nan']:,}, {bad['action_clipped']:,} "
            f"| {bad['non_finite'] + bad['not_finite_shown']} "
            f"| {'yes' if bad['refuses'] else 'no'} |"
        )
    lines.append(
        f"| all | {total['steps']:,.0f} | | | {_share(total['unsolved'], total['solves'])} "
        f"| {_share(total['overflow'], total['solves'])} | {total['wrong']:.0f} "
        f"| {total['escaped']:.0f} | | | | |"
    )
    return "\n".join(lines)


def _share(count: float, of: float) -> str:
    """Return a count, and its share in a million."""
    return f"{count:,.0f}" + (f" ({1e6 * count / of:.2g} in 10⁶)" if count else "")
