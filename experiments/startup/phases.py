"""Print the processor time of each phase of a start of ``jaxccp simulate billiards``, as JSON.

    python experiments/startup/phases.py CACHE

It does what the command does, phase by phase; CACHE is the folder that keeps compiled programs.
"""

import json
import sys
import time

seconds: dict[str, float] = {}
_last = time.process_time()


def lap(phase: str) -> None:
    """Record the processor time since the last call under the name ``phase`` [s]."""
    global _last
    current = time.process_time()
    seconds[phase] = current - _last
    _last = current


seconds["Python"] = _last
from jaxccp.cli.cache import keep_programs  # noqa: E402

lap("options")
keep_programs(sys.argv[1])
lap("importing jax")
import jax  # noqa: E402

import jaxccp.cli.runs.run_simulate  # noqa: E402, F401
from jaxccp.ccp import APGD  # noqa: E402
from jaxccp.dynamics import EulerImplicitLinearized, rollout  # noqa: E402
from jaxccp.scenes.library import SCENES  # noqa: E402

lap("importing jaxccp")
model, state = SCENES["billiards"](jax.random.key(0))
jax.block_until_ready(state)
lap("the scene")
stepper = EulerImplicitLinearized(1e-3, "ccp", APGD())
traced = jax.jit(lambda state: rollout(model, state, stepper, 40)).trace(state)
lap("tracing")
lowered = traced.lower()
lap("lowering")
lowered.compile()
lap("reading the program")
print(json.dumps(seconds))
