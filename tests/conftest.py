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
    "flexible/test_long_chains.py",
    "dynamics/mechanisms/test_cut_joints.py",
    "testing/test_check_gradients.py",
    "dynamics/steppers/test_second_order.py",
    "flexible/test_statics.py",
    "test_docs.py",
    "dynamics/steppers/test_steppers.py",
    "dynamics/rollouts/test_rollout_batch.py",
    "dynamics/derivatives/test_derivatives_at_zero.py",
    "dynamics/mechanisms/test_reduced_loops.py",
    "collision/test_broad.py",
    "dynamics/contact/test_free_bodies.py",
    "dynamics/derivatives/test_impact_derivatives.py",
    "dynamics/mechanisms/test_joint_derivatives.py",
    "ccp/test_solve.py",
    "dynamics/contact/test_unique.py",
    "identify/test_cube.py",
    "dynamics/mechanisms/test_reduced.py",
    "io/test_mjcf.py",
    "families/test_chain.py",
    "dynamics/smooth/test_smooth.py",
    "flexible/test_motion.py",
    "dynamics/smooth/test_implicit_smooth.py",
    "dynamics/rollouts/test_capacity.py",
    "dynamics/statics/test_inverse_kinematics.py",
    "experiments/test_training.py",
    "dynamics/steppers/test_projected.py",
    "collision/test_contact_cache.py",
    "dynamics/rollouts/test_rollout.py",
    "dynamics/smooth/test_smooth_derivatives.py",
    "test_examples.py",
    "dynamics/derivatives/test_linearise.py",
    "dynamics/steppers/test_step_length.py",
    "dynamics/steppers/test_relaxed_steps.py",
    "identify/test_identify_steppers.py",
    "ccp/test_derivative.py",
    "identify/test_excitation.py",
    "dynamics/derivatives/test_random_gradients.py",
    "envs/test_cartpole.py",
    "io/test_cables.py",
    "io/test_equalities.py",
    "flexible/test_points_of_shells.py",
    "envs/test_env_steppers.py",
    "ccp/test_sweeps.py",
    "cli/test_solve_command.py",
    "ccp/test_bad_input.py",
    "identify/test_problem.py",
    "io/test_flexible_models.py",
    "dynamics/descriptor/test_reduced_descriptor.py",
    "flexible/test_points_between.py",
    "flexible/solids/test_soft_solids.py",
    "dynamics/smooth/test_second_order_smooth.py",
    "dynamics/mechanisms/test_joint_elimination.py",
    "io/test_attributes.py",
    "flexible/test_second_order_motion.py",
    "collision/test_pairs.py",
    "dynamics/derivatives/test_tangent.py",
    "dynamics/contact/test_rolling_balls.py",
    "dynamics/mechanisms/test_tendons.py",
    "reference/test_smooth.py",
    "flexible/solids/test_solid.py",
    "ccp/test_relaxed.py",
    "dynamics/contact/test_two_balls.py",
    "dynamics/steppers/test_conservation.py",
    "identify/test_inverse_drives.py",
    "cli/test_identify_model.py",
    "ccp/test_derivative_degenerate.py",
    "ccp/test_repeated_rows.py",
    "dynamics/contact/test_laws.py",
    "ccp/test_zero_coefficients.py",
    "adding/test_mechanics.py",
    "dynamics/steppers/test_projected_derivatives.py",
    "identify/test_impacts.py",
    "scene/test_library.py",
    "ccp/test_pyramids.py",
    "io/test_write_model.py",
    "dynamics/rollouts/test_shapes_of_arrays.py",
    "dynamics/contact/test_stack.py",
    "collision/test_convex_pairs.py",
    "envs/test_against_mujoco.py",
    "ccp/test_dantzig.py",
    "cli/test_start.py",
    "dynamics/derivatives/test_derivatives.py",
    "cli/test_excite.py",
    "envs/test_gymnasium.py",
    "envs/test_quadruped.py",
    "cli/test_simulate.py",
    "identify/test_leapfrog.py",
    "identify/test_restarts.py",
    "identify/test_inverse.py",
    "dynamics/mechanisms/test_friction_laws.py",
    "identify/test_evaluation.py",
)
"""Files of more than a minute on a slow machine, longest first: no worker is left alone with one of
them at the end."""

MAPS = Path("/proc/self/maps")
MOST_MAPS, MOST_MAPS_IN_A_GROUP = 15_000, 25_000
"""Numbers of memory maps above which compiled programs are dropped, after a group of tests and
within one. Every program holds some; Linux allows a process 65 530 of them, and with 30 000 a
worker has 7 GB of programs."""
_tests = itertools.count()


def group(item: pytest.Item) -> str:
    """Return the name of the group of tests that share programs, which run on one worker."""
    marker = item.get_closest_marker("xdist_group")
    assert marker is not None, "pytest_collection_modifyitems gives every test a group"
    return marker.args[0]


@pytest.hookimpl(trylast=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Drop compiled programs before there are more than the system can map; those that are still
    needed are traced again, and come back from the cache on disk.

    After the last test of a group hardly any is, so that they are dropped sooner there.
    """
    if nextitem is None or not MAPS.exists():
        return
    last = group(nextitem) != group(item)
    if last or next(_tests) % 10 == 0:
        with MAPS.open() as maps:
            crowded = sum(1 for _ in maps) > (MOST_MAPS if last else MOST_MAPS_IN_A_GROUP)
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
