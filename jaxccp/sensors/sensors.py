"""Sensors of a model by name, and their readings of a state."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.content import ByContent
from jaxccp.dynamics.inputs import checked_inputs
from jaxccp.dynamics.step_report import StepReport
from jaxccp.math import safe
from jaxccp.math.array_input import Dimension, Floats, as_floats
from jaxccp.model.inputs.check import finite_vector
from jaxccp.model.inputs.state_input import checked_state
from jaxccp.model.model import Model
from jaxccp.model.sites import Sites
from jaxccp.model.state import State
from jaxccp.sensors.coordinates.coordinates import Coordinates
from jaxccp.sensors.coordinates.mujoco_coordinates import mujoco_coordinates
from jaxccp.sensors.reading import Reading
from jaxccp.sensors.registry import KINDS
from jaxccp.sensors.sensor_scope import ContactSelection, SensorScope
from jaxccp.sensors.target import Finder, Sensor


@dataclass(frozen=True, eq=False)
class Plan(ByContent):
    """Targets of n sensors in a model, found once; static."""

    names: tuple[str, ...]
    """Name of each sensor."""
    kinds: tuple[str, ...]
    """Kind of each sensor."""
    index: np.ndarray
    """Index of what each sensor reads, counted as its kind says [n]."""
    subjects: tuple[int, ...]
    """Index of each sensor's frame among the model's sites, followed by ``Sensors.frames``; the
    world's for sensors without a frame [n]."""
    references: tuple[int, ...]
    """Index of the frame that each reading is relative to [n]."""
    bounds: np.ndarray
    """Lowest and highest reading of each sensor, in its unit [n 2]."""
    groups: Bool[np.ndarray, "g nb"]
    """Mask of the bodies of each subtree."""
    scopes: tuple[SensorScope | ContactSelection | None, ...]
    """Shapes and bodies that each sensor measures, if its kind needs them."""


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Sensors:
    """Sensors of a model, in the order in which they were given."""

    frames: Sites
    """The world's frame, then frames of sensors that are not sites of the model."""
    magnetic: Float[Array, "3"]
    """Magnetic field, world axes, in any unit."""
    layout: Coordinates
    """Layout of MuJoCo's coordinates, in which joints are read."""
    plan: Plan = field(metadata={"static": True})
    """What the sensors read of the model."""
    unreadable: tuple[str, ...] = field(default=(), metadata={"static": True})
    """Sensors of a file that cannot be read, with the reasons."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all sensors."""
        return self.plan.names

    def values(
        self,
        model: Model,
        state: State,
        control: Float[Floats, " nm"] | None = None,
        acceleration: Float[Floats, "nb 6"] | None = None,
        report: StepReport | None = None,
    ) -> dict[str, Float[Array, " k"]]:
        """Return the readings of all sensors at a state, by name; a pure function of JAX.

        Args:
            model: the model for which the sensors were made; its numbers may differ.
            state: positions, velocities and energies are read from it.
            control: control of each actuator, 0 when None.
            acceleration: linear accelerations of the bodies' centres of mass and angular ones,
                world axes [m/s², rad/s²], from :func:`jaxccp.accelerations` without contact, or
                from :func:`jaxccp.mean_acceleration` of two states with contact. None: sensors of
                accelerations are left out.
            report: report of the step that led to the state. None: sensors of forces of contacts
                and joints are left out.

        Raises:
            ValueError: an array has another shape; or there are sensors of contacts or of force and
                torque, and the report has no ``contact_data``.
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
            *(frames.take(plan.subjects), frames.take(plan.references)),
            *(plan.groups, self.magnetic, plan.scopes),
        )
        available = {
            "": True,
            "acceleration": acceleration is not None,
            "report": report is not None,
        }
        available["both"] = available["acceleration"] and available["report"]
        values: dict[int, Array] = {}
        for name in dict.fromkeys(plan.kinds):
            kind = KINDS[name]
            if not available[kind.needs]:
                continue
            sensors_ = [i for i, kind_ in enumerate(plan.kinds) if kind_ == name]
            for sensors in [[i] for i in sensors_] if kind.counts == "pairs" else [sensors_]:
                value = kind.read(reading, plan.index[sensors])
                bounds = jnp.asarray(plan.bounds[sensors], value.dtype)
                value = safe.clip(value, bounds[:, :1], bounds[:, 1:])
                values.update(zip(sensors, value, strict=True))
        return {plan.names[i]: values[i] for i in sorted(values)}


def attach_sensors(
    model: Model,
    sensors: Mapping[str, Sensor],
    layout: Coordinates | None = None,
    magnetic: Sequence[float] | np.ndarray = (0.0, -0.5, 0.0),
) -> Sensors:
    """Make sensors for a model; :meth:`Sensors.values` reads them.

    Args:
        model: any model.
        sensors: sensors by name.
        layout: coordinates in which joints are read; :func:`jaxccp.mujoco_coordinates` when None.
        magnetic: magnetic field, world axes, in any unit.

    Raises:
        ValueError: a sensor reads something that the model does not have, or its kind is unknown.
    """
    finder = Finder(model)
    target = [finder.target_index(f"sensor {name!r}", sensor) for name, sensor in sensors.items()]
    frames = [
        (
            finder.frame(f"sensor {name!r}", sensor.about),
            finder.frame(f"sensor {name!r}", sensor.against),
        )
        if KINDS[sensor.kind].about == "frame"
        else (finder.world, finder.world)
        for name, sensor in sensors.items()
    ]
    index = [i if about is None else about for i, about in enumerate(target)]
    plan = Plan(
        names=tuple(sensors),
        kinds=tuple(sensor.kind for sensor in sensors.values()),
        index=np.array(index, np.int32),
        subjects=tuple(subject for subject, _ in frames),
        references=tuple(reference for _, reference in frames),
        bounds=np.array([sensor.bounds for sensor in sensors.values()], float).reshape(-1, 2),
        groups=np.array(finder.groups, bool).reshape(-1, len(model.topology.bodies)),
        scopes=tuple(
            finder.scope(f"sensor {name!r}", sensor, subject)
            for (name, sensor), (subject, _) in zip(sensors.items(), frames, strict=True)
        ),
    )
    return Sensors(
        Sites.of(finder.frames, [""] * len(finder.frames)),
        jnp.asarray(finite_vector("magnetic", magnetic, 3), float),
        mujoco_coordinates(model) if layout is None else layout,
        plan,
    )
