"""Where the file's coordinates are in ours."""

from dataclasses import replace

import jax.numpy as jnp
import numpy as np

from jaxccp.io.mjcf.bodies import Frames, captured_bodies
from jaxccp.io.mjcf.joints import Axes
from jaxccp.io.mjcf.source import Source
from jaxccp.model.model import Model
from jaxccp.sensors.coordinates import Coordinates, coordinates, run


def layout(
    source: Source, frames: Frames, axes: Axes, actuators: np.ndarray, model: Model
) -> Coordinates:
    """Return the model's coordinates and controls, counted as the file does; ``actuators`` has the
    file's number of each of ours."""
    m = source.m
    address = source.column("actuator_ctrladr")
    control = np.asarray(address[actuators], np.int32) if len(address) else actuators
    activated = np.asarray(m.actuator_actadr)[actuators]
    activation = np.asarray(activated[activated >= 0], np.int32)
    captured = np.asarray(frames.body[captured_bodies(source)], np.int32)
    ours = coordinates(model, axes.joints)
    places = ours.places
    body = m.jnt_bodyid[np.searchsorted(m.jnt_qposadr, places.free[0])]
    return replace(
        ours,
        reference=jnp.asarray(m.qpos0[places.single[0]], float),
        facing=jnp.asarray(m.qpos0[run(places.ball[0], 4)], float),
        centre=jnp.asarray(-frames.position[body], float).reshape(-1, 3),
        places=replace(
            places, nu=m.nu, control=control, na=m.na, activation=activation, captured=captured
        ),
    )
