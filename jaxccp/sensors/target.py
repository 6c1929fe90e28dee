"""Targets of sensors, found in the model by name."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf
from numbers import Integral

import numpy as np

from jaxccp.model.inputs.check import finite_vector, unit_quaternion
from jaxccp.model.model import Model
from jaxccp.model.ranges import check_range
from jaxccp.model.sites import Site
from jaxccp.model.topology import WORLD
from jaxccp.names import index, unknown
from jaxccp.sensors.contact_pairs import CHOICES, FIELDS
from jaxccp.sensors.registry import KINDS
from jaxccp.sensors.sensor_scope import ContactSelection, SensorScope
from jaxccp.sensors.zone import ZONES

WORLD_FRAME = Site(WORLD)
About = str | Site | Sequence[int | str]
"""Name of what a sensor reads, a frame, or a group of bodies."""


@dataclass(frozen=True)
class Sensor:
    """A sensor to attach to a model."""

    kind: str
    """A kind of :data:`jaxccp.sensors.KINDS`, such as ``gyro``."""
    about: About = "world"
    """What the sensor reads: the name of an axis, joint, tendon, actuator or body, depending on the
    kind. For a sensor of a frame, the name of a site, or a :class:`jaxccp.Site`. For a subtree, the
    name of a body, which includes its descendants, or a sequence of bodies."""
    against: str | Site = WORLD_FRAME
    """Frame that ``framepos``, ``framequat``, the axes ``framexaxis``, …, ``framelinvel`` and
    ``frameangvel`` are relative to: the name of a site, ``"world"``, or a :class:`jaxccp.Site`."""
    bounds: tuple[float, float] = (-inf, inf)
    """Lowest and highest reading, in its unit."""
    counts: SensorScope | ContactSelection | None = None
    """Shapes, bodies and zone that the sensor measures. None: a range finder ignores the shapes of
    its body, a touch sensor counts all contacts of its body, a force sensor carries its body and
    its descendants. Contact sensors need a :class:`jaxccp.sensors.ContactSelection`."""


class Finder:
    """Finds the targets of sensors in a model by name, and collects frames that are not sites of
    the model."""

    def __init__(self, model: Model) -> None:
        self.topology, self.sites = model.topology, model.sites
        self.world = len(self.sites.names)
        """Place of the world's frame."""
        self.frames: list[Site] = [WORLD_FRAME]
        self.groups: list[np.ndarray] = []

    def target_index(self, label: str, sensor: Sensor) -> int | None:
        """Return the index of what a sensor reads; None for sensors of frames and of the whole
        model.

        Args:
            label: name of the sensor, for messages.
            sensor: the sensor.

        Raises:
            ValueError: the sensor fits nothing in the model.
        """
        if sensor.kind not in KINDS:
            raise ValueError(f"{label}: the kind {unknown(sensor.kind, KINDS)}")
        linkage, about = self.topology.linkage, KINDS[sensor.kind].about
        check_range(f"{label}: bounds", sensor.bounds)
        if sensor.against is not WORLD_FRAME and not KINDS[sensor.kind].relative:
            others = ", ".join(name for name, kind in KINDS.items() if kind.relative)
            raise ValueError(
                f"{label}: a {sensor.kind} is relative to no frame: leave out against; only "
                f"{others} have it"
            )
        if about == "all" and sensor.about != "world":
            raise ValueError(
                f"{label}: {sensor.kind} is about the whole model, not {sensor.about!r}: leave out "
                "about"
            )
        is_unnamed = sensor.about == "world" and "world" not in self.sites.names
        if about == "frame" and is_unnamed and KINDS[sensor.kind].counts != "pairs":
            raise ValueError(
                f"{label}: a {sensor.kind} is about a frame: give the name of a site as about, or "
                "Site(0) for the world"
            )
        if about in ("frame", "all"):
            return None
        if about == "bodies":
            return self._group(label, sensor.about)
        if not isinstance(sensor.about, str):
            raise ValueError(f"{label}: {sensor.kind} is about one {about}; give its name")
        match about:
            case "axis":
                return self._axis(label, sensor.about)
            case "ball":
                return self._ball(label, sensor.about)
            case "joint":
                names = linkage.joints
            case "tendon":
                names = linkage.routing.tendons
            case "actuator":
                names = linkage.actuators
            case "body":
                names = self.topology.bodies
        return index(label, about, names, sensor.about)

    def frame(self, label: str, about: About) -> int:
        """Return the index of a frame among the model's sites, followed by the collected frames.

        Args:
            label: name of the sensor, for messages.
            about: name of a site, that of the world, or a site.

        Raises:
            ValueError: no site or body has that name, or ``about`` is neither a name nor a site.
        """
        if isinstance(about, str):
            # The world's frame is the one after the sites.
            return index(label, "site", (*self.sites.names, "world"), about)
        if not isinstance(about, Site):
            raise ValueError(f"{label}: is about a frame; give a site's name or a Site")
        self.frames.append(
            Site(
                index(label, "body", self.topology.bodies, about.body),
                finite_vector(f"{label}: position [m]", about.position, 3),
                unit_quaternion(f"{label}: quaternion", about.quaternion),
            )
        )
        return self.world + len(self.frames) - 1

    def scope(
        self, label: str, sensor: Sensor, frame_: int
    ) -> SensorScope | ContactSelection | None:
        """Return the shapes, bodies or contacts that a sensor measures; None if its kind needs
        none.

        Args:
            label: name of the sensor, for messages.
            sensor: the sensor.
            frame_: index of its frame.

        Raises:
            ValueError: ``counts`` of the sensor has another type than its kind needs, or an invalid
                value.
        """
        kind, explicit = KINDS[sensor.kind].counts, sensor.counts
        required = {"": None, "pairs": ContactSelection}.get(kind, SensorScope)
        if explicit is not None or kind == "pairs":
            if required is None or not isinstance(explicit, required):
                expected = "nothing" if required is None else f"a {required.__name__}"
                raise ValueError(f"{label}: {sensor.kind} counts {expected}; give that")
            if explicit is not None:
                self._check_masks(label, explicit)
                _check_counts(label, explicit)
                if isinstance(explicit, SensorScope):
                    if explicit.zone is not None and sensor.kind != "zonetouch":
                        raise ValueError(f"{label}: a {sensor.kind} has no zone: leave it out")
                    body = index(f"{label}: counts", "body", self.topology.bodies, explicit.body)
                    return replace(explicit, body=body)
            return explicit
        if not kind:
            return None
        bodies = (*self.sites.bodies, *(int(frame.body) for frame in self.frames))
        counted = np.arange(len(self.topology.bodies)) == bodies[frame_]
        if kind == "subtree":
            if self.topology.family_frames[bodies[frame_]]:
                raise ValueError(
                    f"{label}: a {sensor.kind} sensor carries a rigid body, not "
                    f"{self.topology.bodies[bodies[frame_]]!r}, a frame of a flexible body: read "
                    "the reaction of a joint there by jointforce, or contacts by contactforce"
                )
            counted = self._subtree(bodies[frame_]) if bodies[frame_] != WORLD else counted
        return SensorScope(counted[self.topology.shape_body], counted & self.topology.free)

    def _check_masks(self, label: str, counts: SensorScope | ContactSelection) -> None:
        """Raise ``ValueError`` for a mask that does not have an entry for each shape or body."""
        shapes, bodies = self.topology.shape_names, self.topology.bodies
        names = {"shapes": shapes, "first": shapes, "second": shapes, "bodies": bodies}
        for field_, entries in names.items():
            mask = getattr(counts, field_, None)
            if mask is None:
                continue
            mask = np.asarray(mask)
            if mask.dtype != bool or mask.shape != (len(entries),):
                raise ValueError(
                    f"{label}: {field_} must be a mask with one truth value for each of "
                    f"{', '.join(entries)}, not {mask.tolist()}"
                )

    def _axis(self, label: str, name: str) -> int:
        linkage = self.topology.linkage
        axis = index(label, "axis", linkage.axes, name)
        if linkage.motions[axis] == "ball":
            raise ValueError(f"{label}: axis {name!r} is a ball's; use ballquat or ballangvel")
        return axis

    def _ball(self, label: str, name: str) -> int:
        linkage = self.topology.linkage
        axes = linkage.slots[index(label, "joint", linkage.joints, name)]
        balls = [axis for axis in axes if (*linkage.motions, "")[axis] == "ball"]
        if not balls:
            raise ValueError(f"{label}: joint {name!r} has no ball; use jointpos or jointvel")
        return int(balls[0])

    def _group(self, label: str, about: About) -> int:
        """Return the index of a new group of bodies: the rigid ones of a subtree that are not
        fixed."""
        if isinstance(about, Site):
            raise ValueError(f"{label}: is about bodies; give the name of one or a sequence")
        if isinstance(about, str):
            group = self._subtree(index(label, "body", self.topology.bodies, about))
        else:
            group = np.zeros(len(self.topology.bodies), bool)
            group[[index(label, "body", self.topology.bodies, body) for body in about]] = True
        flexible = np.flatnonzero(group & self.topology.family_frames)
        if len(flexible):
            raise ValueError(
                f"{label}: the mass of flexible bodies, such as that of the frame "
                f"{self.topology.bodies[flexible[0]]!r}, is not counted: name rigid bodies only"
            )
        group &= self.topology.free
        if not group.any():
            raise ValueError(f"{label}: nothing moves in its subtree; name other bodies")
        self.groups.append(group)
        return len(self.groups) - 1

    def _subtree(self, root: int) -> np.ndarray:
        """Return the mask of a body and its descendants through joints of trees; of all bodies for
        the world."""
        bodies, (order, forwards) = self.topology.linkage.bodies, self.topology.linkage.tree
        group = np.arange(len(self.topology.bodies)) == root
        if root == WORLD:
            return np.ones_like(group)
        for joint, outwards in zip(order, forwards, strict=True):
            parent, child = bodies[joint] if outwards else bodies[joint][::-1]
            group[child] |= group[parent]
        return group


def _check_counts(label: str, counts: SensorScope | ContactSelection) -> None:
    """Raise ``ValueError`` for a zone, data, a choice or a count that do not exist."""
    kind = getattr(counts.zone, "kind", counts.zone)
    if kind is not None and kind not in ZONES:
        raise ValueError(f"{label}: the zone {unknown(kind, ZONES)}")
    if isinstance(counts, SensorScope):
        return
    if isinstance(counts.data, str) or not counts.data:
        raise ValueError(f"{label}: data must be a tuple of {', '.join(FIELDS)}")
    for name in counts.data:
        if name not in FIELDS:
            raise ValueError(f"{label}: data: {unknown(name, FIELDS)}")
    if counts.choice not in CHOICES:
        raise ValueError(f"{label}: the choice {unknown(counts.choice, CHOICES)}")
    if not isinstance(counts.count, Integral) or counts.count < 1:
        raise ValueError(
            f"{label}: count must be a whole number of at least 1, not {counts.count!r}"
        )
