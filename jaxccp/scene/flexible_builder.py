"""The part of the builder that adds flexible bodies."""

from collections.abc import Callable, Collection, Iterable, Sequence

import jax
import numpy as np

from jaxccp.flexible.points_between import with_points_on_edges
from jaxccp.flexible.solids.mesh import boundary
from jaxccp.model.family import Family
from jaxccp.model.material import Material
from jaxccp.names import name_or_default
from jaxccp.scene import flexible_bodies
from jaxccp.scene.body_builder import BodyBuilder, check_material
from jaxccp.scene.flexible_bodies import Curve
from jaxccp.scene.frames import IDENTITY, ORIGIN
from jaxccp.scene.soft_solids import node_sphere, place_soft_solid


class FlexibleBuilder(BodyBuilder):
    """Adds flexible bodies of finite elements."""

    def _add_computed(self, make: Callable[[], Family], name: str) -> list[int]:
        """Add the family that ``make`` computes; its numbers are concrete even while a program is
        traced."""
        with jax.ensure_compile_time_eval():
            return self.add_family(make(), name)

    def add_cable(
        self,
        nodes: Sequence[Sequence[float]] | np.ndarray,
        radius: float,
        young: float,
        density: float,
        damping: float = 0.0,
        clamped: int | Collection[int] | np.ndarray = (),
        pinned: int | Collection[int] | np.ndarray = (),
        between: int = 0,
        name: str | None = None,
    ) -> list[int]:
        """Add a round flexible cable and return the bodies of its nodes, which may have shapes.

        It stretches and bends, without resistance to shear and twisting (ANCF elements). Unloaded
        it is straight, with the distances of its nodes. Points between nodes may have shapes too,
        but do not rotate. Nodes turn as the cable does, without spin about it: join bodies to them
        by ``Spherical()``, and take :meth:`add_beam` where an orientation about it is to be held.

        Args:
            nodes: positions of the nodes at time 0 [n 3], world [m].
            radius: radius of the section [m].
            young: Young's modulus [Pa].
            density: density [kg/m³].
            damping: α of Kelvin and Voigt's law [s]: the stress is E (ε + α ε̇).
            clamped: index, indices or mask of the nodes with fixed position and direction.
            pinned: index, indices or mask of the nodes with fixed position.
            between: number of points between neighbouring nodes that are bodies too; they follow
                all nodes.
            name: unique name; None: ``cable<i>``. The bodies are ``name.0``, ``name.1``, …
        """
        label = name_or_default("cable", name, len(self._families))
        numbers = nodes, radius, young, density, damping, clamped, pinned, between
        return self._add_computed(
            lambda: flexible_bodies.cable(f"cable {label!r}", *numbers), label
        )

    def add_beam(
        self,
        size: Sequence[float] | np.ndarray,
        elements: int,
        young: float,
        poisson: float,
        density: float,
        damping: float = 0.0,
        clamped: Collection[str] = (),
        pinned: Collection[str] = (),
        position: Sequence[float] | np.ndarray = ORIGIN,
        quaternion: Sequence[float] | np.ndarray = IDENTITY,
        curve: Curve | None = None,
        element: str = "beam_3333",
        name: str | None = None,
    ) -> list[int]:
        """Add a flexible beam of rectangular section and return the bodies of its nodes, in order.

        In its own frame it extends from the origin along x; its section is centred. Its section
        does not warp, so that it is too stiff against twisting: by 1 % if it is square, 4.3
        times if it is four times as wide as thick, 23 times at ten. Make strips that twist with
        :meth:`add_shell`.

        Args:
            size: length, width (y) and thickness (z) [m].
            elements: number of elements, one after the other.
            young: Young's modulus [Pa].
            poisson: Poisson's ratio.
            density: density [kg/m³].
            damping: α of Kelvin and Voigt's law [s].
            clamped: end or ends whose nodes are fixed with all their gradients: ``"x0"``, ``"x1"``.
            pinned: end or ends whose nodes are fixed in position only.
            position: position of the beam's frame, world [m].
            quaternion: orientation of the beam's frame, (w, x, y, z).
            curve: map from points of the straight beam to their unstrained positions in the beam's
                frame, a smooth function of JAX; None: straight.
            element: ``"beam_3243"`` or ``"beam_3333"``.
            name: unique name; None: ``beam<i>``. The bodies are ``name.0``, ``name.1``, …
        """
        label = name_or_default("beam", name, len(self._families))
        pose = position, quaternion
        material = young, poisson, density, damping
        numbers = size, elements, material, clamped, pinned, pose, curve
        return self._add_computed(
            lambda: flexible_bodies.beam_or_shell("beam", label, element, *numbers), label
        )

    def add_shell(
        self,
        size: Sequence[float] | np.ndarray,
        elements: Sequence[int],
        young: float,
        poisson: float,
        density: float,
        damping: float = 0.0,
        clamped: Collection[str] = (),
        pinned: Collection[str] = (),
        position: Sequence[float] | np.ndarray = ORIGIN,
        quaternion: Sequence[float] | np.ndarray = IDENTITY,
        curve: Curve | None = None,
        element: str = "shell_3833",
        between: int = 0,
        name: str | None = None,
    ) -> list[int]:
        """Add a flexible shell and return the bodies of its nodes, numbered first along the side
        with fewer elements, along x if both have as many.

        In its own frame it extends from the origin along x and y; its thickness is centred. Points
        of its middle surface between nodes may have shapes too, but do not rotate.

        Args:
            size: length (x), width (y) and thickness (z) [m].
            elements: number of elements along x and along y.
            young: Young's modulus [Pa].
            poisson: Poisson's ratio.
            density: density [kg/m³].
            damping: α of Kelvin and Voigt's law [s].
            clamped: edge or edges whose nodes are held with all their gradients: ``"x0"``,
                ``"x1"``, ``"y0"``, ``"y1"``.
            pinned: edge or edges whose nodes are fixed in position only.
            position: position of the shell's frame, world [m].
            quaternion: orientation of the shell's frame, (w, x, y, z).
            curve: map from points of the flat shell to their unstrained positions in the shell's
                frame, a smooth function of JAX; None: flat.
            element: ``"shell_3833"``, ``"shell_3423"`` of few coordinates, or ``"shell_3443"``,
                which locks where it is thin and Poisson's ratio is not 0.
            between: number of points between neighbouring nodes of an edge that are bodies too,
                with the same spacing inside elements; they follow all nodes, along y first.
            name: unique name; None: ``shell<i>``. The bodies are ``name.0``, ``name.1``, …
        """
        label = name_or_default("shell", name, len(self._families))
        pose = position, quaternion
        material = young, poisson, density, damping
        numbers = size, elements, material, clamped, pinned, pose, curve, between
        return self._add_computed(
            lambda: flexible_bodies.beam_or_shell("shell", label, element, *numbers), label
        )

    def add_soft_solid(
        self,
        points: np.ndarray,
        tetrahedra: np.ndarray,
        young: float,
        poisson: float,
        density: float,
        damping: float = 0.0,
        law: str = "neo-hookean",
        position: Sequence[float] | np.ndarray = ORIGIN,
        quaternion: Sequence[float] | np.ndarray = IDENTITY,
        velocity: Sequence[float] | np.ndarray = ORIGIN,
        angular_velocity: Sequence[float] | np.ndarray = ORIGIN,
        fixed: int | Iterable[int] | np.ndarray = (),
        radius: float | None = None,
        material: Material | None = None,
        edges: bool = False,
        name: str | None = None,
    ) -> list[int]:
        """Add a solid of linear tetrahedra and return the bodies of its surface nodes, in the order
        of the nodes.

        :func:`jaxccp.box_of_tetrahedra` makes points and tetrahedra, :func:`jaxccp.read_tetrahedra`
        reads them.

        Each surface node collides as a small sphere that does not rotate; with ``edges``, so does
        the middle of each edge of the surface. The surface between these points does not collide,
        so smaller things may pass through it.

        Args:
            points: unstrained positions of the nodes [n 3], in the solid's frame [m].
            tetrahedra: nodes of each element [e 4]; seen from the last, the others are
                counter-clockwise.
            young: Young's modulus [Pa].
            poisson: Poisson's ratio, above −1 and below ½.
            density: density [kg/m³].
            damping: α of Kelvin and Voigt's law [s].
            law: one of :data:`jaxccp.flexible.solids.laws.LAWS`.
            position: position of the solid's frame, world [m].
            quaternion: orientation of the solid's frame, (w, x, y, z).
            velocity: velocity of the frame's origin, world [m/s].
            angular_velocity: angular velocity of all nodes about it, world axes [rad/s].
            fixed: index, indices or mask of the fixed nodes.
            radius: radius of the spheres [m]; None: a hundredth of the surface's shortest edge.
            material: material of the surface; None: the default material.
            edges: whether the middles of the surface's edges are bodies too; they follow the nodes.
            name: unique name; None: ``solid<i>``. The bodies are ``name.0``, ``name.1``, …
        """
        label = name_or_default("solid", name, len(self._families))
        description = f"soft solid {label!r}"
        check_material(description, material)
        with jax.ensure_compile_time_eval():
            solid = place_soft_solid(
                description,
                (points, tetrahedra),
                (young, poisson, density, damping),
                law,
                (position, quaternion),
                (velocity, angular_velocity),
                fixed,
            )
            sphere = node_sphere(description, solid, radius)
            if edges:
                solid = with_points_on_edges(solid, boundary(description, solid.layout.rows))
        frames = self._add_computed(lambda: solid, label)
        for frame in frames:
            self.add_shape(frame, sphere, material=material)
        return frames
