"""Compiled programs are kept from one start to the next, in JAX's own cache on disk.

Its keys are the program, the versions of JAX and of the compiler, and the processor's features.
"""

import gc
import os
from pathlib import Path

from platformdirs import user_cache_path

from jaxccp.cli.options import refuse

OFF = "off"
MINIMUM = "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"
"""Environment variable with the compile time from which a program is kept [s]; without it all are
kept."""


def keep_programs(cache: str | None) -> None:
    """Turn on JAX's cache of compiled programs; call this before anything is compiled.

    Args:
        cache: a folder; ``off`` for none; None for the one that ``JAX_COMPILATION_CACHE_DIR``
            names, else that of this package in the user's folder for caches.

    Raises:
        typer.Exit: the folder that was given cannot be made; with code 2.
    """
    # The compiler logs an error for each cached program, because its tuning hints are not features
    # of the processor; real errors are exceptions.
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # Traced programs live long: searching them for cycles takes a tenth of the start-up time.
    gc.set_threshold(100_000, 50, 100)
    import jax

    if cache == OFF:
        jax.config.update("jax_compilation_cache_dir", None)
        return
    configured = jax.config.jax_compilation_cache_dir  # pyright: ignore[reportAttributeAccessIssue]
    if cache or configured is None:
        folder = Path(cache) if cache else user_cache_path("jaxccp") / "programs"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            if cache:
                refuse(f"{cache}: cannot be a folder ({error.strerror}); give --cache another")
            return  # a home that cannot be written to is no fault of the user's
        jax.config.update("jax_compilation_cache_dir", str(folder))
    # Some twenty small programs together take as long to compile as a start may take.
    if MINIMUM not in os.environ:
        jax.config.update(MINIMUM.lower(), 0.0)
