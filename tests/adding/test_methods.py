"""Check docs/adding.md: solvers, steppers, sensors, scenes, parameters, environments, layouts of
files and commands, added as it describes, work."""

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import typer
from jax import Array
from jax.typing import DTypeLike
from typer.testing import CliRunner

import jaxccp
from jaxccp import EulerImplicitLinearized, State, envs
from jaxccp.ccp import SOLVERS, Cones, DenseDelassus, Problem, Solver, Task
from jaxccp.cli import app
from jaxccp.cli.bad_input import bad_input_exits
from jaxccp.cli.options import present
from jaxccp.dynamics import STEPPERS, Stepper, rollout
from jaxccp.dynamics.stepper import step_length
from jaxccp.identify import Parameter, Simulate, recording
from jaxccp.identify import Problem as Identification
from jaxccp.identify.case import subject_of
from jaxccp.identify.cube.fit import PARAMETERS, Cube, CubeSettings
from jaxccp.identify.parameters.parameter import ParameterSet
from jaxccp.io import NamedProblem, read_problem
from jaxccp.io.arrays import Arrays
from jaxccp.io.named import make_named_problem
from jaxccp.io.problems import LAYOUTS
from jaxccp.scenes.library import SCENES
from jaxccp.sensors import Sensor
from jaxccp.sensors.reading import Kind
from jaxccp.sensors.registry import KINDS
from tests.adding.balls import ball
from tests.ccp.compiled import solve
from tests.identify.recordings import flights
from tests.io import problem_files as files

GRAVITY = 9.81


@dataclass(frozen=True)
class ProjectedGradient(Solver):
    """λ ← Π_K(λ − ω ρ (N λ + r)); the state is λ and N λ."""

    relaxation: float = 0.5

    def init(self, task: Task, lam: Array, n_lam: Array) -> tuple[Array, Array]:
        return lam, n_lam

    def step(self, task: Task, state: tuple[Array, Array]) -> tuple[Array, Array]:
        problem, (lam, n_lam) = task.problem, state
        lam = problem.cones.project(lam - self.relaxation * task.rho * (n_lam + problem.r))
        return lam, problem.delassus.apply(lam)

    def candidate(self, task: Task, state: tuple[Array, Array]) -> tuple[Array, Array]:
        return state


def read_diagonal(arrays: Arrays, dtype: DTypeLike) -> NamedProblem:
    """Read contacts that do not act on each other: the diagonal of N, r and the coefficients of
    friction.

    Args:
        arrays: the file.
        dtype: dtype of the problem's arrays.
    """
    r, mu = arrays.floats("r", None), arrays.not_negative("mu", None)
    matrix = jnp.diag(jnp.asarray(arrays.floats("diagonal", len(r)), dtype))
    none, zero = jnp.zeros(0, dtype), np.zeros(len(r))
    cones = Cones(none, none, jnp.asarray(mu, dtype))
    problem = Problem(DenseDelassus(matrix), jnp.asarray(r, dtype), cones)
    return make_named_problem(arrays, problem, r, np.arange(len(r)), zero, zero, 1.0 + zero)


def test_a_solver_and_a_problem_layout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mass that meets the ground at 1 m/s and slides at 3 m/s, with a friction coefficient of
    0.4, slides on at 2.6 m/s."""
    monkeypatch.setitem(SOLVERS, "projected-gradient", ProjectedGradient)
    monkeypatch.setitem(LAYOUTS, "diagonal", read_diagonal)
    path = tmp_path / "contact.npz"
    np.savez(path, layout="diagonal", diagonal=np.full(3, 0.5), r=[-1.0, 3.0, 0.0], mu=[0.4])
    solution = solve(read_problem(path).problem, "projected-gradient", law="ncp")
    np.testing.assert_allclose(solution.u, [0.0, 2.6, 0.0], atol=1e-5)
    assert EulerImplicitLinearized(solver="projected-gradient").solver == ProjectedGradient()


def test_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An added command is listed, does its work, and has the exit code of bad input."""

    def run_count(path: Path) -> None:
        with bad_input_exits():
            typer.echo(len(read_problem(path).problem.r))

    def count(path: Annotated[Path, typer.Argument()]) -> None:
        """Print the number of rows of a problem."""
        present(path)
        run_count(path)

    monkeypatch.setattr(app, "registered_commands", [*app.registered_commands])
    app.command("count")(count)
    path, run = files.write(tmp_path / "a.npz", files.delassus(4)[0]), CliRunner().invoke
    assert "number of rows" in run(app, ["--help"]).stdout
    done = run(app, ["count", str(path)])
    assert (done.exit_code, done.stdout) == (0, "12\n")
    path.write_bytes(path.read_bytes()[:40])
    done = run(app, ["count", str(path)])
    assert done.exit_code == 2 and "damaged" in done.stderr


@dataclass(frozen=True)
class Drop(Stepper):
    """A stepper for exact free fall of all bodies; nothing else acts."""

    h: float = 1e-2

    @jax.tree_util.register_dataclass
    @dataclass(frozen=True)
    class Carry:
        state: State

    def init(self, model: jaxccp.Model, state: State) -> "Drop.Carry":
        return self.Carry(state)

    def advance(self, model, carry, force=None, control=None, *, h=None):
        h = step_length(h, self.h, carry.state.position.dtype)
        state = carry.state
        free = jnp.asarray(model.topology.free)[:, None]
        fall = jnp.where(free, model.gravity, 0.0)
        position = state.position + jnp.where(free, h * state.velocity, 0.0)
        after = replace(
            state,
            position=position + 0.5 * h**2 * fall,
            velocity=state.velocity + h * fall,
            time=state.time + h,
        )
        report = STEPPERS["euler"](self.h).step(model, state)[1]
        return self.Carry(after), report


