"""Measure the cost of one matrix-free Delassus product per contact, on one core.

    python experiments/delassus/run.py

Writes results.csv and results.png beside this file. The contact graphs are a pile (spheres on a
lattice, in an order in which neighbours, which touch, are near in memory) and, as the worst case,
the same number of bodies with random partners. Products run inside one compiled loop, so that
dispatch does not count. Loops are shorter than a scheduler's time slice, and each figure is the
fastest of many, taken in turns, because other processes only ever add time. The floor is the time
of the unavoidable memory traffic (rows twice, impulses in and out, indices twice) at the bandwidth
of a plain stream of the rows' size.
"""

import csv
import os
import platform
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

CORE = min(os.sched_getaffinity(0))
os.sched_setaffinity(0, {CORE})  # before jax starts its threads, which inherit it

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import matplotlib  # noqa: E402
import numpy as np  # noqa: E402

from jaxccp.ccp import BodyDelassus, DenseDelassus  # noqa: E402

matplotlib.use("Agg")
jax.config.update("jax_enable_x64", True)

SEED = 0
CONTACTS = (50, 100, 300, 1_000, 3_000, 10_000, 30_000, 100_000)
DENSE_UP_TO = 300
SECONDS = 0.002
"""Length of one timed loop [s]."""
REPETITIONS = 200
TARGET = 40.0
"""Time of one product that this project aims at [ns per contact]."""
FOLDER = Path(__file__).resolve().parent


def pile(contacts: int) -> np.ndarray:
    """Return the pairs of bodies of a pile, shape (contacts, 2).

    They are the first ``contacts`` pairs of neighbours on a cubic lattice; body 0 is the floor.
    """
    width = max(2, round((contacts / 3) ** (1 / 3)))
    cells = np.stack(np.meshgrid(*[np.arange(width + 2)] * 3, indexing="ij"), -1).reshape(-1, 3)
    index = 1 + np.arange(len(cells)).reshape(width + 2, width + 2, width + 2)
    pairs = [np.stack([np.zeros(1, int), index[0, 0, :1]], 1)]
    for axis in range(3):
        low = np.take(index, range(width + 1), axis).ravel()
        high = np.take(index, range(1, width + 2), axis).ravel()
        pairs.append(np.stack([low, high], 1))
    pairs.append(np.stack([np.zeros((width + 2) ** 2, int), index[0].ravel()], 1))
    every = np.concatenate(pairs)
    return every[np.lexsort((every[:, 0], every.max(axis=1)))][:contacts]


def scattered(contacts: int) -> np.ndarray:
    """Return random pairs of as many bodies as the pile has, shape (contacts, 2)."""
    bodies = pile(contacts).max() + 1
    rng = np.random.default_rng(SEED)
    first = rng.integers(1, bodies, contacts)
    return np.stack([first, 1 + (first + rng.integers(0, bodies - 2, contacts)) % (bodies - 1)], 1)


def operator(pairs: np.ndarray, dtype: type) -> BodyDelassus:
    """Build the operator N of random rows for the pairs of bodies.

    The rows are scaled so that N has norm about 1 and repeated products stay finite.
    """
    count, rng = len(pairs), np.random.default_rng(SEED)
    rows = jnp.asarray(0.1 * rng.normal(size=(count, 3, 12)), dtype)
    none, pairless = jnp.zeros((0, 12), dtype), jnp.zeros((0, 2), jnp.int32)
    compliance = jnp.full(3 * count, 1e-3, dtype)
    ids = jnp.asarray(pairs, jnp.int32)
    return BodyDelassus(none, rows, pairless, ids, compliance, int(pairs.max()) + 1)


@partial(jax.jit, static_argnames="body")
def loop(body: Callable, tree, x: jax.Array, count: jax.Array) -> jax.Array:
    """Apply ``body`` repeatedly, each time to the last result.

    Args:
        body: function of ``tree`` and the vector.
        tree: operands that do not change.
        x: initial vector.
        count: number of applications.
    """
    return jax.lax.fori_loop(0, count, lambda _, y: body(tree, y), x)


def product(delassus: BodyDelassus | DenseDelassus, x: jax.Array) -> jax.Array:
    return delassus.apply(x)


