"""Write the table and the picture of the comparison of impact laws."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

from experiments.ellipse_impacts.impacts import AXES

UNITS = {
    "restitution": "e {:.3f} ± {:.3f}",
    "friction": "μ {:.3f} ± {:.3f}",
    "inertia": "I/I₀ {:.2f} ± {:.2f}",
    "floor": "I_floor {:.2g} ± {:.1g} kg m²",
    "pivot": "x_pivot {:.3f} ± {:.3f} m",
    "angle": "δθ {:.3f} ± {:.3f} rad",
    "tangential": "k_t/k_n {:.1f} ± {:.1f}",
    "slip": "c {:.3f} ± {:.3f} s/m",
    "power": "p {:.2f} ± {:.2f}",
}


def write(path: Path, findings: Path, rows: list[dict], count: int, repeats: int) -> None:
    """Write the table of all laws, followed by the conclusions.

    Args:
        path: file to write.
        findings: file of the conclusions, which follow the table.
        rows: results of ``compare`` for all laws.
        count: number of impacts.
        repeats: number of repetitions of the cross-validation.
    """
    lines = [
        "# Impacts of an ellipse: which law",
        "",
        f"`python -m experiments.ellipse_impacts.run DATA` on {count} unflagged impacts; "
        f"{repeats} × 5-fold cross-validation, seeds 0 to {repeats - 1}. Error "
        "|v_pred − v⁺| / |v⁺| of impacts not fitted, in the kinetic-energy norm with "
        "I/m = 3.885e-4 m²; ± standard "
        "error over impacts; Δ: less the law above, ± its standard error (impacts paired). "
        "Intervals of parameters are 95 %.",
        "",
        "| law | numbers | mean | ± | median | Δ | parameters |",
        "|---|---|---|---|---|---|---|",
    ]
    before = None
    for row in rows:
        errors = np.array(row["errors"])
        spread = np.std(errors, axis=1, ddof=1).mean() / np.sqrt(count)
        change = ""
        if before is not None:
            gap = errors - before
            change = f"{gap.mean():+.4f} ± {np.std(gap, axis=1).mean() / np.sqrt(count):.4f}"
        before = errors
        numbers = ", ".join(
            UNITS[name].format(parameter["value"], parameter["interval"])
            for name, parameter in row["parameters"].items()
        )
        lines.append(
            f"| {row['name']} | {len(row['parameters'])} | {errors.mean():.4f} | {spread:.4f} | "
            f"{np.median(errors):.4f} | {change} | {numbers} |"
        )
    text = findings.read_text() if findings.exists() else ""
    path.write_text("\n".join(lines) + "\n\n![Errors of the laws](laws.png)\n\n" + text)


def draw(path: Path, rows: list[dict], recordings) -> None:
    """Draw the errors of the laws, and restitution against landing place and slip speed.

    Args:
        path: file of the picture.
        rows: results of ``compare`` for all laws.
        recordings: the impacts.
    """
    place, rate = (
        np.array(
            [[impact[f'{kind}["{axis}"]'].values[:, 0] for axis in AXES] for impact in recordings]
        )
        for kind in ("position", "rate")
    )
    place = place[:, :, 0]
    sine, cosine = np.sin(place[:, 2]), np.cos(place[:, 2])
    height = np.hypot(0.035 * sine, 0.025 * cosine)
    arm = -(0.035**2 - 0.025**2) * sine * cosine / height
    normal = rate[:, 1] + arm[:, None] * rate[:, 2]
    slip = rate[:, 0] + height[:, None] * rate[:, 2]
    ratio = -normal[:, 1] / normal[:, 0]
    figure, axes = plt.subplots(1, 3, figsize=(16, 5), width_ratios=(1.3, 1, 1))
    means = [np.mean(row["errors"]) for row in rows]
    spread = [np.std(row["errors"], axis=1).mean() / np.sqrt(len(recordings)) for row in rows]
    where = np.arange(len(rows))[::-1]
    axes[0].barh(where, means, xerr=spread, color="tab:blue", alpha=0.7)
    axes[0].set_yticks(where, [row["name"] for row in rows], fontsize=8)
    axes[0].set_xlim(0.1, 0.22)
    axes[0].set_xlabel("error of impacts not fitted")
    shown = axes[1].scatter(place[:, 0], ratio, c=-rate[:, 0, 0], s=8, cmap="viridis")
    figure.colorbar(shown, label="−v_x before [m/s]")
    axes[1].set(xlabel="landing place x [m]", ylabel="−u_n⁺ / u_n⁻", ylim=(0.3, 0.8))
    turning = (height * rate[:, 2, 0])[:, None]
    shown = axes[2].scatter(slip[:, 0], ratio, c=turning[:, 0], s=8, cmap="coolwarm")
    figure.colorbar(shown, label="spin's part of the slip, h ω [m/s]")
    axes[2].set(xlabel="slip u_t before [m/s]", ylabel="−u_n⁺ / u_n⁻", ylim=(0.3, 0.8))
    figure.tight_layout()
    figure.savefig(path, dpi=90)
