"""Shapes and bodies of the model that the sensors of a file measure."""

import numpy as np
from jaxtyping import Bool

from jaxccp.io.mjcf.elements.bodies import NOWHERE, BodyMap, subtree
from jaxccp.io.mjcf.files.source import Source
from jaxccp.io.mjcf.inertia import combined
from jaxccp.model.model import Model
from jaxccp.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Shape, Sphere
from jaxccp.scene.frames import to_matrix
from jaxccp.sensors import ContactSelection, SensorScope
from jaxccp.sensors.contact_pairs import CHOICES, FIELDS


class UnreadableSensor(Exception):
    """A sensor of the file that cannot be read; the message says why."""


class ScopeFinder:
    """Finds the bodies, shapes and zones that a file's sensors measure; several bodies of the file
    may be one body of the model."""

    def __init__(
        self, source: Source, body_map: BodyMap, shapes: dict[int, int], model: Model
    ) -> None:
        """Prepare the search.

        Args:
            source: the compiled file.
            body_map: places of the file's bodies in the model.
            shapes: the model's shape of each geom that has one.
            model: the model.
        """
        self.source, self.body_map, self.shapes, self.model = source, body_map, shapes, model

    def rangefinder(self, sensor: int) -> SensorScope:
        """Return the shapes that a range finder ignores: those of its body, transparent ones, and
        the nodes of flexible bodies, which MuJoCo's rays pass.

        Args:
            sensor: the file's number of the sensor.

        Raises:
            UnreadableSensor: the sensor returns more than the length of its ray.
        """
        m = self.source.m
        if m.sensor_dim[sensor] != 1:
            raise UnreadableSensor("of rays only the length is read")
        body = m.site_bodyid[m.sensor_objid[sensor]]
        hidden = self._on(np.arange(m.nbody) == body) | self._transparent() | self._nodes()
        return SensorScope(hidden, self._no_bodies())

    def zonetouch(self, sensor: int) -> SensorScope:
        """Return the shapes of a touch sensor's body, and its zone, the shape of its site.

        Args:
            sensor: the file's number of the sensor.

        Raises:
            UnreadableSensor: the site has a shape that is not supported.
        """
        m = self.source.m
        site = int(m.sensor_objid[sensor])
        shapes = self._on(np.arange(m.nbody) == m.site_bodyid[site])
        return SensorScope(shapes, self._no_bodies(), self._zone(site))

    def force(self, sensor: int) -> SensorScope:
        """Return the bodies and shapes that a force sensor carries: those of the subtree of its
        site's body.

        Args:
            sensor: the file's number of the sensor.

        Raises:
            UnreadableSensor: the subtree has nodes of flexible bodies, or carries their mass.
        """
        m, body = self.source.m, int(self.source.m.site_bodyid[self.source.m.sensor_objid[sensor]])
        within = subtree(self.source, body)
        model_body, top = self.body_map.body, int(m.body_weldid[body])
        if (
            np.any(model_body[within] == NOWHERE)
            or self.model.topology.family_frames[model_body[within]].any()
        ):
            raise UnreadableSensor("masses of flexible bodies are not counted")
        carried = self._no_bodies()
        carried[model_body[within]] = True
        carried &= self.model.topology.free
        shapes = self._on(within)
        if top == body:
            return SensorScope(shapes, carried)
        carried[model_body[body]] = False
        parts = np.flatnonzero(within & (model_body == model_body[body]))
        return SensorScope(shapes, carried, None, int(model_body[body]), *self._mass(parts))

    torque = force

    def contact_selection(self, sensor: int) -> tuple[ContactSelection, int]:
        """Return the contacts that a contact sensor selects and the data it returns, and its site,
        or −1 without one.

        Args:
            sensor: the file's number of the sensor.

        Raises:
            UnreadableSensor: the sensor returns data, or its site has a shape, that are not
                supported.
        """
        m = self.source.m
        bits, choice, count = (int(number) for number in m.sensor_intprm[sensor][:3])
        names = self.source.mujoco.mjtConDataField.__members__
        fields = [
            name.removeprefix("mjCONDATA_").lower()
            for name, bit in names.items()
            if name.startswith("mjCONDATA_") and bits & (1 << int(bit))
        ]
        for name in fields:
            if name not in FIELDS:
                raise UnreadableSensor(f"{name} of contacts is not read")
        of = int(m.sensor_objtype[sensor]), int(m.sensor_objid[sensor])
        against = int(m.sensor_reftype[sensor]), int(m.sensor_refid[sensor])
        site = of[1] if of[0] == int(self.source.mujoco.mjtObj.mjOBJ_SITE) else -1
        first = None if site >= 0 else self._selected(*of)
        zone = self._zone(site) if site >= 0 else None
        made = ContactSelection(
            first=first,
            second=self._selected(*against),
            zone=zone,
            data=tuple(fields),
            choice=CHOICES[choice],
            count=count,
        )
        return made, site

    def _selected(self, kind: int, index: int) -> Bool[np.ndarray, " ng"] | None:
        """Return the mask of the shapes of a geom, a body or a subtree; None means all shapes."""
        m, kinds = self.source.m, self.source.mujoco.mjtObj
        if index < 0:
            return None
        if kind == int(kinds.mjOBJ_GEOM):
            mask = self._no_shapes()
            if index in self.shapes:
                mask[self.shapes[index]] = True
            return mask
        if kind == int(kinds.mjOBJ_BODY):
            return self._on(np.arange(m.nbody) == index)
        return self._on(subtree(self.source, index))

    def _no_bodies(self) -> Bool[np.ndarray, " nb"]:
        return np.zeros(len(self.model.topology.bodies), bool)

    def _no_shapes(self) -> Bool[np.ndarray, " ng"]:
        return np.zeros(len(self.model.topology.shapes), bool)

    def _on(self, bodies: np.ndarray) -> Bool[np.ndarray, " ng"]:
        """Return the mask of the model's shapes on the selected bodies of the file."""
        mask = self._no_shapes()
        for geom, shape in self.shapes.items():
            mask[shape] = bodies[self.source.m.geom_bodyid[geom]]
        return mask

    def _transparent(self) -> Bool[np.ndarray, " ng"]:
        """Return the mask of the shapes of fully transparent geoms, which rays pass through."""
        mask = self._no_shapes()
        for geom, shape in self.shapes.items():
            mask[shape] = is_transparent(self.source, geom)
        return mask

    def _nodes(self) -> Bool[np.ndarray, " ng"]:
        """Return the mask of the shapes that are no geoms: the nodes of flexible bodies."""
        mask = ~self._no_shapes()
        mask[list(self.shapes.values())] = False
        return mask

    def _zone(self, site: int) -> Shape:
        m, kinds = self.source.m, self.source.mujoco.mjtGeom
        kind, (x, y, z) = int(m.site_type[site]), (float(size) for size in m.site_size[site])
        made: dict[int, Shape] = {
            int(kinds.mjGEOM_SPHERE): Sphere(x),
            int(kinds.mjGEOM_CAPSULE): Capsule(x, y or x),
            int(kinds.mjGEOM_CYLINDER): Cylinder(x, y or x),
            int(kinds.mjGEOM_BOX): Box((x, y or x, z or x)),
            int(kinds.mjGEOM_ELLIPSOID): Ellipsoid((x, y or x, z or x)),
        }
        if kind not in made:
            raise UnreadableSensor(f"a site of shape {kinds(kind).name.lower()} is not read")
        return made[kind]

    def _mass(self, parts: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Return the total mass [kg], centre of mass [m] and inertia about it [kg m²] of some of
        the file's bodies, in the axes of the model's body."""
        m, body_map = self.source.m, self.body_map
        centres = np.array([body_map.point(part, m.body_ipos[part]) for part in parts])
        principal = np.array([to_matrix(m.body_iquat[part]) for part in parts])
        axes = body_map.rotation[parts] @ principal
        inertias = np.einsum("nij,nj,nkj->nik", axes, m.body_inertia[parts], axes)
        return combined(m.body_mass[parts], centres, inertias)


def is_transparent(source: Source, geom: int) -> bool:
    """Tell whether a geom is fully transparent, so that rays pass through it.

    Args:
        source: the compiled file.
        geom: index of the geom.
    """
    m, material = source.m, source.m.geom_matid[geom]
    return bool((m.mat_rgba[material, 3] if material >= 0 else m.geom_rgba[geom, 3]) == 0)


def meets_rays(source: Source, geom: int) -> bool:
    """Tell whether a range finder of the file may see a geom: it is not on the same body.

    Args:
        source: the compiled file.
        geom: index of the geom.
    """
    m, mujoco = source.m, source.mujoco
    finders = m.sensor_type == int(mujoco.mjtSensor.mjSENS_RANGEFINDER)
    on_sites = m.sensor_objtype == int(mujoco.mjtObj.mjOBJ_SITE)
    bodies = m.site_bodyid[m.sensor_objid[finders & on_sites]]
    return not is_transparent(source, geom) and bool(np.any(bodies != m.geom_bodyid[geom]))
