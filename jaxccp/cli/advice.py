"""Advice on options of the command line if steps were not solved to their tolerance."""

ROBUST_SOLVERS = ("auto", "newton", "admm", "gradient-newton")
"""Solvers that converge on ill-conditioned problems, such as masses in a ratio of 1e5."""


def advice(unsolved: float, precision: int, solver: str) -> str:
    """Return a sentence with options to try; empty if every step was solved.

    For a box of 0.01 kg under one of 1000 kg, under Coulomb's law, APGD leaves 80 % of the steps
    unsolved in either precision, and the boxes creep by millimetres. ``auto``, ``newton`` and
    ``admm`` solve all steps in double precision, and reach 4e-4 m/s in single precision.

    Args:
        unsolved: fraction of the steps that were not solved to their tolerance.
        precision: bits of floating-point numbers.
        solver: name of the solver.
    """
    if not unsolved > 0:
        return ""
    options = []
    if precision == 32:
        options.append("--precision 64")
    if solver not in ROBUST_SOLVERS:
        options.append("--solver auto")
    if options:
        return "try " + " ".join(options)
    return "try a smaller --dt, another --solver, or compliant materials"
