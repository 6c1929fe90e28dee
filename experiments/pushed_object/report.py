"""Write the page and the picture of the pushed box."""

import jax
import matplotlib
import numpy as np

from experiments.pushed_object.task import FOLDER, PEER_ITERATIONS, TRUTH
from jaxccp.identify import Problem


def page(results: dict) -> None:
    """Write results.md from the results.

    Args:
        results: content of results.json.
    """
    peer = results["peer"]
    head = "| parameter | true | start | identified | ± 95 % | error |"
    lines = [
        "# A pushed box",
        "",
        f"{results['quick']} pushes that make and break contact and {results['slow']} slow ones, "
        "simulated by MuJoCo (elliptic cones, soft contact, steps of 0.2 ms) with noise, "
        "identified with hard contact in steps of 5 ms by "
        "`python -m experiments.pushed_object.run`: "
        f"{results['evaluations']} evaluations of residuals and Jacobian, "
        f"{results['cpu_seconds']} s of the processor.",
        "",
        head + (" mujoco.sysid |" if peer else ""),
        "|---" * (head.count("|") - 1 + bool(peer)) + "|",
    ]
    for k, (name, true) in enumerate(TRUTH.items()):
        value, start = results["values"][k], results["initial"][k]
        row = (
            f"| `{name}` | {true:g} | {start:g} | {value:.4g} | {results['interval'][k]:.2g} | "
            f"{100 * (value / true - 1):+.1f} % |"
        )
        lines.append(row + (f" {100 * (peer['values'][k] / true - 1):+.1f} % |" if peer else ""))
    outside = [
        f"`{name}`"
        for k, (name, true) in enumerate(TRUTH.items())
        if abs(results["values"][k] - true) > results["interval"][k]
    ]
    if outside:
        lines += [
            "",
            f"Outside their intervals: {', '.join(outside)}. Intervals cover noise and what pushes "
            "differ by, not differences between the models: with the true values "
            f"errors of prediction are {results['errors']['true values']['overall']:.2g} times the "
            f"noise, with those identified {results['errors']['identified']['overall']:.2g} times.",
        ]
    if peer:
        lines += [
            "",
            "mujoco.sysid, with its default weights and scales, has the contact that the pushes "
            "were simulated with, and its errors of "
            f"the model are those of steps of 0.5 ms: {peer['evaluations']} simulations of all "
            f"pushes, {peer['cpu_seconds']} s of the processor. It was given at most "
            f"{PEER_ITERATIONS} iterations, where it takes up to 200 if left to itself: its values "
            "may not be where it would have ended.",
        ]
    names = list(results["errors"]["identified"])
    lines += [
        "",
        "Errors of prediction from measured starts (root mean square; m, rad, overall over the "
        "noise):",
        "",
        "| parameters | " + " | ".join(name.replace("|", "") for name in names) + " |",
        "|---" * (len(names) + 1) + "|",
    ]
    for which, errors in results["errors"].items():
        cells = " | ".join(f"{errors[name]:.3g}" for name in names)
        lines.append(f"| {which} | {cells} |")
    lines += ["", "Directions that are determined worst:", ""]
    for which, title in (("all_pushes", "all pushes"), ("slow_pushes", "slow pushes alone")):
        lines += [f"- {title}: {text}" for text in results[which]["weakest"]]
    lines += ["", "![Measured and simulated pushes](pushes.png)", ""]
    (FOLDER / "results.md").write_text("\n".join(lines), encoding="utf-8")


def picture(task: Problem, results: dict) -> None:
    """Draw the box's motion, measured and simulated.

    Args:
        task: identification.
        results: content of results.json.
    """
    matplotlib.use("Agg")
    from matplotlib import pyplot

    plan, parameter_set = task.plans[0], task.sets[0]
    shown = jax.jit(
        jax.vmap(
            lambda values, segment: plan.curves(  # type: ignore[attr-defined]
                parameter_set.apply(plan.subject, values), segment, np.zeros(0)
            )[2],
            in_axes=(None, 0),
        )
    )
    segments = plan.batch.take(np.arange(len(plan.batch)))
    curves = {
        name: np.asarray(shown(np.asarray(results[name]), segments))
        for name in ("initial", "values")
    }
    measured = np.asarray(segments.observed)
    first = next(i for i, channel in enumerate(plan.observations) if channel.kind == "pose")  # type: ignore[attr-defined]
    place = sum(channel.size for channel in plan.observations[:first])  # type: ignore[attr-defined]
    figure, axes = pyplot.subplots(2, 4, figsize=(14, 6), layout="constrained", sharex=True)
    for column, number in enumerate((0, 1, 2, len(measured) - 1)):
        time = np.asarray(segments.time)[number]
        for row, (label, of) in enumerate(
            (
                ("box along [m]", lambda pose: pose[:, 0]),
                ("box turned [rad]", lambda pose: 2 * np.arctan2(pose[:, 6], pose[:, 3])),
            )
        ):
            axis = axes[row, column]
            axis.plot(time, of(measured[number][:, place:]), "k.", ms=3, label="measured")
            for name, style, text in (
                ("initial", "--", "start"),
                ("values", "-", "identified"),
            ):
                axis.plot(time, of(curves[name][number][:, place:]), style, label=text)
            axis.grid(alpha=0.3)
            if column == 0:
                axis.set_ylabel(label)
        axes[0, column].set_title("slow push" if column == 3 else f"push {number}")
        axes[1, column].set_xlabel("time [s]")
    axes[0, 0].legend()
    figure.savefig(FOLDER / "pushes.png", dpi=100)
    pyplot.close(figure)
