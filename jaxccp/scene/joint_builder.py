"""The part of the builder that adds joints, tendons, actuators and sites."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from jaxccp.model.actuators.activation import Range
from jaxccp.model.actuators.actuator import Actuator
from jaxccp.model.inputs.check import finite_vector, instance, unit_quaternion
from jaxccp.model.joints import JOINTS, Joint
from jaxccp.model.joints.joint import check, freedoms
from jaxccp.model.ranges import check_range
from jaxccp.model.sites import Site
from jaxccp.model.tendons import Coupling, TendonPath
from jaxccp.names import fresh, index, name_or_default
from jaxccp.scene.actuator_limits import ActuatorSpec
from jaxccp.scene.frames import IDENTITY, ORIGIN, Frame, relative_frame
from jaxccp.scene.pair_builder import PairBuilder
from jaxccp.scene.tables.joint_tables import JointSpec, axis_motions, axis_names
from jaxccp.scene.tables.tendon_tables import TendonSpec, checked_tendon

EXAMPLES = "Revolute(…), Prismatic(…), Spherical() or Compound([…]) of several axes"
"""Joints that a message names."""


@dataclass
class JointBuilder(PairBuilder):
    """Adds joints, tendons, actuators and sites."""

    _joints: list[JointSpec] = field(init=False, default_factory=list)
    _explicit_frames: bool = field(init=False, default=False)
    _tendons: list[TendonSpec] = field(init=False, default_factory=list)
    _actuators: list[ActuatorSpec] = field(init=False, default_factory=list)
    _actuator_limits: dict[str, Range] = field(init=False, default_factory=dict)
    _sites: dict[str, Site] = field(init=False, default_factory=dict)

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
        closes_loop: bool = False,
        axes: Sequence[str] = (),
    ) -> int:
        """Connect two bodies and return the joint's index.

        Args:
            joint: kind of joint, the motions of the second body against the first; see
                :mod:`jaxccp.model.joints`.
            first: a body by index or name, or the world, 0.
            second: the other body; at least one of the two must be able to move.
            anchor: origin of the joint's frame, world [m]; all coordinates are 0 in the poses that
                the bodies were added with.
            quaternion: orientation of the joint's frame, world; the axes' directions are given in
                this frame.
            frames: instead of ``anchor`` and ``quaternion``, the joint's frame in each of the two
                bodies' frames (origin in the centre of mass). The two coincide at coordinates 0.
            name: unique name; None: ``joint<i>``.
            collide: whether shapes of the two bodies may touch each other.
            closes_loop: whether the joint closes a loop even where nothing else connects the two
                bodies: it is a constraint between them, as MJCF's ``connect`` and ``weld``, and a
                free body keeps six coordinates.
            axes: name or names of the joint's axes, three for a ball, unique among axes and
                tendons. Empty: the joint's name if it has one axis, else ``name.0``, ``name.1``, …

        Raises:
            TypeError: the joint is something else, such as an axis or a class.
            ValueError: a body does not exist or neither can move, a name is taken, a number is not
                physical, ``frames`` are given beside ``anchor`` or ``quaternion``, or the joint
                constrains the orientation of a body relative to a frame of a flexible body that
                does not turn.
        """
        label = name_or_default("joint", name, len(self._joints))
        what = f"joint {label!r}"
        instance(f"{what}: joint", joint, JOINTS.values(), f"a joint, such as {EXAMPLES}")
        fresh("joint", label, [spec.name for spec in self._joints])
        first = index(what, "body", self._body_names, first)
        second = index(what, "body", self._body_names, second)
        if first == second:
            raise ValueError(f"{what}: connects body {self._bodies[first].name!r} with itself")
        if not (self._bodies[first].is_movable or self._bodies[second].is_movable):
            raise ValueError(f"{what}: neither body can move; one of them must be free")
        check(what, joint)
        self._check_orientations(what, joint, first, second)
        count = freedoms(joint)
        axes = (axes,) if isinstance(axes, str) else axes
        if axes and len(axes) != count:
            raise ValueError(f"{what}: {len(axes)} names are given for {count} axes")
        used_names = [*axis_motions(self._joints), *(spec.name for spec in self._tendons)]
        for axis in (names := tuple(axes) or axis_names(label, count)):
            fresh("axis", axis, used_names)
            used_names.append(axis)
        if frames is None:
            at = finite_vector(f"{what}: anchor [m]", anchor, 3)
            orientation = unit_quaternion(f"{what}: quaternion", quaternion)
            bodies_ = (self._bodies[body] for body in (first, second))
            body_frames = [
                relative_frame((body_.position, body_.quaternion), (at, orientation))
                for body_ in bodies_
            ]
            frames = body_frames[0], body_frames[1]
        elif not (np.array_equal(anchor, ORIGIN) and np.array_equal(quaternion, IDENTITY)):
            raise ValueError(f"{what}: give frames, or anchor and quaternion, not both")
        else:
            self._explicit_frames = True
        self._joints.append(
            JointSpec(
                name=label,
                joint=joint,
                bodies=(first, second),
                anchor=np.array([finite_vector(f"{what}: anchor [m]", f[0], 3) for f in frames]),
                frame=np.array([unit_quaternion(f"{what}: quaternion", f[1]) for f in frames]),
                closes_loop=closes_loop,
                axes=names,
            )
        )
        if not collide:
            self.exclude(first, second)
        return len(self._joints) - 1

    def _check_orientations(self, what: str, joint: Joint, first: int, second: int) -> None:
        """Raise ``ValueError`` for a joint by which a frame that moves but never turns would hold
        the orientation of the other body against the world."""
        turned = sum({"ball": 3, "hinge": 1}.get(axis.motion, 0) for axis in joint.axes)
        for place, other in ((first, second), (second, first)):
            frame, body = self._bodies[place], self._bodies[other]
            keeps = frame.family >= 0 and frame.moves and not frame.turns
            if keeps and turned < 3 and body.is_movable and body.turns:
                raise ValueError(
                    f"{what}: would hold the orientation of {body.name!r} against the world, since "
                    f"the frame {frame.name!r} of a flexible body does not turn: join them by "
                    "Spherical() at three frames"
                )

    def add_tendon(self, tendon: Coupling | TendonPath, name: str | None = None) -> int:
        """Add a tendon that couples axes of joints or points of bodies, and return its index.

        Args:
            tendon: a :class:`jaxccp.Coupling`, such as :func:`jaxccp.gear`, or a
                :class:`jaxccp.TendonPath`.
            name: name, unique among tendons and axes; None: ``tendon<i>``.

        Raises:
            TypeError: the tendon is something else.
            ValueError: an axis or a body does not exist, or the name is taken.
        """
        label = name_or_default("tendon", name, len(self._tendons))
        expected = 'a Coupling, such as gear("follower", "leader", 2.0), or a TendonPath'
        instance(f"tendon {label!r}: tendon", tendon, (Coupling, TendonPath), expected)
        axes = axis_motions(self._joints)
        fresh("tendon", label, [*axes, *(spec.name for spec in self._tendons)])
        checked = checked_tendon(f"tendon {label!r}", tendon, axes, self._body_names)
        self._tendons.append(TendonSpec(label, checked))
        return len(self._tendons) - 1

    def add_actuator(self, actuator: Actuator, axis: int | str, name: str | None = None) -> int:
        """Add an actuator along an axis or tendon and return its index, which is also that of its
        control.

        Args:
            actuator: result of :func:`jaxccp.motor`, :func:`jaxccp.position_servo` or another
                constructor.
            axis: name of an axis (:meth:`add_joint`) or of a tendon; or an index that counts all
                axes, then all tendons.
            name: unique name; None: ``actuator<i>``.

        Raises:
            TypeError: the actuator is something else.
            ValueError: the axis does not exist, or the name is taken.
        """
        label = name_or_default("actuator", name, len(self._actuators))
        expected = "an Actuator, such as motor() or position_servo(100.0)"
        instance(f"actuator {label!r}: actuator", actuator, (Actuator,), expected)
        fresh("actuator", label, [spec.name for spec in self._actuators])
        names = [*axis_motions(self._joints), *(spec_.name for spec_ in self._tendons)]
        actuated = names[index(f"actuator {label!r}", "axis", names, axis)]
        self._actuators.append(ActuatorSpec(label, actuator, actuated))
        return len(self._actuators) - 1

    def limit_actuators(self, axis: int | str, limits: Range) -> None:
        """Limit the sum of the forces of all actuators along an axis or tendon (MuJoCo's
        ``actuatorfrcrange``).

        Along an axis, the sum is of forces times gears. It includes the actuators on tendons that
        couple this axis with others, but not those on tendons between points. Along a tendon, the
        sum is of forces without gears, and an excess scales all of them down alike. The limit of an
        axis with one actuator becomes ``force_limits`` of that actuator, divided by its gear, when
        the model is built.

        Args:
            axis: name or index of the axis or tendon, as in :meth:`add_actuator`.
            limits: lowest and highest force [N, N m].

        Raises:
            ValueError: no axis and no tendon has that name, or the lower limit is above the upper
                one.
        """
        names = [*axis_motions(self._joints), *(spec_.name for spec_ in self._tendons)]
        name = names[index("limit_actuators", "axis", names, axis)]
        check_range(f"limit_actuators: limits of {name!r}", limits)
        self._actuator_limits[name] = (float(limits[0]), float(limits[1]))

    def add_site(
        self,
        body: int | str,
        position: Sequence[float] | np.ndarray = ORIGIN,
        quaternion: Sequence[float] | np.ndarray = IDENTITY,
        name: str | None = None,
    ) -> int:
        """Add a site, a named frame on ``body``, and return its index.

        Args:
            body: body by index or name, or the world, 0.
            position: position in the body's frame, from its centre of mass [m].
            quaternion: orientation (w, x, y, z) in the body's frame.
            name: unique name, for ``model.sites`` and sensors; None: ``site<i>``.
        """
        label = name_or_default("site", name, len(self._sites))
        what = f"site {label!r}"
        fresh("site", label, self._sites)
        self._sites[label] = Site(
            index(what, "body", self._body_names, body),
            finite_vector(f"{what}: position [m]", position, 3),
            unit_quaternion(f"{what}: quaternion", quaternion),
        )
        return len(self._sites) - 1
