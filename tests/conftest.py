"""Provide settings and fixtures for every test: float64, one compilation cache, the shared data
sets."""

import gc
import itertools
import os
import time

# Linear algebra of small matrices in one thread: those that wait for the others' part spin, and
# take most of the time of a run. Read when scipy is first imported, by jax.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

import jax
import pytest
from platformdirs import user_cache_path

ROOT = Path(__file__).resolve().parent.parent

jax.config.update("jax_enable_x64", True)

# Nearly all programs here run but a few times. Machine code as it comes takes half the time to
# compile, …
jax.config.update("jax_disable_most_optimizations", True)

# … and the older one of two code generators in jaxlib takes less than half of what is left. From
# 0.11 on there is but the new one, and an unknown flag stops it.
if tuple(map(int, version("jaxlib").split(".")[:2])) < (0, 11):
    flags = os.environ.get("XLA_FLAGS", "")
    # Divided among threads, programs take a tenth more, and of test_pairs the derivatives of a
    # capsule and a box are wrong in two of 4000 numbers; divided and optimised they are not.
    ours = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
    # Passes over the program take longer than machine code; without these it takes a tenth less.
    passes = (
        "while-loop-invariant-code-motion,while-loop-constant-sinking,tree_reduction_rewriter,"
        "reshape-mover,simplify-conditional,zero_sized_hlo_elimination"
    )
    os.environ["XLA_FLAGS"] = f"{ours} --xla_disable_hlo_passes={passes} {flags}"

# Traced programs are millions of long-lived objects: looking for cycles among them takes minutes.
gc.set_threshold(100_000, 50, 100)

# Compiled programs outlive the run and the clone, and are shared by all xdist workers and the
# commands they start. Keys have the versions of jax and the processor's features.
PROGRAMS = user_cache_path("jaxccp") / "tests"
OUTDATED = 14
"""Days after which a cached program is deleted, so that the folder does not grow for ever."""
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(PROGRAMS))
jax.config.update("jax_compilation_cache_dir", os.environ["JAX_COMPILATION_CACHE_DIR"])
jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.3)


DEAREST = (
    "dynamics/steppers/test_steppers.py",
    "identify/test_cube.py",
    "test_docs.py",
    "testing/test_check_gradients.py",
    "dynamics/steppers/test_second_order.py",
    "flexible/test_statics.py",
    "dynamics/derivatives/test_impact_derivatives.py",
    "dynamics/mechanisms/test_reduced_loops.py",
    "collision/test_broad.py",
    "dynamics/derivatives/test_linearise.py",
    "dynamics/derivatives/test_random_gradients.py",
    "envs/test_cartpole.py",
    "dynamics/mechanisms/test_reduced.py",
    "test_examples.py",
    "dynamics/rollouts/test_rollout.py",
    "dynamics/smooth/test_smooth.py",
    "ccp/test_derivative.py",
    "dynamics/mechanisms/test_joint_derivatives.py",
    "dynamics/smooth/test_smooth_derivatives.py",
    "collision/test_contact_cache.py",
    "flexible/test_motion.py",
    "io/test_mjcf.py",
    "ccp/test_solve.py",
    "dynamics/derivatives/test_derivatives.py",
    "dynamics/contact/test_unique.py",
    "flexible/solids/test_soft_solids.py",
    "families/test_chain.py",
    "dynamics/steppers/test_relaxed_steps.py",
    "envs/test_trainers.py",
    "ccp/test_zero_coefficients.py",
    "dynamics/contact/test_free_bodies.py",
    "reference/test_smooth.py",
    "collision/test_pairs.py",
    "ccp/test_relaxed.py",
    "dynamics/contact/test_laws.py",
    "dynamics/steppers/test_projected.py",
    "dynamics/steppers/test_projected_derivatives.py",
    "cli/test_solve_command.py",
    "flexible/test_nodal.py",
    "ccp/test_sweeps.py",
    "dynamics/mechanisms/test_joint_elimination.py",
    "dynamics/steppers/test_conservation.py",
    "dynamics/derivatives/test_tangent.py",
    "dynamics/contact/test_friction.py",
    "scene/test_library.py",
    "reference/test_ancf.py",
    "flexible/test_second_order_motion.py",
    "flexible/solids/test_solid.py",
    "dynamics/rollouts/test_capacity.py",
    "ccp/test_pyramids.py",
)
"""Files of more than 20 s, longest first: no worker is left alone with one of them at the end."""

MAPS = Path("/proc/self/maps")
MOST_MAPS = 15_000
"""Number of memory maps above which compiled programs are dropped. Every program holds some; Linux
allows a process 65 530 of them, and with 30 000 a worker has 7 GB of programs."""
_tests = itertools.count()


@pytest.fixture(autouse=True)
def room_for_programs() -> Iterator[None]:
    """Drop compiled programs before there are more than the system can map; those that are still
    needed come back from the cache on disk."""
    yield
    if next(_tests) % 10 == 0 and MAPS.exists():
        with MAPS.open() as maps:
            crowded = sum(1 for _ in maps) > MOST_MAPS
        if crowded:
            jax.clear_caches()
            gc.collect()


def pytest_configure(config: pytest.Config) -> None:
    """Delete outdated programs, and make xdist deal out groups in the order of the tests, not by
    their number."""
    assert all((ROOT / "tests" / file).is_file() for file in DEAREST)
    if not hasattr(config, "workerinput"):
        for program in PROGRAMS.glob("*"):
            with suppress(FileNotFoundError):  # another run may do the same
                if time.time() - program.stat().st_mtime > 86400 * OUTDATED:
                    program.unlink()
    if hasattr(config.option, "loadscopereorder"):
        config.option.loadscopereorder = False


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Sort the tests and group those of a file on one worker, since they share programs and
    results.

    Tests that share more with tests of other files keep a group of their own. The most expensive
    files come first, then those of most tests.
    """
    tests = Counter(item.path for item in items)

    def place(item: pytest.Item) -> tuple[int, int]:
        file = item.path.relative_to(ROOT / "tests").as_posix()
        rank = DEAREST.index(file) if file in DEAREST else len(DEAREST)
        return rank, -tests[item.path]

    items.sort(key=place)
    for item in items:
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(item.nodeid.split("::")[0]))


@pytest.fixture(scope="module")
def optimised() -> Iterator[None]:
    """Switch XLA's optimisations on, for tests that run longer than they compile."""
    jax.config.update("jax_disable_most_optimizations", False)
    yield
    jax.config.update("jax_disable_most_optimizations", True)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder of the real data sets: $JAXCCP_DATA, else ../shared/data beside the
    checkout.

    They are not part of the repository, so a test that needs them is skipped where they are absent;
    a $JAXCCP_DATA that names no folder is a mistake and fails.
    """
    named = os.environ.get("JAXCCP_DATA")
    folder = Path(named) if named else ROOT.parent / "shared" / "data"
    if folder.is_dir():
        return folder
    if named:
        pytest.fail(f"JAXCCP_DATA={named} is not a folder: correct it or unset it")
    pytest.skip("real data sets not found: put them in ../shared/data or set JAXCCP_DATA")