def stream(source: jax.Array, x: jax.Array) -> jax.Array:
    """Read both arrays and write one array of their size."""
    return 0.5 * x + source


def timer(body: Callable, tree, x: jax.Array) -> Callable[[], float]:
    """Return a function that measures the time of one application, in a loop of about SECONDS [s].

    Args:
        body: function of ``tree`` and the vector.
        tree: operands that do not change.
        x: initial vector.
    """

    def run(count: int) -> float:
        start = time.perf_counter()
        loop(body, tree, x, count).block_until_ready()
        return (time.perf_counter() - start) / count

    run(1)
    count = 1  # grown from the fastest of several loops: one alone may have been interrupted
    while count * (fastest := min(run(count) for _ in range(10))) < SECONDS / 2:
        count = min(4 * count, int(SECONDS / fastest))
    return partial(run, count)


def main() -> None:
    table = []
    for dtype in (np.float32, np.float64):
        for contacts in CONTACTS:
            x = jnp.asarray(np.random.default_rng(SEED).normal(size=3 * contacts), dtype)
            local, scrambled = operator(pile(contacts), dtype), operator(scattered(contacts), dtype)
            timers = {"pile": timer(product, local, x), "random": timer(product, scrambled, x)}
            if contacts <= DENSE_UP_TO:
                timers["dense"] = timer(product, DenseDelassus(local.dense()), x)
            # Rows are read twice (Wᵀ λ, then W v); one stream of their size reads two arrays.
            size = local.contact_rows.size
            timers["rows"] = timer(stream, jnp.ones(size, dtype), jnp.ones(size, dtype))
            best = {name: np.inf for name in timers}
            for _ in range(REPETITIONS):
                for name, run in timers.items():
                    best[name] = min(best[name], run())
            nanoseconds = {name: 1e9 * value / contacts for name, value in best.items()}
            traffic = 3 * size * np.dtype(dtype).itemsize
            bandwidth = traffic / best["rows"] / 1e9
            # Rows and impulses in, impulses out, indices twice: what a product must touch.
            must = 2 * size + 2 * 3 * contacts
            floor = (must * np.dtype(dtype).itemsize + 16 * contacts) / bandwidth / contacts
            row = {
                "precision": np.dtype(dtype).name,
                "contacts": contacts,
                "bodies": local.bodies,
                "pile_ns": nanoseconds["pile"],
                "random_ns": nanoseconds["random"],
                "dense_ns": nanoseconds.get("dense", np.nan),
                "floor_ns": floor,
                "bandwidth_gb_s": bandwidth,
            }
            table.append(row)
            print(
                " ".join(f"{k}={v if isinstance(v, str) else f'{v:.4g}'}" for k, v in row.items())
            )
    write(table)
    picture(table)


def write(table: list[dict]) -> None:
    with (FOLDER / "results.csv").open("w", newline="") as file:
        environment = f"one core, load {os.getloadavg()[0]:.1f}"
        file.write(f"# jax {jax.__version__}, Python {platform.python_version()}, {environment}\n")
        writer = csv.DictWriter(file, table[0], lineterminator="\n")
        writer.writeheader()
        for row in table:
            writer.writerow({k: f"{v:.1f}" if isinstance(v, float) else v for k, v in row.items()})


def picture(table: list[dict]) -> None:
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), sharey=True, layout="constrained")
    for ax, precision in zip(axes, ("float32", "float64"), strict=True):
        rows = [row for row in table if row["precision"] == precision]
        sizes = [row["contacts"] for row in rows]
        styles = {"pile": "o-", "random": "s--", "dense": "^:", "floor": "k-"}
        for name, style in styles.items():
            ax.loglog(sizes, [row[f"{name}_ns"] for row in rows], style, label=name, ms=4)
        ax.axhline(TARGET, color="tab:red", lw=0.8, label="target")
        ax.set(title=precision, xlabel="contacts")
    axes[0].set_ylabel("one product [ns per contact]")
    axes[1].legend()
    figure.savefig(FOLDER / "results.png", dpi=110)


if __name__ == "__main__":
    main()
