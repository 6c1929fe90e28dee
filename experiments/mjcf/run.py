"""Compare model files with MuJoCo: accelerations, and trajectories as steps get shorter.

    python -m experiments.mjcf.run

Float64, without contacts, limits and dry friction. Also measures how long complete models take to
compile. Takes every model of the installed packages gymnasium and brax (those not installed are
left out) and of examples/models. Writes results.md, with the remarks of notes.md, and
convergence.png to this folder.
"""

import importlib.util
import os
import platform
import tempfile
from pathlib import Path

import jax

jax.config.update("jax_enable_x64", True)

import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402
from matplotlib.figure import Figure  # noqa: E402
from rich.progress import track  # noqa: E402

from experiments.mjcf import compiling, reference  # noqa: E402
from experiments.mjcf.reference import mujoco  # noqa: E402
from jaxccp import EulerImplicitLinearized, accelerations, load, rollout  # noqa: E402
from jaxccp.io import InputError, Loaded  # noqa: E402

FOLDER = Path(__file__).parent
EXAMPLES = FOLDER.parents[1] / "examples" / "models"
STATES = 5
"""Number of random states of each model."""
STEPS = (4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4)
"""Step lengths of the trajectories [s]."""
DURATION = 0.4
TRACED = ("arm", "quadruped", "four_bar", "hopper", "ant")
"""Models whose trajectories are computed."""
COMPILED = ("arm", "quadruped", "hopper", "ant", "humanoid")


def models() -> list[tuple[str, Path]]:
    """Return package and file of every model."""
    files = [("examples", path) for path in sorted(EXAMPLES.glob("*.xml"))]
    for package in ("gymnasium", "brax"):
        spec = importlib.util.find_spec(package)
        for folder in spec.submodule_search_locations or [] if spec else []:
            files += [(package, path) for path in sorted(Path(folder).rglob("*.xml"))]
    return files


def error(path: Path, loaded: Loaded) -> float:
    """Return the largest error of qacc over the states, relative to MuJoCo's largest entry."""
    theirs = reference.smooth(path)

    @jax.jit
    def jaxccp_qacc(qpos: jax.Array, qvel: jax.Array, ctrl: jax.Array) -> jax.Array:
        state = loaded.layout.state(loaded.model, loaded.state, qpos, qvel)
        computed = accelerations(loaded.model, state, loaded.layout.control(ctrl))
        return loaded.layout.acceleration(state, computed)

    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(STATES):
        drawn = reference.random_state(theirs, rng)
        expected = reference.accelerations(theirs, *drawn)
        computed = np.asarray(jaxccp_qacc(*map(jnp.asarray, drawn)))
        size = np.abs(expected).max()
        worst = max(worst, np.abs(computed - expected).max() / (size if size > 0 else 1.0))
    return worst


def table() -> list[str]:
    """Return the rows of the table of acceleration errors."""
    rows = ["| package | model | dof | qacc, relative error | left out |", "|---|---|---|---|---|"]
    for package, path in track(models(), description="accelerations"):
        try:
            loaded = load(path, allow_unsupported=True)
            left_out = "; ".join(loaded.ignored)
            figure = f"{error(path, loaded):.1e}"
            dof = str(loaded.layout.places.nv)
        except InputError as refusal:
            dof, figure, left_out = "", "refused", str(refusal).replace(f"{path}: ", "")
        rows.append(f"| {package} | {path.stem} | {dof} | {figure} | {left_out} |")
    return rows


