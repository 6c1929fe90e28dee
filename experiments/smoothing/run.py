"""Measure bias and scatter of plain, relaxed and smoothed gradients of four losses.

    python -m experiments.smoothing.run [EXAMPLE …]

The reference is the gradient of the loss smoothed by Gaussian noise. It is known, since the losses
have one argument, so that the integral is a sum over a grid. Estimates are repeated with different
noise. Float64, Coulomb's law, one seed. Writes results.json (examples that are run replace their
part of an earlier run), results.md and gradients.png to this folder.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from experiments.smoothing.report import write
from experiments.smoothing.scenes import EXAMPLES, Example
from jaxccp import smoothed_gradient
from jaxccp.ccp import Gradient
from jaxccp.math.smoothed_gradient import Estimator, SmoothedGradient

FOLDER = Path(__file__).resolve().parent
SEED = 7
SAMPLES = 100
"""Number of samples of an estimate."""
REPEATS = 16
GRID = 801
REACH = 4.0
"""Number of standard deviations by which the grid extends the range of the picture."""


def gradients(example: Example) -> dict[str, Gradient]:
    """Return the kinds of derivatives of contact that rollouts are differentiated with, by name."""
    kinds: dict[str, Gradient] = {"plain": "always"}
    if example.relaxed is not None:
        kinds["relaxed"] = replace(example.relaxed, distance=None)
        kinds["relaxed, at a distance"] = example.relaxed
    return kinds


def landscape(example: Example) -> tuple[np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Return a grid of arguments, the loss on it, and its derivatives of each kind."""
    reach = REACH * example.sigma
    grid = np.linspace(example.span[0] - reach, example.span[1] + reach, GRID)

    @jax.jit
    @jax.vmap
    def run(x: jax.Array) -> dict[str, tuple[jax.Array, jax.Array]]:
        def slope(gradient: Gradient) -> tuple[jax.Array, jax.Array]:
            return jax.jvp(lambda x: example.loss(x, gradient), (x,), (jnp.ones(()),))

        return {name: slope(gradient) for name, gradient in gradients(example).items()}

    outcomes = jax.tree.map(np.asarray, run(jnp.asarray(grid)))
    values = outcomes["plain"][0]
    for name, (same, _) in outcomes.items():
        assert np.abs(same - values).max() < 1e-12, f"{name} moves otherwise"
    return grid, values, {name: slope for name, (_, slope) in outcomes.items()}


def smoothed(grid: np.ndarray, values: np.ndarray, sigma: float, at: np.ndarray) -> np.ndarray:
    """Return E f(x + σ w) and E f(x + σ w) w / σ for the arguments x in ``at``, w Gaussian.

    Args:
        grid: arguments at which f is known.
        values: f on the grid.
        sigma: standard deviation σ of the noise.
        at: arguments x.
    """
    w = (grid - at[:, None]) / sigma
    weight = np.exp(-0.5 * w * w)
    weight /= weight.sum(axis=1, keepdims=True)
    # Without the mean's part, which sums to zero but for the grid's ends.
    mean = weight @ values
    return np.stack([mean, np.sum(weight * (values - mean[:, None]) * w, axis=1) / sigma])


def repeated(example: Example, estimator: Estimator, gradient: Gradient) -> SmoothedGradient:
    """Return REPEATS estimates of one kind, each with different noise.

    Args:
        example: loss and noise.
        estimator: estimator of the smoothed gradient.
        gradient: kind of derivatives of contact.
    """

    def loss(x: jax.Array) -> jax.Array:
        return example.loss(x, gradient)

    @jax.jit
    @jax.vmap
    def run(key: jax.Array) -> SmoothedGradient:
        x, sigma, accuracy = jnp.asarray(example.x), example.sigma, example.accuracy
        return smoothed_gradient(loss, x, key, sigma, SAMPLES, estimator, accuracy=accuracy)

    return run(jax.random.split(jax.random.key(SEED), REPEATS))


def estimates(example: Example) -> dict[str, dict[str, float]]:
    """Return mean, scatter and weight α of repeated estimates, by name."""
    methods: dict[str, tuple[Estimator, Gradient]] = {
        "first order": ("first", "always"),
        "zeroth order": ("zeroth", "always"),
        "mixed": ("mixed", "always"),
    }
    if example.relaxed is not None:
        methods["first order, relaxed"] = ("first", example.relaxed)
    rows = {}
    for name, (estimator, gradient) in methods.items():
        sample = repeated(example, estimator, gradient)
        rows[name] = {
            "mean": float(sample.gradient.mean()),
            "scatter": float(sample.gradient.std(ddof=1)),
            "share": float(sample.share.mean()),
            "rollouts": SAMPLES * (2 if estimator == "mixed" else 1),
        }
        print(f"  {name}: {rows[name]}", flush=True)
    return rows


def measured(example: Example) -> dict:
    """Return the true gradient, estimates and curves of one example."""
    grid, values, slopes = landscape(example)
    inside = (grid >= example.span[0]) & (grid <= example.span[1])
    curves = smoothed(grid, values, example.sigma, grid[inside])
    first = smoothed(grid, slopes["plain"], example.sigma, grid[inside])[0]
    point = np.array([example.x])
    truth = smoothed(grid, values, example.sigma, point)[1, 0]
    expected = smoothed(grid, slopes["plain"], example.sigma, point)[0, 0]
    print(f"  truth {truth:.4g}; mean of plain slopes {expected:.4g}", flush=True)
    single = {
        name: {"mean": float(np.interp(example.x, grid, slope)), "scatter": 0.0, "rollouts": 1}
        for name, slope in slopes.items()
    }
    return {
        "truth": truth,
        "mean slope": expected,
        "rows": single | estimates(example),
        "curves": {
            "x": grid[inside],
            "loss": values[inside],
            "smoothed": curves[0],
            "truth": curves[1],
            "mean slope": first,
            **{name: slope[inside] for name, slope in slopes.items()},
        },
    }


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("examples", nargs="*", default=list(EXAMPLES))
    results = FOLDER / "results.json"
    measurements = json.loads(results.read_text(encoding="utf-8")) if results.exists() else {}
    for name in parser.parse_args().examples:
        print(name, flush=True)
        measurements[name] = measured(EXAMPLES[name])
        text = json.dumps(measurements, default=lambda a: [float(f"{v:.4g}") for v in a])
        results.write_text(text + "\n", encoding="utf-8")
        measurements = json.loads(text)
    write(
        {name: measurements[name] for name in EXAMPLES if name in measurements},
        SAMPLES,
        REPEATS,
        FOLDER,
    )


if __name__ == "__main__":
    main()
