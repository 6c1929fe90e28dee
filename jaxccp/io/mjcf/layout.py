"""Where the file's coordinates are in ours."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np
from jaxtyping import Bool, Int

from jaxccp.io.mjcf.bodies import Frames, captured_bodies
from jaxccp.io.mjcf.flex_families import FlexFamily
from jaxccp.io.mjcf.source import Source
from jaxccp.model.model import Model
from jaxccp.sensors.coordinate_addresses import Places, address_range
from jaxccp.sensors.coordinate_dimensions import ordered_names
from jaxccp.sensors.coordinate_layout import mujoco_coordinates
from jaxccp.sensors.mujoco_coordinates import Coordinates


def layout(
    source: Source,
    frames: Frames,
    actuators: np.ndarray,
    nodes: Bool[np.ndarray, " n"],
    flexible: list[FlexFamily],
    model: Model,
) -> Coordinates:
    """Return the model's coordinates and controls, counted as the file does; ``actuators`` has the
    file's number of each of ours, and the coordinates of ``nodes`` are those of ``flexible``
    bodies."""
    m = source.m
    address = source.column("actuator_ctrladr")
    control = np.asarray(address[actuators], np.int32) if len(address) else actuators
    activated = np.asarray(m.actuator_actadr)[actuators]
    activation = np.asarray(activated[activated >= 0], np.int32)
    captured = np.asarray(frames.body[captured_bodies(source)], np.int32)
    ours = mujoco_coordinates(model)
    joints = nodes[m.jnt_bodyid]
    rigid = np.ones(m.nq, bool), np.ones(m.nv, bool)
    for kept, address in zip(rigid, (m.jnt_qposadr, m.jnt_dofadr), strict=True):
        kept[np.asarray(address)[joints]] = False
    places = _moved(ours.places, *map(np.flatnonzero, rigid))
    body = m.jnt_bodyid[np.searchsorted(m.jnt_qposadr, places.free[0])]
    return replace(
        ours,
        reference=jnp.asarray(m.qpos0[places.single[0]], float),
        ball_reference=jnp.asarray(m.qpos0[address_range(places.ball[0], 4)], float),
        centre=jnp.asarray(-frames.position[body], float).reshape(-1, 3),
        places=replace(
            places,
            nq=m.nq,
            nv=m.nv,
            nodes=_nodes(source, flexible),
            nu=m.nu,
            control=control,
            na=m.na,
            activation=activation,
            mocap_bodies=captured,
            control_names=ordered_names(places.control_names, control, m.nu),
            activation_names=ordered_names(places.activation_names, activation, m.na),
        ),
    )


def _moved(places: Places, q: Int[np.ndarray, " nq"], v: Int[np.ndarray, " nv"]) -> Places:
    """Places with the addresses of coordinates and rates taken from these tables."""
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
    """Family, coordinate, rate and place in the family's velocities of what nodes slide along."""
    m, rows = source.m, []
    for place, one in enumerate(flexible):
        for node in np.flatnonzero(~one.flex.held):
            first = int(m.body_jntadr[one.flex.body[node]])
            for axis in range(3):
                number = int(one.family.layout.number[3 * node + axis])
                at = int(m.jnt_qposadr[first + axis]), int(m.jnt_dofadr[first + axis])
                rows.append((place, *at, number))
    return np.array(rows, np.int32).reshape(-1, 4).T
