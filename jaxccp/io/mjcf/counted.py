"""Which shapes and bodies of ours a file's sensors count."""

import numpy as np
from jaxtyping import Bool

from jaxccp.io.mjcf.bodies import NOWHERE, Frames, inertia_about, subtree
from jaxccp.io.mjcf.source import Source
from jaxccp.model.model import Model
from jaxccp.model.shapes import Box, Capsule, Cylinder, Ellipsoid, Shape, Sphere
from jaxccp.scene.frames import to_matrix
from jaxccp.sensors import ContactSelection, SensorScope
from jaxccp.sensors.contact_pairs import FIELDS

CHOICES = ("none", "mindist", "maxforce", "netforce")
"""What contact sensors do with many contacts, by MuJoCo's numbers."""


class Unread(Exception):
    """Why a sensor cannot be read."""


class Counted:
    """Finds them; the file's bodies may be parts of ours."""

    def __init__(
        self, source: Source, frames: Frames, shapes: dict[int, int], model: Model
    ) -> None:
        self.source, self.frames, self.shapes, self.model = source, frames, shapes, model

    def rangefinder(self, sensor: int) -> SensorScope:
        """A range finder does not see the geoms of its body."""
        m = self.source.m
        if m.sensor_dim[sensor] != 1:
            raise Unread("of rays only the length is read")
        body = m.site_bodyid[m.sensor_objid[sensor]]
        hidden = self._on(np.arange(m.nbody) == body) | self._transparent()
        return SensorScope(hidden, self._no_bodies())

    def zonetouch(self, sensor: int) -> SensorScope:
        """A touch sensor feels the contacts of its body's geoms in its site's shape."""
        m = self.source.m
        site = int(m.sensor_objid[sensor])
        own = self._on(np.arange(m.nbody) == m.site_bodyid[site])
        return SensorScope(own, self._no_bodies(), self._zone(site))

    def force(self, sensor: int) -> SensorScope:
        """What hangs on the parent of the site's body by it."""
        m, body = self.source.m, int(self.source.m.site_bodyid[self.source.m.sensor_objid[sensor]])
        within = subtree(self.source, body)
        ours, top = self.frames.body, int(m.body_weldid[body])
        if np.any(ours[within] == NOWHERE) or self.model.topology.carried[ours[within]].any():
            raise Unread("masses of flexible bodies are not counted")
        whole = self._no_bodies()
        whole[ours[within]] = True
        whole &= self.model.topology.free
        shapes = self._on(within)
        if top == body:
            return SensorScope(shapes, whole)
        whole[ours[body]] = False
        parts = np.flatnonzero(within & (ours == ours[body]))
        return SensorScope(shapes, whole, None, int(ours[body]), *self._mass(parts))

    torque = force

    def meeting(self, sensor: int) -> tuple[ContactSelection, int]:
        """What a contact sensor shows, and its site or −1."""
        m = self.source.m
        bits, choice, count = (int(number) for number in m.sensor_intprm[sensor][:3])
        names = self.source.mujoco.mjtConDataField.__members__
        wanted = [
            name.removeprefix("mjCONDATA_").lower()
            for name, bit in names.items()
            if name.startswith("mjCONDATA_") and bits & (1 << int(bit))
        ]
        for name in wanted:
            if name not in FIELDS:
                raise Unread(f"{name} of contacts is not read")
        of = int(m.sensor_objtype[sensor]), int(m.sensor_objid[sensor])
        against = int(m.sensor_reftype[sensor]), int(m.sensor_refid[sensor])
        site = of[1] if of[0] == int(self.source.mujoco.mjtObj.mjOBJ_SITE) else -1
        first = None if site >= 0 else self._chosen(*of)
        zone = self._zone(site) if site >= 0 else None
        made = ContactSelection(
            first, self._chosen(*against), zone, tuple(wanted), CHOICES[choice], count
        )
        return made, site

    def _chosen(self, kind: int, index: int) -> Bool[np.ndarray, " ng"] | None:
        """Shapes of a geom, a body or a subtree."""
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
        """Shapes on some of the file's bodies."""
        mask = self._no_shapes()
        for geom, shape in self.shapes.items():
            mask[shape] = bodies[self.source.m.geom_bodyid[geom]]
        return mask

    def _transparent(self) -> Bool[np.ndarray, " ng"]:
        """Shapes of geoms that rays go through, since they cannot be seen."""
        m, mask = self.source.m, self._no_shapes()
        for geom, shape in self.shapes.items():
            material = m.geom_matid[geom]
            alpha = m.mat_rgba[material, 3] if material >= 0 else m.geom_rgba[geom, 3]
            mask[shape] = alpha == 0
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
            raise Unread(f"a site of shape {kinds(kind).name.lower()} is not read")
        return made[kind]

    def _mass(self, parts: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        """Mass, centre and inertia about it of some of the file's bodies, in our body's axes."""
        m, frames = self.source.m, self.frames
        mass = np.asarray(m.body_mass)[parts]
        centres = np.array([frames.point(part, m.body_ipos[part]) for part in parts])
        total = float(mass.sum())
        centre = mass @ centres / max(total, np.finfo(float).tiny)
        turned = np.array([to_matrix(m.body_iquat[part]) for part in parts])
        axes = frames.rotation[parts] @ turned
        return total, centre, inertia_about(centre, mass, axes, m.body_inertia[parts], centres)
