"""Sensors of a file, as ours."""

from dataclasses import dataclass, replace

import numpy as np

from jaxccp.io.mjcf.bodies import NOWHERE, Frames, subtree
from jaxccp.io.mjcf.counted import Counted, Unread
from jaxccp.io.mjcf.joints import Axes
from jaxccp.io.mjcf.source import Source
from jaxccp.model.model import Model
from jaxccp.model.sites import Site
from jaxccp.sensors import KINDS, Coordinates, Sensor, Sensors, attach_sensors

OURS = ("joint", "body")
"""What only sensors of ours are about; those of MuJoCo with the same names mean something else."""


def sensed_tendons(source: Source) -> set[int]:
    """Tendons that a sensor is about."""
    m = source.m
    return {int(i) for i in m.sensor_objid[m.sensor_objtype == _object(source, "TENDON")]}


@dataclass(frozen=True)
class Names:
    """What elements of the file are called here."""

    frames: Frames
    axes: Axes
    tendons: dict[int, str]
    actuators: list[int]
    """The file's number of each of ours."""
    shapes: dict[int, int]
    """Our shape of each geom that has one."""


def sensors(source: Source, names: Names, layout: Coordinates, model: Model) -> Sensors:
    """Return those sensors of the file that can be read."""
    finder = _Finder(source, names, model)
    found: dict[str, Sensor] = {}
    unreadable: list[str] = []
    for sensor in range(source.m.nsensor):
        name = source.name("sensor", sensor) or f"sensor {sensor}"
        while name in found:
            name += "+"
        try:
            found[name] = finder.find(sensor)
        except Unread as error:
            unreadable.append(f"{source.label('sensor', sensor)}: {error.args[0]}")
    made = attach_sensors(model, found, layout, source.m.opt.magnetic)
    return replace(made, unreadable=tuple(unreadable))


class _Finder:
    """What sensors are about, by our names; raises ``Unread`` for what is not there."""

    def __init__(self, source: Source, names: Names, model: Model) -> None:
        self.source, self.model = source, model
        self.places, self.axes = names.frames, names.axes
        self.tendons, self.actuators = names.tendons, names.actuators
        self.counted = Counted(source, names.frames, names.shapes, model)

    def find(self, sensor: int) -> Sensor:
        """One of the file's sensors."""
        m = self.source.m
        kind = self.source.mujoco.mjtSensor(m.sensor_type[sensor]).name
        kind = kind.removeprefix("mjSENS_").lower()
        kind = {"touch": "zonetouch"}.get(kind, kind)
        if kind not in KINDS or KINDS[kind].about in OURS:
            raise Unread(f"sensors of type {kind} are not read")
        delay = self.source.column("sensor_delay")
        if len(delay) and delay[sensor]:
            raise Unread("a delay is not supported")
        bounds, target = self._bounds(sensor), int(m.sensor_objid[sensor])
        linkage = self.model.topology.linkage
        match KINDS[kind].about:
            case "axis":
                name = self.axes.names[m.jnt_dofadr[target]]
                if not name:
                    raise Unread("slides of nodes of flexible bodies are not read")
                return Sensor(kind, name, bounds=bounds)
            case "ball":
                axis = linkage.axis(self.axes.names[m.jnt_dofadr[target]])
                return Sensor(kind, linkage.joints[linkage.owner[axis]], bounds=bounds)
            case "tendon":
                if target not in self.tendons:
                    raise Unread("its tendon is not supported")
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
            counts, site = self.counted.meeting(sensor)
            if site < 0:
                return Sensor(kind, Site(0), bounds=bounds, counts=counts)
        else:
            site = int(m.sensor_objid[sensor])
            if m.sensor_objtype[sensor] != _object(self.source, "SITE"):
                raise Unread("rays of cameras are not read")
            counts = getattr(self.counted, kind)(sensor)
        frame = self._site(m.site_bodyid[site], m.site_pos[site], m.site_quat[site])
        return Sensor(kind, frame, bounds=bounds, counts=counts)

    def _actuator(self, kind: str, target: int) -> int:
        m = self.source.m
        if target not in self.actuators:
            raise Unread("its actuator is not supported")
        tendon = m.actuator_trntype[target] == int(self.source.mujoco.mjtTrn.mjTRN_TENDON)
        if (
            kind == "actuatorfrc"
            and not tendon
            and m.jnt_actfrclimited[m.actuator_trnid[target, 0]]
        ):
            raise Unread("its joint limits what the actuator's force becomes")
        return self.actuators.index(target)

    def _group(self, root: int) -> list[int]:
        """Bodies from ``root`` on, which must be whole ones of ours."""
        m = self.source.m
        within = subtree(self.source, root)
        welded = np.asarray(m.body_weldid)
        whole = root == 0 or welded[root] == root
        if not whole or np.any(m.body_mass[within & (welded == 0)]):
            raise Unread("bodies that cannot move by themselves are no subtree of their own")
        group = self.places.body[within & (welded > 0)]
        carried = self.model.topology.carried[group]
        if np.any(group == NOWHERE) or np.any(carried):
            raise Unread("masses of flexible bodies are not counted")
        if not len(group):
            raise Unread("nothing moves in its subtree")
        return group.tolist()

    def _frame(self, kind: int, index: int) -> Site:
        m = self.source.m
        if kind == _object(self.source, "XBODY"):
            return self._site(index, np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0]))
        if kind == _object(self.source, "BODY"):
            return self._site(index, m.body_ipos[index], m.body_iquat[index])
        if kind == _object(self.source, "GEOM"):
            return self._site(m.geom_bodyid[index], m.geom_pos[index], m.geom_quat[index])
        if kind == _object(self.source, "SITE"):
            return self._site(m.site_bodyid[index], m.site_pos[index], m.site_quat[index])
        raise Unread("frames of cameras are not read")

    def _site(self, body: int, position: np.ndarray, quaternion: np.ndarray) -> Site:
        if self.places.body[body] == NOWHERE:
            raise Unread("nodes inside flexible bodies are not seen")
        pose = self.places.pose(body, position, quaternion)
        return Site(int(self.places.body[body]), *pose)

    def _bounds(self, sensor: int) -> tuple[float, float]:
        """What a cutoff leaves: of values that are positive anyway the upper bound alone."""
        m, types = self.source.m, self.source.mujoco.mjtDataType
        cutoff, kind = float(m.sensor_cutoff[sensor]), m.sensor_datatype[sensor]
        real, positive = int(types.mjDATATYPE_REAL), int(types.mjDATATYPE_POSITIVE)
        upper = cutoff if cutoff > 0 and kind in (real, positive) else np.inf
        return (-upper if kind == real else -np.inf), upper


def _object(source: Source, name: str) -> int:
    return int(getattr(source.mujoco.mjtObj, f"mjOBJ_{name}"))
