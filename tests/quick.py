"""Compiling in a third of the time what runs but a few times."""

from functools import partial

import jax

quick = partial(jax.jit, compiler_options={"xla_backend_optimization_level": 0})
"""``jax.jit`` without optimised machine code."""