def convergence(path: Path) -> list[float]:
    """Return the error of qpos after DURATION against MuJoCo's RK4, for each step [m, rad]."""
    spec = mujoco.MjSpec.from_file(str(path))
    for flag in reference.SMOOTH:
        spec.option.disableflags |= int(getattr(mujoco.mjtDisableBit, f"mjDSBL_{flag}"))
    spec.compile()
    with tempfile.TemporaryDirectory() as folder:
        smooth = Path(folder) / path.name
        smooth.write_text(spec.to_xml())
        loaded, theirs = load(smooth, allow_unsupported=True), reference.smooth(smooth)
    qpos, qvel, ctrl = reference.random_state(theirs, np.random.default_rng(1), 0.2)
    expected, _ = reference.trajectory(theirs, qpos, qvel, ctrl, DURATION)
    state = jax.jit(loaded.layout.state)(
        loaded.model, loaded.state, jnp.asarray(qpos), jnp.asarray(qvel)
    )
    control = loaded.layout.control(jnp.asarray(ctrl))
    errors = []
    for h in track(STEPS, description=path.stem):
        steps = round(DURATION / h)
        controls = jnp.broadcast_to(control, (steps, len(control)))
        final, _ = rollout(
            loaded.model, state, EulerImplicitLinearized(h), steps, controls=controls, every=steps
        )
        reached, _ = loaded.layout.coordinates(loaded.model, final)
        errors.append(float(np.abs(reached - expected).max()))
    return errors


def picture(errors_by_model: dict[str, list[float]]) -> None:
    figure = Figure(figsize=(6.5, 4), layout="constrained")
    axes = figure.add_subplot()
    h = 1e3 * np.array(STEPS)
    for name, errors in errors_by_model.items():
        axes.loglog(h, errors, "o-", label=name)
    first = max(errors[0] for errors in errors_by_model.values())
    axes.loglog(h, first * h / h[0], "k:", label="first order")
    axes.set_xticks(h, [f"{step:g}" for step in h])
    axes.minorticks_off()
    axes.set_xlabel("step [ms]")
    axes.set_ylabel(f"error of qpos after {DURATION} s [m, rad]")
    figure.legend(loc="outside right center")
    figure.savefig(FOLDER / "convergence.png", dpi=150)


def _remarks() -> list[str]:
    """Return the remarks of notes.md on compile times, and an empty line; nothing without them."""
    notes = FOLDER / "notes.md"
    return [notes.read_text(encoding="utf-8")] if notes.exists() else []


def main() -> None:
    paths = {path.stem: path for package, path in models() if package != "brax"}
    compiled = {name: compiling.seconds(paths[name]) for name in COMPILED if name in paths}
    errors_by_model = {name: convergence(paths[name]) for name in TRACED if name in paths}
    rows = table()
    picture(errors_by_model)
    lines = [
        "# Model files against MuJoCo",
        "",
        f"`python -m experiments.mjcf.run`, mujoco {mujoco.__version__}, float64, without "
        "contacts, limits and dry friction.",
        "",
        "## Accelerations",
        "",
        f"Largest error over {STATES} random states and controls, relative to the largest entry of "
        "MuJoCo's `qacc_smooth`; with equality constraints, of the hard-constrained acceleration "
        "from MuJoCo's mass matrix and Jacobians.",
        "",
        *rows,
        "",
        "## Trajectories",
        "",
        f"Largest error of `qpos` after {DURATION} s against MuJoCo's RK4 with steps of 50 µs; "
        "with equality constraints, against RK4 with steps of 1 ms on the hard-constrained "
        "accelerations. The order is that of the last halving.",
        "",
        "| model | " + " | ".join(f"{1e3 * h:g} ms" for h in STEPS) + " | order |",
        "|---|" + "---|" * (len(STEPS) + 1),
    ]
    for name, errors in errors_by_model.items():
        order = np.log2(errors[-2] / errors[-1])
        lines.append(f"| {name} | " + " | ".join(f"{e:.2e}" for e in errors) + f" | {order:.2f} |")
    lines += ["", "![Error against step](convergence.png)", "", "## Compiling", ""]
    lines += [
        "Seconds to trace and compile a step with contacts, limits and all, and the gradient of "
        f"where it ends in where it began; {platform.machine()}, {os.cpu_count()} cores, "
        f"jax {jax.__version__}.",
        "",
        *_remarks(),
        "| model | step | gradient |",
        "|---|---|---|",
    ]
    lines += [f"| {name} | {a:.1f} | {b:.1f} |" for name, (a, b) in compiled.items()]
    lines.append("")
    (FOLDER / "results.md").write_text("\n".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main()
