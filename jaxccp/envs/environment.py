"""The innermost environment: a task on a model."""

from dataclasses import dataclass, field, replace

import jax
import jax.numpy as jnp
from jax import lax
from jaxtyping import Array, Bool, Float, Int

from jaxccp.ccp.solution import Status
from jaxccp.dynamics.projection import close_loops
from jaxccp.dynamics.rollouts.checkpoints import keep_impulses
from jaxccp.dynamics.second_order.state_projection import with_fitting_velocities
from jaxccp.dynamics.stepper import Carry, Stepper
from jaxccp.dynamics.trees import reducible
from jaxccp.envs.actions import admissible
from jaxccp.envs.env import EnvState
from jaxccp.envs.spec import Spec
from jaxccp.envs.task import Moment, Task
from jaxccp.execution import trees
from jaxccp.math.array_input import Floats
from jaxccp.math.draw import Key
from jaxccp.model.model import Model
from jaxccp.model.row_order import row_order
from jaxccp.model.state import State
from jaxccp.sensors.coordinates.coordinates import Coordinates

COUNTS = ("status", "unsolved", "overflow", "non_finite", "action_nan", "action_clipped")
"""Metrics of every environment, int32: the worst status of a solve (:class:`jaxccp.ccp.Status`);
the number of steps whose solve did not converge; the number of steps with more contacts than the
capacity; 1 if the motion, the reward or the observation was not finite; the numbers of entries of
the action that were NaN or infinite without a range, and that were out of range."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Environment:
    """A task on a model, without a time limit and without resets.

    Its results are finite for any action. If a motion is not finite, the state before the step is
    kept; if a reward is not, it is 0; entries of an observation that are not are 0. Each of these
    terminates the episode, and ``metrics["non_finite"]`` is 1. Gradients through such a step may be
    NaN in reverse mode, and so those of parameters that copies of a batch share.

    Raises:
        ValueError: ``ctrl_dt`` of the task is not a multiple of ``sim_dt``, or its ``terms`` are
            not different names that are none of :data:`COUNTS`.
    """

    model: Model
    """The model."""
    layout: Coordinates
    """Layout of the model's coordinates in MuJoCo's arrays."""
    rest: State
    """Initial state of the model."""
    task: Task = field(metadata={"static": True})
    """The task."""
    stepper: Stepper = field(metadata={"static": True})
    """The stepper; ``ctrl_dt`` of the task is a multiple of its ``h``."""
    action_spec: Spec = field(metadata={"static": True})
    """Shape and range of actions."""

    def __post_init__(self) -> None:
        ratio = self.ctrl_dt / self.sim_dt
        if round(ratio) < 1 or abs(ratio - round(ratio)) > 1e-6:
            raise ValueError(
                f"ctrl_dt ({self.ctrl_dt} s) must be a multiple of sim_dt ({self.sim_dt} s)"
            )
        _check_terms(self.task)

    @property
    def sim_dt(self) -> float:
        return self.stepper.h

    @property
    def ctrl_dt(self) -> float:
        return self.task.ctrl_dt

    def with_model(self, model: Model) -> "Environment":
        return replace(self, model=model)

    def reset(self, key: Key) -> EnvState:
        task, dtype = self.task, self.rest.position.dtype
        key, drawn = jax.random.split(key)
        qpos, qvel = self.layout.coordinates(self.model, self.rest)
        start = task.start(drawn, qpos, jnp.zeros_like(qvel))
        state = self.layout.state(self.model, self.rest, start.qpos, start.qvel)
        if task.close_start:
            state = _closed(self.model, state)
        physics = self.stepper.init(self.model, state)
        wrenches = jnp.zeros((len(self.model.topology.bodies), 6), dtype)
        action = jnp.zeros(self.action_spec.shape, dtype)
        obs = task.observe(self.moment(physics.state, wrenches, action, start.goal))
        zero, no = jnp.zeros((), dtype), jnp.zeros((), bool)
        metrics = dict.fromkeys(task.terms, zero) | dict.fromkeys(COUNTS, jnp.zeros((), jnp.int32))
        info = {"goal": start.goal, "action": action, "wrenches": wrenches}
        return EnvState(
            physics=physics,
            obs=obs,
            reward=zero,
            terminated=no,
            truncated=no,
            final_obs=obs,
            key=key,
            metrics=metrics,
            info=info,
        )

    def step(self, state: EnvState, action: Float[Floats, " nu"]) -> EnvState:
        task, info = self.task, state.info
        names = self.layout.places.control_names
        admitted, counts = admissible(self.action_spec, action, names)
        admitted = admitted.astype(self.rest.position.dtype)
        physics, wrenches, status, unsolved, overflow = self._advanced(state.physics, admitted)
        sound = _finite(physics.state, wrenches)
        physics = trees.where(sound, physics, state.physics)
        wrenches = jnp.where(sound, wrenches, 0.0)
        goal = info["goal"]
        before = self.moment(state.physics.state, info["wrenches"], info["action"], goal)
        after = self.moment(physics.state, wrenches, admitted, goal)
        rewards = self._rewards(before, after)
        counted = jnp.isfinite(sum(rewards[1:], rewards[0]))
        rewards = [jnp.where(counted, term, 0) for term in rewards]
        obs = task.observe(after)
        observed = jnp.isfinite(obs)
        obs = jnp.where(observed, obs, 0)
        sound &= counted & jnp.all(observed)
        metrics = dict(zip(task.terms, rewards, strict=True)) | {
            "status": status,
            "unsolved": unsolved,
            "overflow": overflow,
            "non_finite": (~sound).astype(jnp.int32),
            **counts,
        }
        return replace(
            state,
            physics=physics,
            obs=obs,
            reward=sum(rewards[1:], rewards[0]),
            terminated=task.terminated(after) | ~sound,
            truncated=jnp.zeros((), bool),
            final_obs=obs,
            metrics=metrics,
            info={**info, "action": admitted, "wrenches": wrenches},
        )

    def moment(
        self,
        state: State,
        wrenches: Float[Array, "nb 6"],
        action: Float[Array, " nu"],
        goal: Float[Array, " g"],
    ) -> Moment:
        """Return the data of a state that the task sees.

        Args:
            state: the state.
            wrenches: contact wrenches of the last step.
            action: the action that led to the state.
            goal: goal of the episode.
        """
        qpos, qvel = self.layout.coordinates(self.model, state)
        return Moment(
            model=self.model,
            state=state,
            qpos=qpos,
            qvel=qvel,
            wrenches=wrenches,
            action=action,
            goal=goal,
        )

    def _rewards(self, before: Moment, after: Moment) -> list[Float[Array, ""]]:
        """Return the terms of the reward in the precision of the model.

        Args:
            before: instant before the step.
            after: instant after it.

        Raises:
            ValueError: the task does not return one number for each of its terms.
        """
        task = self.task
        rewards = task.rewards(before, after)
        listed = isinstance(rewards, tuple | list)
        shapes = [jnp.shape(term) for term in rewards] if listed else []
        if shapes != [()] * len(task.terms):
            returned = f"shapes {shapes}" if listed else f"a {type(rewards).__name__}"
            raise ValueError(
                f"{type(task).__name__}.rewards must return a tuple of one number for each of "
                f"terms = {task.terms}, not {returned}"
            )
        return [jnp.asarray(term, self.rest.position.dtype) for term in rewards]

    def _advanced(
        self, physics: Carry, action: Float[Array, " nu"]
    ) -> tuple[Carry, Float[Array, "nb 6"], Int[Array, ""], Int[Array, ""], Int[Array, ""]]:
        """Advance by ``ctrl_dt``.

        Returns:
            The carry, the last step's contact wrenches, the worst status of a solve, and the
                numbers of steps that were not solved and that had too many contacts.
        """
        control = self.layout.control(action)

        @keep_impulses
        def substep(carry: tuple, _: None) -> tuple[tuple, None]:
            physics, _, status, unsolved, overflow = carry
            physics, report = self.stepper.advance(self.model, physics, control=control)
            solve_status = report.solver.status
            failed: Bool[Array, ""] = solve_status > Status.NOT_UNIQUE
            return (
                physics,
                report.contact_wrenches,
                jnp.maximum(status, solve_status),
                unsolved + failed,
                overflow + report.overflow,
            ), None

        none = jnp.zeros((), jnp.int32)
        wrenches = jnp.zeros((len(self.model.topology.bodies), 6), action.dtype)
        start = (physics, wrenches, none, none, none)
        return lax.scan(substep, start, length=round(self.ctrl_dt / self.sim_dt))[0]


def _check_terms(task: Task) -> None:
    """Check the names of a task's rewards.

    Raises:
        ValueError: ``terms`` is no tuple of different names, or one is also a count.
    """
    what, terms = type(task).__name__, task.terms
    if not isinstance(terms, tuple | list) or not terms or len(set(terms)) < len(terms):
        raise ValueError(
            f'{what}.terms must be a tuple of different names, such as ("forward",), not {terms!r}'
        )
    taken = sorted(set(terms) & set(COUNTS))
    if taken:
        raise ValueError(
            f"{what}.terms: {', '.join(taken)} would hide the count of that name in the metrics: "
            "give the term another name"
        )


def _closed(model: Model, state: State) -> State:
    """Return the nearest state, by mass, in which loops are closed, tendons of given length have it
    and limits hold, with the nearest velocities that loops and tendons allow; in maximal
    coordinates velocities stay as they are.

    A model without loops and such tendons keeps its state. Contacts do not move it.

    Args:
        model: the model.
        state: the state.
    """
    if not len(row_order(model.topology.linkage).loop_rows):
        return state
    contactless = replace(model, topology=replace(model.topology, pairs=()))
    state = close_loops(contactless, state)
    return with_fitting_velocities(model, state) if reducible(model.topology) else state


def _finite(state: State, wrenches: Float[Array, "nb 6"]) -> Bool[Array, ""]:
    moving = (state.position, state.quaternion, state.twist, wrenches)
    return jnp.stack([jnp.all(jnp.isfinite(leaf)) for leaf in moving]).all()
