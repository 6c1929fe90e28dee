"""Sensors of a model, by name: what each is about, found once, and what all show of a state."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.content import ByContent
from jaxccp.dynamics.inputs import checked_inputs
from jaxccp.dynamics.step_report import StepReport
from jaxccp.math.array_input import Dimension, Floats, as_floats
from jaxccp.model.model import Model
from jaxccp.model.sites import Sites
from jaxccp.model.state import State
from jaxccp.model.state_input import checked_state
from jaxccp.scene.check import finite_vector
from jaxccp.sensors.coordinates import Coordinates, coordinates
from jaxccp.sensors.detail import Detail, Meeting
from jaxccp.sensors.reading import Reading
from jaxccp.sensors.registry import KINDS
from jaxccp.sensors.target import Finder, Sensor


@dataclass(frozen=True, eq=False)
class Plan(ByContent):
    """The plan of each sensor; it is static."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    index: np.ndarray
    """Of what it is about, as its kind counts that [n]."""
    of: tuple[int, ...]
    """Frames that the sensors are about, among the model's sites and then ``Sensors.frames``; the
    world's for those that are about none [n]."""
    against: tuple[int, ...]
    """Frames that they see these from [n]."""
    bounds: np.ndarray
    """Lowest and highest value [n 2]."""
    groups: Bool[np.ndarray, "g nb"]
    """Bodies of each subtree."""
    counted: tuple[Detail | Meeting | None, ...]
    """What of the model each sensor counts, if it counts anything."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Sensors:
    """Sensors of a model, in the order in which they were given."""

    frames: Sites
    """The world's, then those that are no sites of the model."""
    magnetic: Float[Array, "3"]
    layout: Coordinates
    plan: Plan = field(metadata={"static": True})
    unread: tuple[str, ...] = field(default=(), metadata={"static": True})
    """Sensors of a file that cannot be read, and why."""

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all sensors."""
        return self.plan.names

    def values(
        self,
        model: Model,
        state: State,
        control: Float[Floats, " nm"] | None = None,
        acceleration: Float[Floats, "nb 6"] | None = None,
        report: StepReport | None = None,
    ) -> dict[str, Float[Array, " k"]]:
        """What the sensors show, by name (``names`` has their order); a pure function of JAX.

        Args:
            model: that they were made for; its numbers may differ.
            state: of which positions, velocities and energies are read.
            control: of each actuator, 0 when None.
            acceleration: of the bodies' centres of mass, and angular, world. Of
                :func:`jaxccp.accelerations` where nothing touches; with contact
                :func:`jaxccp.mean_acceleration` of two states. Sensors of accelerations are left
                out when None.
            report: of the step that led to the state. Sensors of forces of contacts and joints
                are left out when None.

        Raises:
            ValueError: arrays of other shapes; for sensors of contacts or of force and torque, if
                the report has no ``contact_data``.
        """
        state = checked_state(model, state)
        dtype = state.position.dtype
        _, control = checked_inputs(model, None, control, dtype)
        if control is None:
            control = jnp.zeros(len(model.topology.linkage.actuators), dtype)
        if acceleration is not None:
            bodies = Dimension.named("bodies", model.topology.bodies)
            acceleration = as_floats("acceleration", acceleration, [bodies, 6], dtype)
        plan, frames = self.plan, model.sites.concatenate(self.frames)
        reading = Reading(
            *(model, state, self.layout, control, acceleration, report),
            *(frames.take(plan.of), frames.take(plan.against)),
            *(plan.groups, self.magnetic, plan.counted),
        )
        given = {"": True, "acceleration": acceleration is not None, "report": report is not None}
        given["both"] = given["acceleration"] and given["report"]
        found: dict[int, Array] = {}
        for name in dict.fromkeys(plan.kinds):
            kind = KINDS[name]
            if not given[kind.needs]:
                continue
            every = [i for i, other in enumerate(plan.kinds) if other == name]
            for sensors in [[i] for i in every] if kind.counts == "pairs" else [every]:
                shown = kind.read(reading, plan.index[sensors])
                bounds = jnp.asarray(plan.bounds[sensors], shown.dtype)
                shown = jnp.clip(shown, bounds[:, :1], bounds[:, 1:])
                found.update(zip(sensors, shown, strict=True))
        return {plan.names[i]: found[i] for i in sorted(found)}


def instrument(
    model: Model,
    sensors: Mapping[str, Sensor],
    layout: Coordinates | None = None,
    magnetic: Sequence[float] | np.ndarray = (0.0, -0.5, 0.0),
) -> Sensors:
    """Put sensors on a model.

    Args:
        model: any.
        sensors: by name.
        layout: coordinates that joints are read in; of :func:`jaxccp.coordinates` when None.
        magnetic: field that magnetometers show, world axes, in any unit.

    Raises:
        ValueError: a sensor is about something that the model does not have, or no kind of sensor
            is called so.
    """
    finder = Finder(model)
    found = [finder.find(f"sensor {name!r}", one) for name, one in sensors.items()]
    frames = [
        (finder.frame(f"sensor {name!r}", one.about), finder.frame(f"sensor {name!r}", one.against))
        if KINDS[one.kind].about == "frame"
        else (finder.world, finder.world)
        for name, one in sensors.items()
    ]
    index = [i if about is None else about for i, about in enumerate(found)]
    plan = Plan(
        tuple(sensors),
        tuple(one.kind for one in sensors.values()),
        np.array(index, np.int32),
        tuple(of for of, _ in frames),
        tuple(against for _, against in frames),
        np.array([one.bounds for one in sensors.values()], float).reshape(-1, 2),
        np.array(finder.groups, bool).reshape(-1, len(model.topology.bodies)),
        tuple(
            finder.counted(f"sensor {name!r}", one, of)
            for (name, one), (of, _) in zip(sensors.items(), frames, strict=True)
        ),
    )
    return Sensors(
        Sites.of(finder.frames, [""] * len(finder.frames)),
        jnp.asarray(finite_vector("magnetic", magnetic, 3), float),
        coordinates(model) if layout is None else layout,
        plan,
    )
