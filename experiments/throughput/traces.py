"""Trace a run with JAX's profiler."""

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax


def traced(run: Callable[[], object]) -> Any:
    """Return the profile of a run, a ``ProfileData``, without Python's own calls.

    Args:
        run: what is traced; it returns when the device has finished.
    """
    options = jax.profiler.ProfileOptions()
    options.python_tracer_level = 0
    with tempfile.TemporaryDirectory() as folder:
        with jax.profiler.trace(folder, profiler_options=options):
            run()
        file = next(Path(folder).glob("**/*.xplane.pb"))
        return jax.profiler.ProfileData.from_file(str(file))
