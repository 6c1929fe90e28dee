"""Run the training loops of the algorithms, with points of curves and checkpoints to resume
from."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from experiments.training.checkpoint import Checkpoints
from experiments.training.config import POINTS, Ppo, Shac
from experiments.training.curve import CURVES, Clock, Curve, Row
from experiments.training.evaluate import Evaluate
from experiments.training.networks import Policy
from experiments.training.shac import Algorithm
from jaxccp import envs

OUT = Path("out/training")


@dataclass
class Run:
    """The outputs of one run: curve, checkpoints and best policy."""

    label: str
    evaluate: Evaluate
    seed: int
    curves: Path = CURVES
    out: Path = OUT

    def __post_init__(self) -> None:
        self.curve = Curve(self.curves / f"{self.label}.csv")
        self.checkpoints = Checkpoints(self.out / self.label)
        self.rows: list[Row] = []
        self.clock = Clock()

    def resume(self, steps: int) -> None:
        """Restore curve and clock to those of a checkpoint after so many steps."""
        self.rows = self.curve.rows(until=steps)
        if self.rows:
            self.clock = Clock(self.rows[-1]["cpu_s"], self.rows[-1]["wall_s"])

    def point(self, steps: int, policy: Policy, **metrics: float) -> None:
        """Add a point to the curve, while the clock is paused.

        The policy of the best point is kept as a file.
        """
        spent = self.clock.read()
        with self.clock.paused():
            key = jax.random.fold_in(jax.random.key(self.seed), steps)
            returns, lengths = map(np.asarray, self.evaluate(policy, key))
            row = {"steps": steps, "return": returns.mean(), "deviation": returns.std()}
            self.rows.append({**row, "length": lengths.mean(), **spent, **metrics})
            self.curve.write(self.rows)
            if row["return"] == max(past["return"] for past in self.rows):
                policy.save(self.out / f"{self.label}.npz")
            print(self.label, *(f"{k} {v:.4g}" for k, v in self.rows[-1].items()), flush=True)


def train_shac(run: Run, env: envs.AutoReset, settings: Shac, points: int = POINTS) -> None:
    """Run all updates of SHAC or APG, with a checkpoint at each point of the curve.

    Args:
        run: outputs of the run.
        env: environment of one copy.
        settings: settings of the algorithm.
        points: number of points of the curve.
    """
    algorithm = Algorithm(env, settings)
    learner = jax.jit(algorithm.init)(jax.random.key(run.seed))
    done = run.checkpoints.latest
    if done is not None:
        learner = run.checkpoints.restore(learner)
        run.resume(done * settings.batch)
    else:
        run.point(0, learner.policy, gradient=0.0, largest=0.0, skipped=0.0, unsolved=0.0)
    update = jax.jit(algorithm.update, donate_argnums=0)
    stops = {round(settings.updates * (k + 1) / points) for k in range(points)}
    history: list[dict[str, Any]] = []
    for number in range(done or 0, settings.updates):
        learner, metrics = update(learner)
        history.append(jax.device_get(metrics))
        if number + 1 in stops:
            column = {name: np.array([entry[name] for entry in history]) for name in metrics}
            run.point(
                (number + 1) * settings.batch,
                learner.policy,
                gradient=float(np.median(column["gradient"])),
                largest=float(np.max(column["gradient"])),
                skipped=float(np.sum(column["skipped"])),
                unsolved=float(np.mean(column["unsolved"])),
            )
            run.checkpoints.save(number + 1, learner)
            history = []


def train_ppo(run: Run, env: Any, settings: Ppo, length: int, points: int = POINTS) -> None:
    """Run all segments of PPO, with a checkpoint after each.

    Args:
        run: outputs of the run.
        env: environment of one copy, with brax's interface.
        settings: settings of the algorithm.
        length: largest number of steps of an episode.
        points: number of points of the curve.
    """
    from experiments.training import ppo

    share = points // settings.segments
    unit = settings.actors * settings.horizon * share
    segment_steps = -(-settings.steps // (settings.segments * unit)) * unit
    blank = ppo.segment(env, settings, length, 0, 0, 0.0, 1, None, lambda steps, trained: None)
    parameters, done = blank, run.checkpoints.latest or 0
    if done:
        parameters = run.checkpoints.restore(blank)
        run.resume(done * segment_steps)
    run.clock.since = Clock().since
    for number in range(done, settings.segments):
        before = parameters if number else None

        def record(steps: int, trained: Any, number: int = number) -> None:
            if steps > 0 or number == 0:
                run.point(number * segment_steps + steps, ppo.policy(trained))

        seed = 1000 * run.seed + number
        rate = settings.rate * (1 - number / settings.segments)
        arguments = (seed, segment_steps, rate, share)
        parameters = ppo.segment(env, settings, length, *arguments, before, record)
        run.checkpoints.save(number + 1, parameters)
