"""The sensors of a file."""

from dataclasses import replace

import numpy as np

from jaxccp.io.mjcf.elements.bodies import NOWHERE, subtree
from jaxccp.io.mjcf.elements.joints import FREE
from jaxccp.io.mjcf.elements.registry import Elements
from jaxccp.io.mjcf.elements.sensor_scopes import ScopeFinder, UnreadableSensor
from jaxccp.io.mjcf.files.source import Source
from jaxccp.model.model import Model
from jaxccp.model.sites import Site
from jaxccp.sensors import KINDS, Coordinates, Sensor, Sensors, attach_sensors

OURS = ("joint", "body")
"""Kinds of targets of sensors that only this package has; MuJoCo's sensors with the same names have
other targets."""


def read_sensors(source: Source, parts: Elements, layout: Coordinates, model: Model) -> Sensors:
    """Return the sensors of the file; those that cannot be read are listed in ``unreadable``.

    Args:
        source: the compiled file.
        parts: the parts of the model that represent the file's elements.
        layout: layout of the file's coordinates.
        model: the model that was built.
    """
    finder = _Finder(source, parts, model)
    sensors: dict[str, Sensor] = {}
    unreadable: list[str] = []
    for sensor in range(source.m.nsensor):
        name = source.name("sensor", sensor)
        name = name or source.unused_name("sensor", f"sensor {sensor}")
        try:
            sensors[name] = finder.find(sensor)
        except UnreadableSensor as error:
            unreadable.append(f"{source.label('sensor', sensor)}: {error.args[0]}")
    made = attach_sensors(model, sensors, layout, source.m.opt.magnetic)
    return replace(made, unreadable=tuple(unreadable))


