"""Trains one policy, and goes on where a run that was cut had its last checkpoint.

    python -m experiments.training.run NAME ALGORITHM [--seed 0]

NAME: cartpole, hopper or ant. ALGORITHM: ppo (brax's), shac or apg (through the simulator's
derivatives). The curve goes to curves/ beside this file, checkpoint and policy to out/training.
"""

import argparse
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])

import jax
import numpy as np
from brax import envs as brax_envs

from experiments.training import ppo
from experiments.training.checkpoint import Checkpoints
from experiments.training.config import EPISODES, POINTS, SETTINGS, Ppo, Shac
from experiments.training.curve import CURVES, Clock, Curve, Row
from experiments.training.evaluate import Evaluate, evaluator
from experiments.training.networks import Policy
from experiments.training.shac import Algorithm
from jaxccp import Relaxed, envs
from jaxccp.envs.adapters.brax import BraxEnv

OUT = Path("out/training")


@dataclass
class Run:
    """Where the outcome of one run goes."""

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
        """From a checkpoint after so many steps."""
        self.rows = self.curve.rows(until=steps)
        if self.rows:
            self.clock = Clock(self.rows[-1]["cpu_s"], self.rows[-1]["wall_s"])

    def point(self, steps: int, policy: Policy, **more: float) -> None:
        """One more point of the curve. The clock stands still meanwhile."""
        spent = self.clock.read()
        with self.clock.paused():
            key = jax.random.fold_in(jax.random.key(self.seed), steps)
            returns, lengths = map(np.asarray, self.evaluate(policy, key))
            row = {"steps": steps, "return": returns.mean(), "deviation": returns.std()}
            self.rows.append({**row, "length": lengths.mean(), **spent, **more})
            self.curve.write(self.rows)
            print(self.label, *(f"{k} {v:.4g}" for k, v in self.rows[-1].items()), flush=True)


def train_shac(run: Run, env: envs.Env, settings: Shac, points: int = POINTS) -> Policy:
    """All updates, with a checkpoint at each point of the curve."""
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
    found: list[dict[str, Any]] = []
    for number in range(done or 0, settings.updates):
        learner, metrics = update(learner)
        found.append(jax.device_get(metrics))
        if number + 1 in stops:
            column = {name: np.array([each[name] for each in found]) for name in metrics}
            run.point(
                (number + 1) * settings.batch,
                learner.policy,
                gradient=float(np.median(column["gradient"])),
                largest=float(np.max(column["gradient"])),
                skipped=float(np.sum(column["skipped"])),
                unsolved=float(np.mean(column["unsolved"])),
            )
            run.checkpoints.save(number + 1, learner)
            found = []
    return learner.policy


def train_ppo(run: Run, env: Any, settings: Ppo, length: int, points: int = POINTS) -> Policy:
    """All segments, with a checkpoint after each."""
    each = settings.steps // settings.segments
    blank = ppo.segment(env, settings, length, 0, 0, 1, None, lambda steps, given: None)
    parameters, done = blank, run.checkpoints.latest or 0
    if done:
        parameters = run.checkpoints.restore(blank)
        run.resume(done * each)
    run.clock.since = Clock().since
    for number in range(done, settings.segments):
        before = parameters if number else None

        def seen(steps: int, given: Any, number: int = number) -> None:
            if steps > 0 or number == 0:
                run.point(number * each + steps, ppo.policy(given))

        seed = 1000 * run.seed + number
        share = points // settings.segments
        parameters = ppo.segment(env, settings, length, seed, each, share, before, seen)
        run.checkpoints.save(number + 1, parameters)
    return ppo.policy(parameters)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=SETTINGS)
    parser.add_argument("algorithm", choices=("ppo", "shac", "apg"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, help="of the environment, instead of the budget")
    parser.add_argument("--law", choices=("ccp", "ncp"), help="of contacts, instead of the task's")
    parser.add_argument("--relaxed", type=float, help="speed of relaxed derivatives [m/s]")
    parser.add_argument("--brax", action="store_true", help="brax's own environment (ppo only)")
    options = parser.parse_args()
    known = SETTINGS[options.name]
    settings: Any = known.ppo if options.algorithm == "ppo" else known.shac
    if options.algorithm == "apg":
        settings = replace(settings, critic=False)
    if options.steps:
        settings = replace(settings, steps=options.steps)
    law = {"law": options.law} if options.law else {}
    plain: Any = envs.make(options.name, auto_reset=False, **law)
    length = plain.task.episode_steps
    if options.relaxed:
        gradient = Relaxed(options.relaxed)
        plain = replace(plain, stepper=replace(plain.stepper, gradient=gradient))
    shown: Any = brax_envs.get_environment(known.brax) if options.brax else BraxEnv(plain)
    words = [options.name, options.algorithm, options.law, "brax" if options.brax else None]
    words += [f"relaxed{options.relaxed:g}" if options.relaxed else None, str(options.seed)]
    label = "-".join(word for word in words if word)
    run = Run(label, evaluator(shown, EPISODES, length), options.seed)
    if isinstance(settings, Ppo):
        policy = train_ppo(run, shown, settings, length)
    else:
        policy = train_shac(run, envs.AutoReset(envs.EpisodeLimit(plain, length)), settings)
    policy.save(OUT / f"{label}.npz")


if __name__ == "__main__":
    main()
