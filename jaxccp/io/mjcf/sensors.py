"""Sensors of a model file, as functions of a state."""

from dataclasses import dataclass, field

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float

from jaxccp.content import ByContent
from jaxccp.io.mjcf.bodies import Frames
from jaxccp.io.mjcf.layout import Layout
from jaxccp.io.mjcf.sensing import KINDS, Reading
from jaxccp.io.mjcf.sites import Place, Sites, attached
from jaxccp.io.mjcf.source import Source
from jaxccp.model.model import Model, Topology
from jaxccp.model.state import State

WORLD = 0, np.zeros(3), np.array([1.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True, eq=False)
class Plan(ByContent):
    """Of each sensor; static."""

    names: tuple[str, ...]
    kinds: tuple[str, ...]
    index: np.ndarray
    """Of what it is about, as its kind counts that [n]."""
    bounds: np.ndarray
    """Lowest and highest value [n 2]."""
    groups: Bool[np.ndarray, "g nb"]
    """Bodies of each subtree."""
    unread: tuple[str, ...]


@jax.tree_util.register_dataclass
@dataclass(frozen=True)
class Sensors:
    """Of a file, in its order."""

    of: Sites
    """Frames that the sensors are about; the world's for those that are about none."""
    against: Sites
    """Frames that they see these from."""
    magnetic: Float[Array, "3"]
    layout: Layout
    plan: Plan = field(metadata={"static": True})

    @property
    def names(self) -> tuple[str, ...]:
        """``sensor 3`` and the like where the file gives none."""
        return self.plan.names

    @property
    def unread(self) -> tuple[str, ...]:
        """Those that cannot be read, and why."""
        return self.plan.unread

    def values(
        self,
        model: Model,
        state: State,
        control: Float[Array, " nm"] | None = None,
        acceleration: Float[Array, "nb 6"] | None = None,
    ) -> dict[str, Float[Array, " k"]]:
        """What the sensors show, by name (``names`` has the file's order); a pure function of JAX.

        Args:
            model: as loaded; its numbers may differ.
            state: of which positions, velocities and energies are read.
            control: of our actuators, 0 when None.
            acceleration: of the bodies' centres of mass, and angular, world. Of
                :func:`jaxccp.accelerations` where nothing touches; with contact
                :func:`jaxccp.mean_acceleration` of two states. Sensors of accelerations are left
                out when None.
        """
        if control is None:
            control = jnp.zeros(len(model.topology.linkage.actuators), state.position.dtype)
        plan = self.plan
        reading = Reading(
            *(model, state, self.layout, control, acceleration),
            *(self.of, self.against, plan.groups, self.magnetic),
        )
        found: dict[int, Array] = {}
        for name in dict.fromkeys(plan.kinds):
            kind = KINDS[name]
            if kind.accelerates and acceleration is None:
                continue
            sensors = [i for i, other in enumerate(plan.kinds) if other == name]
            shown = kind.read(reading, plan.index[sensors])
            bounds = jnp.asarray(plan.bounds[sensors], shown.dtype)
            shown = jnp.clip(shown, bounds[:, :1], bounds[:, 1:])
            found.update(zip(sensors, shown, strict=True))
        return {plan.names[i]: found[i] for i in sorted(found)}


def sensed_tendons(source: Source) -> set[int]:
    """Tendons that a sensor is about."""
    m = source.m
    return {int(i) for i in m.sensor_objid[m.sensor_objtype == _object(source, "TENDON")]}


def sensors(
    source: Source,
    frames: Frames,
    topology: Topology,
    layout: Layout,
    tendons: dict[int, str],
    actuators: np.ndarray,
) -> Sensors:
    """Those of the file that can be read; ``actuators`` has the file's number of each of ours."""
    m, finder = source.m, _Finder(source, frames, topology, tendons, actuators.tolist())
    names: list[str] = []
    kinds: list[str] = []
    index: list[int] = []
    kept: list[int] = []
    of: list[Place] = []
    against: list[Place] = []
    unread: list[str] = []
    for sensor in range(m.nsensor):
        kind = source.mujoco.mjtSensor(m.sensor_type[sensor]).name.removeprefix("mjSENS_").lower()
        try:
            found = finder.find(kind, sensor, len(kept))
            seen = finder.frames(sensor) if KINDS[kind].about == "frame" else (WORLD, WORLD)
        except _Unread as error:
            unread.append(f"{source.label('sensor', sensor)}: {error.args[0]}")
            continue
        name = source.name("sensor", sensor) or f"sensor {sensor}"
        while name in names:
            name += "+"
        names.append(name)
        kinds.append(kind)
        index.append(found)
        kept.append(sensor)
        of.append(seen[0])
        against.append(seen[1])
    plan = Plan(
        tuple(names),
        tuple(kinds),
        np.array(index, np.int32),
        _bounds(source, np.array(kept, np.int32)),
        np.array(finder.groups, bool).reshape(-1, len(topology.bodies)),
        tuple(unread),
    )
    magnetic = jnp.asarray(m.opt.magnetic, float)
    return Sensors(attached(frames, of), attached(frames, against), magnetic, layout, plan)


class _Unread(Exception):
    """Why a sensor cannot be read."""


class _Finder:
    """Where what sensors are about is; raises ``_Unread`` for what is not there."""

    def __init__(
        self,
        source: Source,
        frames: Frames,
        topology: Topology,
        tendons: dict[int, str],
        actuators: list[int],
    ) -> None:
        self.source, self.body, self.topology = source, frames.body, topology
        self.tendons, self.actuators = tendons, actuators
        self.groups: list[np.ndarray] = []

    def find(self, kind: str, sensor: int, place: int) -> int:
        """The index that the kind reads; ``place`` is that of the sensor among those read."""
        m = self.source.m
        target = int(m.sensor_objid[sensor])
        if kind not in KINDS:
            raise _Unread(f"sensors of type {kind} are not read")
        delay = self.source.column("sensor_delay")
        if len(delay) and delay[sensor]:
            raise _Unread("a delay is not supported")
        match KINDS[kind].about:
            case "coordinate":
                return int(m.jnt_qposadr[target])
            case "rate":
                return int(m.jnt_dofadr[target])
            case "tendon":
                if target not in self.tendons:
                    raise _Unread("its tendon is not supported")
                return self.topology.linkage.tendon(self.tendons[target])
            case "actuator":
                return self._actuator(kind, target)
            case "bodies":
                return self._group(target)
            case "frame":
                return place
            case "all":
                return 0

    def _actuator(self, kind: str, target: int) -> int:
        m = self.source.m
        if target not in self.actuators:
            raise _Unread("its actuator is not supported")
        tendon = m.actuator_trntype[target] == int(self.source.mujoco.mjtTrn.mjTRN_TENDON)
        if (
            kind == "actuatorfrc"
            and not tendon
            and m.jnt_actfrclimited[m.actuator_trnid[target, 0]]
        ):
            raise _Unread("its joint limits what the actuator's force becomes")
        return self.actuators.index(target)

    def _group(self, root: int) -> int:
        """Bodies from ``root`` on, which must be whole ones of ours."""
        m = self.source.m
        within = np.zeros(m.nbody, bool)
        within[root] = True
        for body in range(root + 1, m.nbody):
            within[body] |= within[m.body_parentid[body]]
        welded = np.asarray(m.body_weldid)
        whole = root == 0 or welded[root] == root
        if not whole or np.any(m.body_mass[within & (welded == 0)]):
            raise _Unread("bodies that cannot move by themselves are no subtree of their own")
        group = np.zeros(len(self.topology.bodies), bool)
        group[self.body[within & (welded > 0)]] = True
        if not group.any():
            raise _Unread("nothing moves in its subtree")
        self.groups.append(group)
        return len(self.groups) - 1

    def frames(self, sensor: int) -> tuple[Place, Place]:
        """What it is about, and what it sees that from."""
        m = self.source.m
        of = self._frame(int(m.sensor_objtype[sensor]), int(m.sensor_objid[sensor]))
        reference = int(m.sensor_refid[sensor])
        if reference < 0:
            return of, WORLD
        return of, self._frame(int(m.sensor_reftype[sensor]), reference)

    def _frame(self, kind: int, index: int) -> Place:
        m = self.source.m
        if kind == _object(self.source, "XBODY"):
            return index, *WORLD[1:]
        if kind == _object(self.source, "BODY"):
            return index, m.body_ipos[index], m.body_iquat[index]
        if kind == _object(self.source, "GEOM"):
            return int(m.geom_bodyid[index]), m.geom_pos[index], m.geom_quat[index]
        if kind == _object(self.source, "SITE"):
            return int(m.site_bodyid[index]), m.site_pos[index], m.site_quat[index]
        raise _Unread("frames of cameras are not read")


def _object(source: Source, name: str) -> int:
    return int(getattr(source.mujoco.mjtObj, f"mjOBJ_{name}"))


def _bounds(source: Source, kept: np.ndarray) -> Float[np.ndarray, "n 2"]:
    """What a cutoff leaves: of values that are positive anyway the upper bound alone."""
    m, types = source.m, source.mujoco.mjtDataType
    cutoff, kind = np.asarray(m.sensor_cutoff)[kept], np.asarray(m.sensor_datatype)[kept]
    cut = cutoff > 0
    real, positive = (kind == int(getattr(types, f"mjDATATYPE_{n}")) for n in ("REAL", "POSITIVE"))
    upper = np.where(cut & (real | positive), cutoff, np.inf)
    return np.stack([np.where(cut & real, -cutoff, -np.inf), upper], axis=1)
