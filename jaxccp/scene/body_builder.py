"""The part of the builder that adds bodies and their shapes."""

import operator
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from jaxccp.model.family import Family
from jaxccp.model.inputs.check import (
    finite_vector,
    inertia_matrix,
    instance,
    positive,
    unit_quaternion,
)
from jaxccp.model.material import Material
from jaxccp.model.shapes import SHAPES, ConvexMesh, HeightField, Plane, Shape
from jaxccp.names import fresh, index, name_or_default
from jaxccp.scene.frames import IDENTITY, ORIGIN
from jaxccp.scene.pair_builder import PairBuilder
from jaxccp.scene.tables.body_tables import BodySpec
from jaxccp.scene.tables.shape_tables import ShapeSpec


@dataclass
class BodyBuilder(PairBuilder):
    """Adds rigid bodies, families and their shapes."""

    _families: list[Family] = field(init=False, default_factory=list)

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
            mass: mass [kg], positive.
            inertia: inertia about the centre of mass in body axes [kg m²]: three principal moments
                or a symmetric positive definite 3 × 3 matrix that satisfies the triangle
                inequality.
            position: position of the centre of mass [m].
            quaternion: orientation (w, x, y, z); normalised if its length is within 1e-3 of 1, else
                an error.
            velocity: velocity of the centre of mass, world [m/s].
            angular_velocity: angular velocity, world axes [rad/s].
            name: unique name; None: ``body<i>``.
        """
        label = name_or_default("body", name, len(self._bodies))
        mass = positive(f"body {label!r}: mass [kg]", mass)
        tensor = inertia_matrix(f"body {label!r}", inertia)
        return self._add(
            label, True, mass, tensor, position, quaternion, velocity, angular_velocity
        )

    def add_solid(self, shape: Shape, mass: float, material: Material | None = None, **pose) -> int:
        """Add a free body with the mass properties of a uniform solid and that solid as its shape;
        return the body's index.

        The body's frame is at the centre of mass, whatever the frame of a mesh's points is. The
        shape has the body's name.

        Args:
            shape: shape of the solid.
            mass: mass [kg], positive.
            material: material of its surface; None: the default material.
            pose: position, quaternion, velocities and name, as in :meth:`add_body`.
        """
        check_shape("add_solid", shape)
        check_material("add_solid", material)
        name = name_or_default("body", pose.get("name"), len(self._bodies))
        fresh("body", name, self._body_names)
        fresh("shape", name, self._shape_names)  # before the body is added
        mass = positive(f"body {name!r}: mass [kg]", mass)
        body = self.add_body(mass, shape.inertia(mass), **pose)
        offset = -shape.centre if isinstance(shape, ConvexMesh) else ORIGIN
        self.add_shape(body, shape, offset, material=material, name=name)
        return body

    def add_fixed(
        self,
        position: Sequence[float] | np.ndarray = ORIGIN,
        quaternion: Sequence[float] | np.ndarray = IDENTITY,
        name: str | None = None,
    ) -> int:
        """Add a fixed body and return its index.

        Args:
            position: position of the body's frame [m].
            quaternion: orientation of the body's frame, (w, x, y, z).
            name: unique name; None: ``body<i>``.
        """
        label = name_or_default("body", name, len(self._bodies))
        return self._add(label, False, 1.0, np.eye(3), position, quaternion, ORIGIN, ORIGIN)

    def add_family(self, family: Family, name: str | None = None) -> list[int]:
        """Add a family, such as a flexible body, and return the indices of its frames.

        Shapes, joints, tendons and sites can be put on frames as on bodies. Shapes on frames of the
        same family do not collide with each other.

        Args:
            family: the family (:class:`jaxccp.model.Family`).
            name: unique name; None: ``family<i>``. The frames are ``name.0``, ``name.1``, …

        Raises:
            TypeError: it is something else.
            ValueError: the family has no coordinates, as when all nodes are fixed.
        """
        label = name_or_default("family", name, len(self._families))
        fresh("family", label, ())
        expected = "a Family, such as a body of jaxccp.flexible"
        instance(f"family {label!r}: family", family, (Family,), expected)
        start = family.start().q
        if not len(start):
            raise ValueError(
                f"family {label!r}: nothing in it can move: leave a node free, or add a fixed body"
            )
        position, quaternion = map(np.asarray, family.poses(start))
        first = len(self._bodies)
        names = [f"{label}.{i}" for i in range(len(position))]
        used = self._body_names
        for frame in names:
            fresh("body", frame, used)  # before the first is added
        frames = zip(names, position, quaternion, family.frame_freedoms().tolist(), strict=True)
        for frame, at, orientation, (moves, turns) in frames:
            self._add(frame, False, 1.0, np.eye(3), at, orientation, ORIGIN, ORIGIN)
            body = self._bodies[-1]
            body.family, body.moves, body.turns = len(self._families), moves, turns
        self._families.append(family)
        return list(range(first, len(self._bodies)))

    def _add(self, name, free, mass, inertia, position, quaternion, velocity, spin) -> int:
        label = f"body {name!r}"
        fresh("body", name, self._body_names)
        self._bodies.append(
            BodySpec(
                name=name,
                free=free,
                mass=mass,
                inertia=inertia,
                position=finite_vector(f"{label}: position [m]", position, 3),
                quaternion=unit_quaternion(f"{label}: quaternion", quaternion),
                velocity=finite_vector(f"{label}: velocity [m/s]", velocity, 3),
                angular_velocity=finite_vector(f"{label}: angular_velocity [rad/s]", spin, 3),
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

        Two shapes can collide if the ``group`` of each has a bit in common with the ``mask`` of the
        other, they belong to different bodies of which at least one moves, these are not frames of
        the same family, and the two bodies are not excluded.

        Args:
            body: body by index or name.
            shape: shape in a frame of its own.
            position: origin of the shape's frame, from the body's centre of mass, in body axes [m].
            quaternion: orientation of the shape's frame in body axes, (w, x, y, z).
            material: material of the surface; None: the default material.
            group: bits of the groups that the shape belongs to.
            mask: bits of the groups that it may touch.
            name: unique name; None: ``shape<i>``.

        Raises:
            TypeError: the shape or the material is something else, such as a number or a class, or
                the group or the mask is no whole number.
            ValueError: the body does not exist, the name is taken, a number is not physical, or a
                plane or height field is on a body that moves.
        """
        shape_name = name_or_default("shape", name, len(self._shapes))
        check_shape(f"shape {shape_name!r}", shape)
        check_material(f"shape {shape_name!r}", material)
        fresh("shape", shape_name, self._shape_names)
        body = index(f"shape {shape_name!r}", "body", self._body_names, body)
        carrier = self._bodies[body].name
        if isinstance(shape, Plane | HeightField) and self._bodies[body].is_movable:
            kind = shape.kind.replace("_", " ")
            raise ValueError(
                f"body {carrier!r}: a {kind} must be on a fixed body, such as the world, 0"
            )
        label = f"{shape.kind} on body {carrier!r}"
        self._shapes.append(
            ShapeSpec(
                name=shape_name,
                body=body,
                shape=shape,
                position=finite_vector(f"{label}: position [m]", position, 3),
                quaternion=unit_quaternion(f"{label}: quaternion", quaternion),
                material=Material() if material is None else material,
                group=_bits(f"{label}: group", group),
                mask=_bits(f"{label}: mask", mask),
            )
        )
        return len(self._shapes) - 1


def _bits(what: str, value: int) -> int:
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(
            f"{what} must be a whole number whose bits are groups, such as 0b101, not {value!r}"
        ) from None


def check_shape(what: str, shape: Shape) -> None:
    """Check that a shape is of a registered kind.

    Args:
        what: beginning of the error message.
        shape: what should be a shape.

    Raises:
        TypeError: it is something else.
    """
    instance(f"{what}: shape", shape, SHAPES.values(), "a shape, such as Sphere(0.1)")


def check_material(what: str, material: Material | None) -> None:
    """Check that a material is one, or None.

    Args:
        what: beginning of the error message.
        material: what should be a material.

    Raises:
        TypeError: it is something else.
    """
    expected = "a Material, such as Material(friction=0.3), or None"
    instance(f"{what}: material", material, (Material, type(None)), expected)
