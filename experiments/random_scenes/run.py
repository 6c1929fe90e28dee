"""Simulate 10 000 random scenes and count values and derivatives that are NaN or infinite.

    python -m experiments.random_scenes.run [--count 10000] [--seed 0] [--families NAME …]
        [--laws ccp ncp] [--precisions 64 32]

Scenes of each family (scenes.py) are divided equally among laws and precisions. Each is simulated
for STEPS steps, and a random combination of all numbers of the last state is differentiated with
respect to every number of model, first state, force and control, in reverse mode. Every finished
part is a line of results.csv and is not run again. Writes results.md to this folder.
"""

import argparse
import csv
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array

from experiments.random_scenes.report import write
from experiments.random_scenes.scenes import FAMILIES, scenes
from jaxccp import EulerImplicitLinearized, Model, State, Stop, rollout
from jaxccp.ccp import Law, Status

FOLDER = Path(__file__).resolve().parent
RESULTS = FOLDER / "results.csv"
H, STEPS = 5e-3, 2
CHUNK = 125
STOP = Stop(max_iterations=200)
"""Stopping criterion: degenerate problems are not solved by more iterations either, but their
derivatives must still be finite."""
STATUSES = [status.name for status in Status]
FIELDS = (
    *("family", "law", "precision", "seed", "part", "scenes", "non-finite values"),
    *("non-finite derivatives", "which", *STATUSES, "with contacts", "largest derivative"),
)


def differentiated(law: Law) -> Callable:
    """Return a compiled function that simulates and differentiates a batch of scenes.

    It returns, for each scene, whether the value is finite, whether each array of derivatives is,
    the largest derivative, the worst status of the solver and the largest number of contacts.
    """
    stepper = EulerImplicitLinearized(H, law, stop=STOP)

    def loss(numbers: tuple[Model, State, Array, Array], weights: Array):
        model, state, force, control = numbers
        forces, controls = (jnp.broadcast_to(x, (STEPS, *x.shape)) for x in (force, control))
        after, path = rollout(model, state, stepper, STEPS, forces, controls)
        values = (after.position, after.quaternion, after.velocity, after.angular_velocity)
        statistics = (path.report.solver.status.max(), path.report.contacts.max())
        return jnp.sum(weights * jnp.concatenate(values, axis=1)), statistics

    def single(numbers: tuple[Model, State, Array, Array], weights: Array):
        slope = jax.value_and_grad(loss, has_aux=True, allow_int=True)
        (value, statistics), slopes = slope(numbers, weights)
        floats = [x for x in jax.tree.leaves(slopes) if x.dtype == value.dtype and x.size]
        fine = jnp.stack([jnp.isfinite(x).all() for x in floats])
        largest = jnp.stack([jnp.abs(x).max() for x in floats]).max()
        return jnp.isfinite(value), fine, largest, *statistics

    return jax.jit(jax.vmap(single))


def part(family: str, law: Law, precision: int, seed: int, index: int, size: int) -> dict:
    """Run one part of the scenes and return its line of the results.

    Args:
        family: name of the family of scenes.
        law: contact law.
        precision: bits of a floating-point number, 32 or 64.
        seed: seed of the study.
        index: number of the part, which is part of the seed.
        size: number of scenes.
    """
    dtype = jnp.float64 if precision == 64 else jnp.float32
    model, state = FAMILIES[family]()
    random = np.random.default_rng([seed, index, list(FAMILIES).index(family)])
    models, states = scenes(model, state, random, size)
    nb, nm = states.position.shape[1], len(model.topology.linkage.actuators)
    # Several times what would lift a body, with a lever of about its size.
    mass = np.asarray(models.bodies.mass)[:, :, None]
    force = mass * np.where(np.arange(6) < 3, 1.0, 0.2 * np.cbrt(mass))
    force *= random.choice([0.0, 30.0], (size, 1, 1)) * random.normal(size=(size, nb, 6))
    control = random.choice([0.0, 1.0], (size, 1)) * random.normal(size=(size, nm))
    weights = random.normal(size=(size, nb, 13))

    def cast_to(leaf: Array) -> Array:
        leaf = jnp.asarray(leaf)
        return leaf.astype(dtype) if jnp.issubdtype(leaf.dtype, jnp.floating) else leaf

    numbers, weights = jax.tree.map(cast_to, ((models, states, force, control), weights))
    run = _compiled.setdefault((family, law, precision), differentiated(law))
    fine, slopes, largest, status, contacts = map(np.asarray, run(numbers, weights))
    wrong = ~slopes.all(axis=1)
    return {
        "family": family,
        "law": law,
        "precision": precision,
        "seed": seed,
        "part": index,
        "scenes": size,
        "non-finite values": int(np.sum(~fine)),
        "non-finite derivatives": int(np.sum(wrong)),
        "which": " ".join(map(str, np.flatnonzero(wrong | ~fine))),
        **{status_.name: int(np.sum(status == status_)) for status_ in Status},
        "with contacts": int(np.sum(contacts > 0)),
        "largest derivative": f"{largest[~wrong].max():.1e}",
    }


_compiled: dict[tuple[str, Law, int], Callable] = {}


def main() -> None:
    jax.config.update("jax_enable_x64", True)
    # Two steps run for less time than their program takes to be optimised.
    jax.config.update("jax_disable_most_optimizations", True)
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--families", nargs="+", default=list(FAMILIES))
    parser.add_argument("--laws", nargs="+", default=["ncp", "ccp"])
    parser.add_argument("--precisions", nargs="+", type=int, default=[64, 32])
    options = parser.parse_args()
    parts = -(-options.count // (len(FAMILIES) * 4 * CHUNK))
    for family, law, precision in product(options.families, options.laws, options.precisions):
        for index in range(parts):
            # Laws and precisions have scenes of their own.
            place = index + parts * (2 * ("ccp", "ncp").index(law) + (precision == 32))
            if _is_done(family, law, precision, options.seed, place):
                continue
            start = time.process_time()
            row = part(family, cast(Law, law), precision, options.seed, place, CHUNK)
            print(row, f"{time.process_time() - start:.0f} s", flush=True)
            keep(row)
    write(FOLDER)


def _rows() -> list[dict[str, str]]:
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def _is_done(*key: object) -> bool:
    names = ("family", "law", "precision", "seed", "part")
    return any([row[name] for name in names] == list(map(str, key)) for row in _rows())


def keep(row: dict) -> None:
    """Add a line to results.csv."""
    rows = [*_rows(), row]
    with RESULTS.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(rows)


if __name__ == "__main__":
    main()
