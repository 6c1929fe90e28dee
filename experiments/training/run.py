"""Train one policy, or continue an interrupted run from its last checkpoint.

    python -m experiments.training.run NAME ALGORITHM [--seed 0]

NAME: cartpole, hopper or ant. ALGORITHM: ppo (brax's), shac or apg (through the simulator's
derivatives). Needs brax, and so Python 3.11. The curve is written to curves/ in this folder,
checkpoints and the policy of its best point to out/training.
"""

import argparse
import os
from dataclasses import replace
from typing import Any

if hasattr(os, "sched_setaffinity"):
    os.sched_setaffinity(0, [max(os.sched_getaffinity(0))])

from brax import envs as brax_envs

from experiments.training.config import EPISODES, SETTINGS, Ppo, Shac
from experiments.training.evaluate import evaluator
from experiments.training.train import Run, train_ppo, train_shac
from jaxccp import Relaxed, envs
from jaxccp.envs.adapters.brax import BraxEnv


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=SETTINGS)
    parser.add_argument("algorithm", choices=("ppo", "shac", "apg"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, help="of the environment, instead of the budget")
    parser.add_argument("--law", choices=("ccp", "ncp"), help="of contacts, instead of the task's")
    parser.add_argument("--relaxed", type=float, help="speed of relaxed derivatives [m/s]")
    parser.add_argument("--ahead", type=int, help="actions that shac and apg look ahead")
    parser.add_argument(
        "--bound", type=float, help="largest slope of a copy's return, for shac and apg; 0: none"
    )
    parser.add_argument("--brax", action="store_true", help="brax's own environment (ppo only)")
    options = parser.parse_args()
    task_settings = SETTINGS[options.name]
    settings: Any = task_settings.ppo if options.algorithm == "ppo" else task_settings.shac
    if options.algorithm == "apg":
        settings = replace(settings, critic=False)
    if options.steps:
        settings = replace(settings, steps=options.steps)
    if options.ahead:
        settings = replace(settings, horizon=options.ahead)
    if options.bound is not None:
        if options.algorithm == "ppo":
            parser.error("--bound is for shac and apg")
        settings = replace(settings, bound=options.bound or None)
    law = {"law": options.law} if options.law else {}
    plain: Any = envs.make(options.name, auto_reset=False, **law)
    length = plain.task.episode_steps
    if options.relaxed:
        gradient = Relaxed(options.relaxed)
        plain = replace(plain, stepper=replace(plain.stepper, gradient=gradient))
    shown: Any = brax_envs.get_environment(task_settings.brax) if options.brax else BraxEnv(plain)
    words = [options.name, options.algorithm, options.law, "brax" if options.brax else None]
    words += [f"relaxed{options.relaxed:g}" if options.relaxed else None]
    words.append(f"{options.ahead}ahead" if options.ahead else None)
    if isinstance(settings, Shac) and (options.ahead or options.bound is not None):
        words.append(f"bound{settings.bound or 0:g}")
    words.append(str(options.seed))
    label = "-".join(word for word in words if word)
    run = Run(label, evaluator(shown, EPISODES, length), options.seed)
    if isinstance(settings, Ppo):
        train_ppo(run, shown, settings, length)
    else:
        train_shac(run, envs.AutoReset(envs.EpisodeLimit(plain, length)), settings)


if __name__ == "__main__":
    main()
