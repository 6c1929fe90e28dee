"""The layout of the file's coordinates and controls."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from jaxtyping import Int

from jaxccp.io.mjcf.elements.actuators import first_rows
from jaxccp.io.mjcf.elements.bodies import captured_bodies
from jaxccp.io.mjcf.elements.registry import Elements
from jaxccp.io.mjcf.files.source import Source
from jaxccp.io.mjcf.flex.families import FlexFamily
from jaxccp.model.model import Model
from jaxccp.sensors.coordinates.addresses import Places, address_range
from jaxccp.sensors.coordinates.coordinates import Coordinates
from jaxccp.sensors.coordinates.dimensions import ordered_names
from jaxccp.sensors.coordinates.mujoco_coordinates import mujoco_coordinates


def layout(source: Source, parts: Elements, model: Model) -> Coordinates:
    """Return the layout of the model's coordinates and controls in the file's order.

    Args:
        source: the compiled file.
        parts: the parts of the model that represent the file's elements.
        model: the model that was built.
    """
    m, body_map, actuators = source.m, parts.body_map, parts.driven
    control = np.asarray(first_rows(m, "ctrladr")[actuators], np.int32)
    activated = np.asarray(m.actuator_actadr)[actuators]
    activation = np.asarray(activated[activated >= 0], np.int32)
    captured = np.asarray(body_map.body[captured_bodies(source)], np.int32)
    model_layout = mujoco_coordinates(model)
    joints = parts.nodes[m.jnt_bodyid]
    rigid = np.ones(m.nq, bool), np.ones(m.nv, bool)
    for kept, address in zip(rigid, (m.jnt_qposadr, m.jnt_dofadr), strict=True):
        kept[np.asarray(address)[joints]] = False
    places = _with_addresses(model_layout.places, *map(np.flatnonzero, rigid))
    body = m.jnt_bodyid[np.searchsorted(m.jnt_qposadr, places.free[0])]
    return replace(
        model_layout,
        reference=jnp.asarray(m.qpos0[places.single[0]], float),
        ball_reference=jnp.asarray(m.qpos0[address_range(places.ball[0], 4)], float),
        centre=jnp.asarray(-body_map.position[body], float).reshape(-1, 3),
        places=replace(
            places,
            nq=m.nq,
            nv=m.nv,
            nodes=_nodes(source, parts.flexible),
            nu=m.nu,
            control=control,
            na=m.na,
            activation=activation,
            mocap_bodies=captured,
            control_names=ordered_names(places.control_names, control, m.nu),
            activation_names=ordered_names(places.activation_names, activation, m.na),
        ),
    )


def _with_addresses(places: Places, q: Int[np.ndarray, " nq"], v: Int[np.ndarray, " nv"]) -> Places:
    """Return the places with their addresses of coordinates and rates replaced by entries of tables
    q and v."""
    tables = {
        name: np.stack([q[table[0]], v[table[1]], table[2]]).astype(np.int32)
        for name, table in (
            ("single", places.single),
            ("ball", places.ball),
            ("free", places.free),
        )
    }
    return replace(places, **tables)


def _nodes(source: Source, flexible: list[FlexFamily]) -> Int[np.ndarray, "4 n"]:
    """Return, for each slide of a node: its family, the file's addresses in ``qpos`` and ``qvel``,
    and its index in the family's velocities."""
    m, rows = source.m, []
    for place, family in enumerate(flexible):
        for node in np.flatnonzero(~family.flex.fixed):
            first = int(m.body_jntadr[family.flex.body[node]])
            for axis in range(3):
                number = int(family.family.layout.number[3 * node + axis])
                at = int(m.jnt_qposadr[first + axis]), int(m.jnt_dofadr[first + axis])
                rows.append((place, *at, number))
    return np.array(rows, np.int32).reshape(-1, 4).T
