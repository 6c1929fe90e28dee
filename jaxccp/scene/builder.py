"""The builder: checks bodies, shapes, joints and actuators and makes a model of them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import get_args

import jax.numpy as jnp
import numpy as np

from jaxccp.collision.detect import slots
from jaxccp.model.activation import Activations
from jaxccp.model.family import Family
from jaxccp.model.material import Combination, Material
from jaxccp.model.model import ContactSettings, ImpactTimes, Model, Topology
from jaxccp.model.shapes import ConvexMesh, HeightField, Plane, Shape
from jaxccp.model.sites import Sites
from jaxccp.model.smooth import SmoothLaws
from jaxccp.model.state import State
from jaxccp.names import fresh, index
from jaxccp.scene.body_tables import BodySpec, body_table, initial_state
from jaxccp.scene.check import finite_vector, inertia_matrix, nonnegative, positive, unit_quaternion
from jaxccp.scene.flexible_builder import FlexibleBuilder
from jaxccp.scene.frames import IDENTITY, ORIGIN
from jaxccp.scene.joint_builder import JointBuilder
from jaxccp.scene.joint_tables import tables
from jaxccp.scene.loop_closure import with_joint_positions
from jaxccp.scene.shape_tables import ShapeSpec, pair_groups, shape_table, table_rows
from jaxccp.scene.smooth_tables import smooth_surfaces, smooth_topology, split_pairs

WORLD = 0
"""Index of the fixed body every model begins with."""


@dataclass
class ModelBuilder(FlexibleBuilder, JointBuilder):
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
    surfaces sink in by up to ½ g h², which the next steps undo, and what is closed answers it then:
    where anything does, the step takes two solves."""
    broad_phase: str = "auto"
    """How pairs of moving shapes that may touch are found: one of
    :data:`jaxccp.collision.broad.BROAD`, or by their number. It searches where a rollout, or
    :func:`jaxccp.fit_capacity`, has found out how many pairs it needs room for."""
    _families: list[Family] = field(init=False, default_factory=list)

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
            self._joints, self._tendons, self._actuators, self._actuator_limits, ~moves, family >= 0
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


def contact_capacity(model: Model) -> int:
    """The largest number of contacts that a step of the model has room for."""
    every = slots(model.topology)
    limit = model.topology.max_contacts
    return every if limit is None else min(limit, every)
