"""The builder: checks bodies, shapes, joints and actuators and makes a model of them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import get_args

import jax.numpy as jnp
import numpy as np

from jaxccp.collision.detect import slots
from jaxccp.model.activation import Activations
from jaxccp.model.actuator import Actuator
from jaxccp.model.family import Family
from jaxccp.model.joints import Joint
from jaxccp.model.joints.joint import check
from jaxccp.model.material import Combination, Material
from jaxccp.model.model import ContactSettings, ImpactTimes, Model, Topology
from jaxccp.model.shapes import ConvexMesh, HeightField, Plane, Shape
from jaxccp.model.sites import Site, Sites
from jaxccp.model.smooth import SmoothLaws
from jaxccp.model.state import State
from jaxccp.model.tendons import Cable, Coupling
from jaxccp.names import fresh, index
from jaxccp.scene.body_tables import BodySpec, body_table, initial_state
from jaxccp.scene.check import finite_vector, inertia_matrix, nonnegative, positive, unit_quaternion
from jaxccp.scene.flexible_builder import FlexibleBuilder
from jaxccp.scene.frames import IDENTITY, ORIGIN, Frame, seen_from
from jaxccp.scene.joint_tables import ActuatorSpec, JointSpec, axis_motions, tables
from jaxccp.scene.loop_closure import with_joint_positions
from jaxccp.scene.shape_tables import ShapeSpec, pair_groups, shape_table, table_rows
from jaxccp.scene.smooth_tables import smooth_surfaces, smooth_topology, split_pairs
from jaxccp.scene.tendon_tables import TendonSpec, checked_tendon

WORLD = 0
"""Index of the fixed body every model begins with."""


@dataclass
class ModelBuilder(FlexibleBuilder):
    """Collects bodies, shapes, joints, tendons and actuators, then builds a model of them.

    Every method raises ``ValueError`` for what is not physical, naming it and how to mend it.
    """

    gravity: Sequence[float] = (0.0, 0.0, -9.81)
    """Acceleration by gravity [m/s²]."""
    combination: Combination = field(default_factory=Combination)
    """How the coefficients of two surfaces become those of their contact."""
    smooth_laws: SmoothLaws = field(default_factory=SmoothLaws)
    """Of the contacts of surfaces with a smooth material."""
    margin: float = 0.02
    """Gap below which a contact enters the problem [m]."""
    recovery_speed: float = 0.6
    """Largest speed at which ``EulerImplicitLinearized`` undoes penetration [m/s]; bodies may
    separate at it. ``EulerImplicitProjected`` undoes penetration at once and adds no velocity."""
    min_bounce_speed: float = 0.15
    """Approach speed below which restitution is 0 [m/s]."""
    impact_times: ImpactTimes = "bounces"
    """Which impacts act at the time at which surfaces meet within a step: those with restitution,
    or ``"all"``. One without restitution that does not closes its gap over the whole step; it costs
    less and never adds energy, but its derivative is not that of the motion. One that does lets
    surfaces sink in by up to ½ g h², which the next steps undo."""
    broad_phase: str = "auto"
    """How pairs of moving shapes that may touch are found: one of
    :data:`jaxccp.collision.broad.BROAD`, or by their number. It searches where a rollout, or
    :func:`jaxccp.fit_capacity`, has found out how many pairs it needs room for."""
    _bodies: list[BodySpec] = field(init=False, default_factory=list)
    _families: list[Family] = field(init=False, default_factory=list)
    _shapes: list[ShapeSpec] = field(init=False, default_factory=list)
    _excluded: set[frozenset[int]] = field(init=False, default_factory=set)
    _chosen: set[frozenset[int]] | None = field(init=False, default=None)
    _pair_friction: dict[frozenset[int], tuple[float, float, float]] = field(
        init=False, default_factory=dict
    )
    _joints: list[JointSpec] = field(init=False, default_factory=list)
    _given_frames: bool = field(init=False, default=False)
    _tendons: list[TendonSpec] = field(init=False, default_factory=list)
    _actuators: list[ActuatorSpec] = field(init=False, default_factory=list)
    _sites: dict[str, Site] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        if self.impact_times not in get_args(ImpactTimes):
            raise ValueError(f'impact_times must be "bounces" or "all", not {self.impact_times!r}')
        self._add("world", False, 1.0, np.eye(3), ORIGIN, IDENTITY, ORIGIN, ORIGIN)

    def add_body(
        self,
        mass: float,
        inertia: Sequence[float] | np.ndarray,
        position: Sequence[float] | np.ndarray = ORIGIN,
        quaternion: Sequence[float] | np.ndarray = IDENTITY,
        velocity: Sequence[float] | np.ndarray = ORIGIN,
        angular_velocity: Sequence[float] | np.ndarray = ORIGIN,
        name: str | None = None,
    ) -> int:
        """Add a free body and return its index.

        Args:
            mass: [kg], positive.
            inertia: about the centre of mass in body axes [kg m²]: three principal moments or a
                symmetric positive definite 3 × 3 matrix that satisfies the triangle inequality.
            position: of the centre of mass [m].
            quaternion: (w, x, y, z); normalised if its length is within 1e-3 of 1, else an error.
            velocity: of the centre of mass, world [m/s].
            angular_velocity: world axes [rad/s].
            name: unique; ``body<i>`` when None.
        """
        label = name or f"body{len(self._bodies)}"
        mass = positive(f"body {label!r}: mass [kg]", mass)
        tensor = inertia_matrix(f"body {label!r}", inertia)
        return self._add(
            label, True, mass, tensor, position, quaternion, velocity, angular_velocity
        )

    def add_solid(self, shape: Shape, mass: float, material: Material | None = None, **pose) -> int:
        """Add a free body that is one uniform solid, and return its index.

        The body's frame is at the centre of mass, whatever the frame of a mesh's points. The shape
        has the body's name.

        Args:
            shape: of the solid.
            mass: [kg], positive.
            material: of its surface; the default material when None.
            pose: position, quaternion, velocities and name, as :meth:`add_body` has them.
        """
        body = self.add_body(mass, shape.inertia(mass), **pose)
        offset = -shape.centre if isinstance(shape, ConvexMesh) else ORIGIN
        self.add_shape(body, shape, offset, material=material, name=self._bodies[body].name)
        return body

    def add_fixed(
        self,
        position: Sequence[float] | np.ndarray = ORIGIN,
        quaternion: Sequence[float] | np.ndarray = IDENTITY,
        name: str | None = None,
    ) -> int:
        """Add a body that never moves and return its index.

        Args:
            position: of the body's frame [m].
            quaternion: orientation of the body's frame, (w, x, y, z).
            name: unique; ``body<i>`` when None.
        """
        label = name or f"body{len(self._bodies)}"
        return self._add(label, False, 1.0, np.eye(3), position, quaternion, ORIGIN, ORIGIN)

    def add_family(self, family: Family, name: str | None = None) -> list[int]:
        """Add what moves by velocities of its own, and return the indices of its frames.

        Shapes, joints, tendons and sites can be put on frames as on bodies. Shapes on frames of the
        same family do not touch each other.

        Args:
            family: such as a flexible body; see :class:`jaxccp.model.Family`.
            name: unique; ``family<i>`` when None. The frames are ``name.0``, ``name.1``, …
        """
        own = name or f"family{len(self._families)}"
        position, quaternion = map(np.asarray, family.poses(family.start().q))
        first = len(self._bodies)
        for i, (at, facing) in enumerate(zip(position, quaternion, strict=True)):
            frame = f"{own}.{i}"
            self._add(frame, False, 1.0, np.eye(3), at, facing, ORIGIN, ORIGIN)
            self._bodies[-1].family = len(self._families)
        self._families.append(family)
        return list(range(first, len(self._bodies)))

    @property
    def _body_names(self) -> list[str]:
        return [body.name for body in self._bodies]

    def _shape_pair(self, what: str, pair: Iterable[int | str]) -> frozenset[int]:
        names = [spec.name for spec in self._shapes]
        return frozenset(index(what, "shape", names, shape) for shape in pair)

    def _add(self, name, free, mass, inertia, position, quaternion, velocity, spin) -> int:
        label = f"body {name!r}"
        fresh("body", name, self._body_names)
        self._bodies.append(
            BodySpec(
                name,
                free,
                mass,
                inertia,
                finite_vector(f"{label}: position [m]", position, 3),
                unit_quaternion(f"{label}: quaternion", quaternion),
                finite_vector(f"{label}: velocity [m/s]", velocity, 3),
                finite_vector(f"{label}: angular_velocity [rad/s]", spin, 3),
            )
        )
        return len(self._bodies) - 1

    def add_shape(
        self,
        body: int | str,
        shape: Shape,
        position: Sequence[float] | np.ndarray = ORIGIN,
        quaternion: Sequence[float] | np.ndarray = IDENTITY,
        material: Material | None = None,
        group: int = 1,
        mask: int = ~0,
        name: str | None = None,
    ) -> int:
        """Attach a shape to a body and return the shape's index.

        Two shapes may touch when ``group`` of each has a bit in common with ``mask`` of the other,
        they belong to different bodies of which one is free, and the bodies are not excluded.

        Args:
            body: by index or name.
            shape: in a frame of its own.
            position: origin of the shape's frame in the body's frame [m].
            quaternion: orientation of the shape's frame in the body's frame, (w, x, y, z).
            material: of the surface; the default material when None.
            group: bits of the groups that the shape belongs to.
            mask: bits of the groups that it may touch.
            name: unique; ``shape<i>`` when None.
        """
        own = name or f"shape{len(self._shapes)}"
        fresh("shape", own, [spec.name for spec in self._shapes])
        body = index(f"shape {own!r}", "body", self._body_names, body)
        carrier = self._bodies[body].name
        if isinstance(shape, Plane | HeightField) and self._bodies[body].moves:
            what = shape.kind.replace("_", " ")
            raise ValueError(
                f"body {carrier!r}: a {what} must be on a fixed body, such as the world, 0"
            )
        label = f"{shape.kind} on body {carrier!r}"
        self._shapes.append(
            ShapeSpec(
                own,
                body,
                shape,
                finite_vector(f"{label}: position [m]", position, 3),
                unit_quaternion(f"{label}: quaternion", quaternion),
                material or Material(),
                group,
                mask,
            )
        )
        return len(self._shapes) - 1

    def add_joint(
        self,
        joint: Joint,
        first: int | str,
        second: int | str,
        anchor: Sequence[float] | np.ndarray = ORIGIN,
        quaternion: Sequence[float] | np.ndarray = IDENTITY,
        frames: tuple[Frame, Frame] | None = None,
        name: str | None = None,
        collide: bool = False,
    ) -> int:
        """Connect two bodies and return the joint's index.

        Args:
            joint: how the second body moves against the first; see :mod:`jaxccp.model.joints`.
            first: a body by index or name, or the world, 0.
            second: another body; one of the two must be free.
            anchor: origin of the joint's frame, world [m], where all coordinates are 0 in the poses
                that the bodies were added with.
            quaternion: orientation of the joint's frame, world; the axes' directions are given in
                this frame.
            frames: instead of ``anchor`` and ``quaternion``, the joint's frame in each of the two
                bodies' frames (origin in the centre of mass). The two coincide at coordinates 0.
            name: unique; ``joint<i>`` when None.
            collide: whether shapes of the two bodies may touch each other.
        """
        label = name or f"joint{len(self._joints)}"
        what = f"joint {label!r}"
        fresh("joint", label, [other.name for other in self._joints])
        first = index(what, "body", self._body_names, first)
        second = index(what, "body", self._body_names, second)
        if first == second:
            raise ValueError(f"{what}: connects body {self._bodies[first].name!r} with itself")
        if not (self._bodies[first].moves or self._bodies[second].moves):
            raise ValueError(f"{what}: neither body can move; one of them must be free")
        check(what, joint)
        if frames is None:
            at = finite_vector(f"{what}: anchor [m]", anchor, 3)
            facing = unit_quaternion(f"{what}: quaternion", quaternion)
            owns = (self._bodies[body] for body in (first, second))
            here = [seen_from((own.position, own.quaternion), (at, facing)) for own in owns]
            frames = here[0], here[1]
        else:
            self._given_frames = True
        self._joints.append(
            JointSpec(
                label,
                joint,
                (first, second),
                np.array([finite_vector(f"{what}: anchor [m]", f[0], 3) for f in frames]),
                np.array([unit_quaternion(f"{what}: quaternion", f[1]) for f in frames]),
            )
        )
        if not collide:
            self.exclude(first, second)
        return len(self._joints) - 1

    def add_tendon(self, tendon: Coupling | Cable, name: str | None = None) -> int:
        """Couple axes of joints, or points of bodies, and return the tendon's index.

        Args:
            tendon: a :class:`jaxccp.Coupling`, such as :func:`jaxccp.gear`, or a
                :class:`jaxccp.Cable`.
            name: unique among tendons and axes; ``tendon<i>`` when None.
        """
        label = name or f"tendon{len(self._tendons)}"
        axes = axis_motions(self._joints)
        fresh("tendon", label, [*axes, *(other.name for other in self._tendons)])
        checked = checked_tendon(f"tendon {label!r}", tendon, axes, self._body_names)
        self._tendons.append(TendonSpec(label, checked))
        return len(self._tendons) - 1

    def add_actuator(self, actuator: Actuator, axis: int | str, name: str | None = None) -> int:
        """Add an actuator along an axis or tendon; returns its index, also in the controls.

        Args:
            actuator: :func:`jaxccp.motor`, :func:`jaxccp.position_servo`, … .
            axis: name of an axis (the joint's if it has one degree of freedom, else ``joint.0``,
                …) or of a tendon; or an index, where all tendons come after all axes.
            name: unique; ``actuator<i>`` when None.
        """
        label = name or f"actuator{len(self._actuators)}"
        fresh("actuator", label, [other.name for other in self._actuators])
        known = [*axis_motions(self._joints), *(one.name for one in self._tendons)]
        actuated = known[index(f"actuator {label!r}", "axis", known, axis)]
        self._actuators.append(ActuatorSpec(label, actuator, actuated))
        return len(self._actuators) - 1

    def add_site(
        self,
        body: int | str,
        position: Sequence[float] | np.ndarray = ORIGIN,
        quaternion: Sequence[float] | np.ndarray = IDENTITY,
        name: str | None = None,
    ) -> int:
        """Mark a frame on ``body``, an index or a name, and return the site's index.

        Args:
            body: that carries it, or the world, 0.
            position: in the body's frame, from its centre of mass [m].
            quaternion: orientation (w, x, y, z) in the body's frame.
            name: unique; ``site<i>`` when None. ``model.sites`` and sensors know it by that.
        """
        own = name or f"site{len(self._sites)}"
        what = f"site {own!r}"
        fresh("site", own, self._sites)
        self._sites[own] = Site(
            index(what, "body", self._body_names, body),
            finite_vector(f"{what}: position [m]", position, 3),
            unit_quaternion(f"{what}: quaternion", quaternion),
        )
        return len(self._sites) - 1

    def exclude(self, body_a: int | str, body_b: int | str) -> None:
        """Let the shapes of two bodies, by index or name, pass through each other."""
        names = self._body_names
        pair = frozenset(index("exclude", "body", names, body) for body in (body_a, body_b))
        self._excluded.add(pair)

    def collide_only(self, pairs: Iterable[tuple[int | str, int | str]]) -> None:
        """Let these pairs of shapes, by index or name, touch, and no others.

        Groups, masks and excluded bodies have no effect then.
        """
        self._chosen = {self._shape_pair("collide_only", pair) for pair in pairs}

    def set_pair_friction(
        self,
        shape_a: int | str,
        shape_b: int | str,
        friction: float,
        spinning: float,
        rolling: float,
    ) -> None:
        """Give a pair of shapes coefficients of its own, in impacts too, instead of combining those
        of its materials.

        Args:
            shape_a: by index or name.
            shape_b: by index or name.
            friction: Coulomb coefficient.
            spinning: coefficient of spinning friction [m].
            rolling: coefficient of rolling friction [m].
        """
        Material(friction, spinning=spinning, rolling=rolling)  # raises for unphysical numbers
        pair = self._shape_pair("set_pair_friction", (shape_a, shape_b))
        self._pair_friction[pair] = (friction, spinning, rolling)

    def build(self, max_contacts: int | None = None) -> tuple[Model, State]:
        """The model and its initial state, in JAX's current default precision.

        Args:
            max_contacts: largest number of contacts in one step, of hard and of smooth ones each;
                where there are more, the deepest are kept and the overflow is reported. None: room
                for every candidate point.

        Returns:
            The model, and the state in which the bodies are where they were added.

        Raises:
            ValueError: there is no body, or a joint or a tendon of given length does not fit the
                poses of the bodies.
        """
        model, state = self.build_open(max_contacts)
        # Frames made from an anchor coincide by construction.
        given = self._given_frames or len(model.topology.linkage.routing.bilateral)
        return model, with_joint_positions(model, state) if given else state

    def build_open(self, max_contacts: int | None = None) -> tuple[Model, State]:
        """The model and its initial state, without a check that joints and tendons fit the poses.

        Args:
            max_contacts: as in :meth:`build`.
        """
        if len(self._bodies) == 1:
            raise ValueError("the model has no body besides the world; add one with add_body")
        if max_contacts is not None and max_contacts < 1:
            raise ValueError(f"max_contacts must be at least 1, not {max_contacts}")
        family = np.array([body.family for body in self._bodies])
        free = np.array([body.free for body in self._bodies])
        moves = free | (family >= 0)
        joints, axes, tendons, actuators, linkage = tables(
            self._joints, self._tendons, self._actuators, ~moves, family >= 0
        )
        hard, smooth = split_pairs(self._shapes, self._may_touch)
        surfaces = [p.material for p in self._shapes if p.material.smooth is None]
        pairs = self._shapes, self._pair_friction
        topology = Topology(
            tuple(body.name for body in self._bodies),
            free,
            family,
            tuple(spec.name for spec in self._shapes),
            tuple(spec.shape.kind for spec in self._shapes),
            np.array([spec.body for spec in self._shapes], np.int32),
            table_rows(self._shapes),
            pair_groups(*pairs, hard, moves, self.broad_phase),
            self.combination,
            any(surface.spinning or surface.rolling for surface in surfaces)
            or any(spinning or rolling for _, spinning, rolling in self._pair_friction.values()),
            any(surface.restitution > 0 for surface in surfaces) or self.impact_times == "all",
            self.impact_times,
            max_contacts,
            linkage,
            smooth_topology(
                *pairs,
                smooth,
                moves,
                self.broad_phase,
                self.smooth_laws,
                self.combination,
                max_contacts,
            ),
        )
        model = Model(
            body_table(self._bodies),
            shape_table(self._shapes, self._pair_friction, self.margin),
            joints,
            axes,
            tendons,
            actuators,
            jnp.asarray(finite_vector("gravity [m/s²]", self.gravity, 3), float),
            ContactSettings(
                jnp.asarray(nonnegative("margin [m]", self.margin), float),
                jnp.asarray(nonnegative("recovery_speed [m/s]", self.recovery_speed), float),
                jnp.asarray(nonnegative("min_bounce_speed [m/s]", self.min_bounce_speed), float),
            ),
            Sites.of(list(self._sites.values()), self._sites),
            topology,
            families=tuple(self._families),
            smooth=smooth_surfaces(self._shapes, topology, self._families, self.smooth_laws),
            activations=Activations.of([one.actuator.activation for one in self._actuators]),
        )
        return model, initial_state(model, self._bodies)

    def _may_touch(self, i: int, j: int) -> bool:
        a, b = self._shapes[i], self._shapes[j]
        if self._chosen is not None:
            return frozenset((i, j)) in self._chosen
        return (
            a.body != b.body
            and (self._bodies[a.body].moves or self._bodies[b.body].moves)
            and (
                self._bodies[a.body].family < 0
                or self._bodies[a.body].family != self._bodies[b.body].family
            )
            and bool(a.group & b.mask)
            and bool(b.group & a.mask)
            and frozenset((a.body, b.body)) not in self._excluded
        )


def contact_capacity(model: Model) -> int:
    """The largest number of contacts that a step of the model has room for."""
    every = slots(model.topology)
    limit = model.topology.max_contacts
    return every if limit is None else min(limit, every)