def test_a_stepper(monkeypatch: pytest.MonkeyPatch) -> None:
    """An added stepper runs, and its steps are linearised."""
    monkeypatch.setitem(STEPPERS, "drop", Drop)
    model, state = ball()
    _, path = rollout(model, state, STEPPERS["drop"](h=0.1), 5)
    np.testing.assert_allclose(path.state.position[-1, 1, 2], 1.0 - 0.5 * GRAVITY * 0.25, rtol=1e-6)
    step = jaxccp.linearise(model, state, stepper=Drop(0.1))
    shift, turn = np.eye(3), np.zeros((3, 3))
    np.testing.assert_allclose(step.A[:3], np.hstack([shift, turn, 0.1 * shift, turn]), atol=1e-7)


def test_a_sensor(monkeypatch: pytest.MonkeyPatch) -> None:
    def height(reading, index: np.ndarray) -> Array:
        return reading.state.position[index, 2:]

    monkeypatch.setitem(KINDS, "height", Kind("body", height))
    model, state = ball()
    sensors = jaxccp.attach_sensors(model, {"z": Sensor("height", "ball")})
    np.testing.assert_allclose(sensors.values(model, state)["z"], [1.0])


def test_a_scene(monkeypatch: pytest.MonkeyPatch) -> None:
    from jaxccp.scenes.library import batch

    monkeypatch.setitem(SCENES, "ball", lambda key: ball())
    _, states = batch(SCENES["ball"], jax.random.key(0), 3)
    np.testing.assert_allclose(states.position[:, 1, 2], 1.0)


def test_a_parameter_to_identify() -> None:
    """Any number of a model is identified by its path: here gravity from a fall of half a
    second."""
    body = '<body name="ball" pos="0 0 1"><freejoint/><geom size="0.1"/></body>'
    loaded = jaxccp.load(f"<mujoco><worldbody>{body}</worldbody></mujoco>")
    time = np.linspace(0.0, 0.5, 26)
    pose = np.tile([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0], (26, 1))
    pose[:, 2] = 1.0 - 0.5 * 3.7 * time**2
    fall = recording(time, "on Mars", noise={"pose": 1e-4}, lever=0.1, pose={"ball": pose})
    problem = Identification(
        loaded,
        [fall],
        [Parameter("gravity[2]", initial=-9.0)],
        Simulate(segment=0.5, h=1e-2, cutoff=np.inf),
    )
    np.testing.assert_allclose(problem.fit().values, [-3.7], rtol=1e-3)


def test_a_parameter_of_the_cube(monkeypatch: pytest.MonkeyPatch) -> None:
    place = Parameter('shapes["cube"].position[2]', 0.0, -0.01, 0.01, scale=1e-3)
    monkeypatch.setitem(PARAMETERS, "offset", place)
    cube = subject_of(Cube.nominal(), flights((5,)))
    settings = CubeSettings(("offset",))
    changed = ParameterSet(settings.parameters, cube).apply(cube, jnp.array([0.004]))
    np.testing.assert_allclose(changed.model.shapes.position[1], [0.0, 0.0, 0.004], atol=1e-8)


LIFT = """<mujoco><worldbody>
  <body><joint name="lift" type="slide" axis="0 0 1"/><geom size="0.1" mass="2"/></body>
</worldbody><actuator><motor joint="lift" ctrllimited="true" ctrlrange="-1 1"/></actuator></mujoco>
"""


@dataclass(frozen=True, kw_only=True)
class Lift(envs.Task):
    """Lift a ball."""

    terms: ClassVar = ("height",)
    sim_dt: float = 0.01
    ctrl_dt: float = 0.02
    episode_steps: int = 5

    def start(self, key: Array, qpos: Array, qvel: Array) -> envs.Start:
        del key
        return envs.Start(qpos, qvel, jnp.zeros(0))

    def observe(self, moment: envs.Moment) -> Array:
        return moment.qpos

    def rewards(self, before: envs.Moment, moment: envs.Moment) -> tuple[Array]:
        return (moment.qpos[0] - before.qpos[0],)


def test_an_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An added task is made by its name, with its settings and the model file beside it."""
    (tmp_path / "lift.xml").write_text(LIFT, encoding="utf-8")
    # A task of the package has its file in the package.
    beside = sys.modules["jaxccp.envs.make"]
    monkeypatch.setattr(beside, "model_file", lambda name: tmp_path / f"{name}.xml")
    monkeypatch.setitem(envs.TASKS, "lift", Lift)
    env = envs.make("lift", auto_reset=False, ctrl_dt=0.03)
    state = env.reset(jax.random.key(0))
    np.testing.assert_array_equal(state.obs, [0.0])
    after = jax.jit(env.step)(state, jnp.array([1.0]))
    # Three steps of 0.01 s fall by 1 + 2 + 3 times h² times the acceleration.
    np.testing.assert_allclose(after.reward, 6e-4 * (1.0 / 2.0 - GRAVITY), rtol=1e-5)
    np.testing.assert_allclose(after.metrics["height"], after.reward)


def test_a_randomised_parameter(monkeypatch: pytest.MonkeyPatch) -> None:
    def radius(model: jaxccp.Model, factor) -> jaxccp.Model:
        nominal = model.shapes.radius
        return replace(model, shapes=replace(model.shapes, radius=nominal * factor(nominal.shape)))

    monkeypatch.setitem(envs.RANDOMISED, "radius", radius)
    model = envs.randomisation(radius=(0.5, 0.5))(jax.random.key(0), ball()[0])
    np.testing.assert_allclose(model.shapes.radius, [0.05])
