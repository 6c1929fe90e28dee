"""Prediction of motion by a model, from a recorded start."""

from dataclasses import dataclass, field, replace

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

from jaxccp.ccp.problem import Law
from jaxccp.ccp.solve import Stop
from jaxccp.ccp.solver import Solver
from jaxccp.ccp.solvers import resolved
from jaxccp.ccp.solvers.apgd import APGD
from jaxccp.dynamics.rollout import rollout
from jaxccp.dynamics.stepper import Carry
from jaxccp.dynamics.steppers import STEPPERS, SolvedStepper
from jaxccp.identify import parameters
from jaxccp.identify.toss_segments import Segments
from jaxccp.math import quaternion, safe
from jaxccp.model.model import Model
from jaxccp.model.state import State
from jaxccp.names import unknown


@dataclass(frozen=True)
class Experiment:
    """A model of one free body, and how its motion is computed between samples."""

    model: Model
    state: State
    """Any state of the model; the body's pose and twist are replaced by those of each start."""
    dt: float
    """Time between samples [s]."""
    law: Law = "ncp"
    substeps: int = 8
    """The number of steps between two samples."""
    stop: Stop = field(default_factory=lambda: Stop(max_iterations=300))
    solver: Solver | str = field(default_factory=APGD)
    """An algorithm of :mod:`jaxccp.ccp.solvers`, or its name there."""
    method: str = "euler"
    """Name of the time stepper (:data:`jaxccp.dynamics.steppers.STEPPERS`)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "solver", resolved(self.solver))
        if self.method not in STEPPERS:
            raise ValueError(unknown(self.method, STEPPERS))

    @property
    def stepper(self) -> SolvedStepper:
        h = self.dt / self.substeps
        return STEPPERS[self.method](h, self.law, self.solver, self.stop)

    @property
    def body(self) -> int:
        """Index of the free body."""
        (index,) = self.model.topology.free.nonzero()[0]
        return int(index)

    def begin(self, names: tuple[str, ...], values: Float[Array, " p"], start: Segments) -> Carry:
        """What the stepper carries at one start.

        Args:
            names: of the parameters.
            values: of the parameters.
            start: one segment, without a leading axis; use ``vmap`` for many.
        """
        body = self.body
        state = replace(
            self.state,
            position=self.state.position.at[body].set(start.position),
            quaternion=self.state.quaternion.at[body].set(start.quaternion),
            velocity=self.state.velocity.at[body].set(start.velocity),
            angular_velocity=self.state.angular_velocity.at[body].set(start.angular_velocity),
        )
        return self.stepper.init(parameters.apply(self.model, names, values), state)

    def go_on(
        self,
        names: tuple[str, ...],
        values: Float[Array, " p"],
        carry: Carry,
        samples: int,
        first: Bool[Array, ""] | bool = True,
    ) -> tuple[Carry, Float[Array, "s 3"], Float[Array, "s 4"]]:
        """Positions and orientations of the body at the next samples, and the carry at the last.

        Args:
            names: of the parameters.
            values: of the parameters.
            carry: of the sample before them.
            samples: the number s of samples.
            first: whether ``carry`` is that of a start.
        """
        model = parameters.apply(self.model, names, values)
        body = self.body
        steps, h = samples * self.substeps, self.stepper.h
        # The recorded velocity is the mean over the sampling interval before the start; the
        # stepper's may be the mean over its own step before it. What gravity does between the two
        # acts within the first step, where the model's contacts answer it as they do the rest.
        since = self.dt - h if self.stepper.mean_velocity else self.dt
        late = 0.5 * since / h * model.gravity * model.bodies.mass[body]
        forces = jnp.zeros((steps, *self.state.position.shape[:1], 6), late.dtype)
        forces = forces.at[0, body, :3].set(jnp.where(first, late, 0.0))
        carry, trajectory = rollout(model, carry, self.stepper, steps, forces, every=self.substeps)
        return carry, trajectory.state.position[:, body], trajectory.state.quaternion[:, body]

    def predict(
        self, names: tuple[str, ...], values: Float[Array, " p"], start: Segments, samples: int
    ) -> tuple[Float[Array, "s 3"], Float[Array, "s 4"]]:
        """Positions and orientations of the body at the samples after one start.

        Args:
            names: of the parameters.
            values: of the parameters.
            start: one segment, without a leading axis; use ``vmap`` for many.
            samples: the number s of samples.
        """
        return self.go_on(names, values, self.begin(names, values, start), samples)[1:]


def errors(
    position: Float[Array, "s 3"],
    orientation: Float[Array, "s 4"],
    segment: Segments,
) -> tuple[Float[Array, "s 3"], Float[Array, "s 3"]]:
    """Errors of a prediction at each of s samples.

    Args:
        position: predicted, world [m].
        orientation: predicted, (w, x, y, z).
        segment: has the recorded poses.

    Returns:
        The error of position, world [m], and the rotation vector of the error of orientation [rad].
    """
    difference = quaternion.multiply(quaternion.conjugate(segment.target_quaternion), orientation)
    difference = jnp.where(difference[:, :1] < 0, -difference, difference)
    sine = safe.norm(difference[:, 1:])
    angle = 2.0 * jnp.arctan2(sine, difference[:, 0])
    factor = jnp.where(sine > 1e-6, angle / jnp.where(sine > 1e-6, sine, 1.0), 2.0)
    return position - segment.target_position, factor[:, None] * difference[:, 1:]