class _Finder:
    """Finds what the file's sensors read in the model."""

    def __init__(self, source: Source, parts: Elements, model: Model) -> None:
        self.source, self.model = source, model
        self.body_map, self.axes = parts.body_map, parts.axes
        self.tendons, self.actuators = parts.tendons, parts.driven.tolist()
        self.scopes = ScopeFinder(source, parts.body_map, parts.shapes, model)

    def find(self, sensor: int) -> Sensor:
        """Return one of the file's sensors.

        Args:
            sensor: the file's number of the sensor.

        Raises:
            UnreadableSensor: the kind or the target of the sensor is not supported.
        """
        m = self.source.m
        kind = self.source.mujoco.mjtSensor(m.sensor_type[sensor]).name
        kind = kind.removeprefix("mjSENS_").lower()
        kind = {"touch": "zonetouch"}.get(kind, kind)
        if kind not in KINDS or KINDS[kind].about in OURS:
            raise UnreadableSensor(f"sensors of type {kind} are not read")
        delay = self.source.column("sensor_delay")
        if len(delay) and delay[sensor]:
            raise UnreadableSensor("a delay is not supported")
        interval, history = map(self.source.column, ("sensor_interval", "sensor_historyadr"))
        # Without samples (``nsample``) MuJoCo reads it at every step.
        if len(interval) and interval[sensor, 0] > 0 and history[sensor] >= 0:
            raise UnreadableSensor("an interval between samples is not supported")
        bounds, target = self._bounds(sensor), int(m.sensor_objid[sensor])
        linkage = self.model.topology.linkage
        match KINDS[kind].about:
            case "axis":
                name = self.axes.names[m.jnt_dofadr[target]]
                if not name:
                    raise UnreadableSensor("slides of nodes of flexible bodies are not read")
                return Sensor(kind, name, bounds=bounds)
            case "ball":
                axis = linkage.axis(self.axes.names[m.jnt_dofadr[target]])
                return Sensor(kind, linkage.joints[linkage.owner[axis]], bounds=bounds)
            case "tendon":
                if target not in self.tendons:
                    raise UnreadableSensor("its tendon is not supported")
                return Sensor(kind, self.tendons[target], bounds=bounds)
            case "actuator":
                return Sensor(kind, linkage.actuators[self._actuator(kind, target)], bounds=bounds)
            case "bodies":
                return Sensor(kind, self._group(target), bounds=bounds)
            case "frame" if KINDS[kind].counts:
                return self._counting(kind, sensor, bounds)
            case "frame":
                of, reference = (
                    self._frame(m.sensor_objtype[sensor], target),
                    m.sensor_refid[sensor],
                )
                if reference < 0:
                    return Sensor(kind, of, bounds=bounds)
                return Sensor(kind, of, self._frame(m.sensor_reftype[sensor], reference), bounds)
        return Sensor(kind, bounds=bounds)

    def _counting(self, kind: str, sensor: int, bounds: tuple[float, float]) -> Sensor:
        m = self.source.m
        if kind == "contact":
            counts, site = self.scopes.contact_selection(sensor)
            if site < 0:
                return Sensor(kind, Site(0), bounds=bounds, counts=counts)
        else:
            site = int(m.sensor_objid[sensor])
            if m.sensor_objtype[sensor] != _object(self.source, "SITE"):
                raise UnreadableSensor("rays of cameras are not read")
            counts = getattr(self.scopes, kind)(sensor)
        frame = self._site(m.site_bodyid[site], m.site_pos[site], m.site_quat[site])
        return Sensor(kind, frame, bounds=bounds, counts=counts)

    def _actuator(self, kind: str, target: int) -> int:
        m = self.source.m
        if target not in self.actuators:
            raise UnreadableSensor("its actuator is not supported")
        joint = int(m.actuator_trnid[target, 0])
        if m.actuator_trntype[target] == int(self.source.mujoco.mjtTrn.mjTRN_TENDON):
            return self.actuators.index(target)
        if kind == "actuatorfrc" and m.jnt_actfrclimited[joint]:
            raise UnreadableSensor("its joint limits what the actuator's force becomes")
        if kind == "actuatorpos" and m.jnt_type[joint] == FREE:
            raise UnreadableSensor("the actuator of a free joint has no length, 0 in MuJoCo")
        return self.actuators.index(target)

    def _group(self, root: int) -> list[int]:
        """Return the bodies of the model in the subtree of ``root``, which must not cut a body of
        the model."""
        m = self.source.m
        within = subtree(self.source, root)
        welded = np.asarray(m.body_weldid)
        complete = root == 0 or welded[root] == root
        captured = np.asarray(m.body_mocapid)[welded] >= 0
        fixed = (welded == 0) | captured
        if not complete or np.any(m.body_mass[within & fixed]):
            raise UnreadableSensor(
                "bodies that cannot move by themselves are no subtree of their own"
            )
        group = self.body_map.body[within & ~fixed]
        carried = self.model.topology.family_frames[group]
        if np.any(group == NOWHERE) or np.any(carried):
            raise UnreadableSensor("masses of flexible bodies are not counted")
        if not len(group):
            raise UnreadableSensor("nothing moves in its subtree")
        return group.tolist()

    def _frame(self, kind: int, index: int) -> str | Site:
        m = self.source.m
        if kind == _object(self.source, "XBODY"):
            return self._site(index, np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
        if kind == _object(self.source, "BODY"):
            return self._site(index, m.body_ipos[index], m.body_iquat[index])
        if kind == _object(self.source, "GEOM"):
            return self._site(m.geom_bodyid[index], m.geom_pos[index], m.geom_quat[index])
        if kind == _object(self.source, "SITE"):
            return self.model.sites.names[index]  # the sensor follows changes of the site
        raise UnreadableSensor("frames of cameras are not read")

    def _site(self, body: int, position: np.ndarray, quaternion: np.ndarray) -> Site:
        if self.body_map.body[body] == NOWHERE:
            raise UnreadableSensor("nodes inside flexible bodies are not seen")
        pose = self.body_map.pose(body, position, quaternion)
        return Site(int(self.body_map.body[body]), *pose)

    def _bounds(self, sensor: int) -> tuple[float, float]:
        """Return the bounds that a sensor's cutoff means; a reading that is never negative only has
        an upper one, and one of contacts none, since MuJoCo does not cut it."""
        m, types = self.source.m, self.source.mujoco.mjtDataType
        cutoff, kind = float(m.sensor_cutoff[sensor]), m.sensor_datatype[sensor]
        real, positive = int(types.mjDATATYPE_REAL), int(types.mjDATATYPE_POSITIVE)
        what = self.source.mujoco.mjtSensor(m.sensor_type[sensor]).name
        cuts = cutoff > 0 and kind in (real, positive) and what != "mjSENS_CONTACT"
        upper = cutoff if cuts else np.inf
        return (-upper if kind == real else -np.inf), upper


def _object(source: Source, name: str) -> int:
    return int(getattr(source.mujoco.mjtObj, f"mjOBJ_{name}"))
