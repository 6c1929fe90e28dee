"""Keyframes: named states of a file."""

from dataclasses import dataclass, replace

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.io.mjcf.files.source import Source
from jaxccp.io.mjcf.import_report import ImportReport
from jaxccp.model import Model, State
from jaxccp.model.row_order import row_order
from jaxccp.scene.loop_closure import LoopClosureError, with_checked_joint_coordinates
from jaxccp.sensors import Coordinates


@dataclass(frozen=True)
class Keyframe:
    """Coordinates, rates, activations and controls of a keyframe, in MuJoCo's layout."""

    time: float
    """Time [s]."""
    qpos: Float[np.ndarray, " nq"]
    """Coordinates [m, rad]."""
    qvel: Float[np.ndarray, " nv"]
    """Rates [m/s, rad/s]."""
    ctrl: Float[np.ndarray, " nu"]
    """Controls of the actuators."""
    act: Float[np.ndarray, " na"]
    """Activations of the actuators."""
    mpos: Float[np.ndarray, "n 3"]
    """Positions of the n motion-capture bodies [m]."""
    mquat: Float[np.ndarray, "n 4"]
    """Quaternions of the motion-capture bodies (w, x, y, z)."""


def keyframes(source: Source) -> dict[str, Keyframe]:
    """Return the keyframes of the file."""
    m = source.m
    return {
        source.name("key", key) or source.unused_name("key", str(key)): Keyframe(
            time=float(m.key_time[key]),
            qpos=np.array(m.key_qpos[key]),
            qvel=np.array(m.key_qvel[key]),
            ctrl=np.array(m.key_ctrl[key]),
            act=np.array(m.key_act[key]),
            mpos=np.array(m.key_mpos[key]).reshape(-1, 3),
            mquat=np.array(m.key_mquat[key]).reshape(-1, 4),
        )
        for key in range(m.nkey)
    }


def keyframe_state(model: Model, state: State, layout: Coordinates, key: Keyframe) -> State:
    """Return the state with the coordinates, rates, activations and time of a keyframe; open loops
    are not closed.

    Args:
        model: the model of the file.
        state: any state of the model.
        layout: layout of the file's coordinates.
        key: the keyframe.
    """
    qpos, qvel, *poses = (
        jnp.asarray(part, float) for part in (key.qpos, key.qvel, key.mpos, key.mquat)
    )
    state = _placed(model, layout.with_mocap(model, state, *poses), layout, qpos, qvel)
    state = layout.with_activation(state, jnp.asarray(key.act, float))
    return replace(state, time=jnp.asarray(key.time, state.time.dtype))


@jax.jit
def _placed(model: Model, state: State, layout: Coordinates, qpos: Array, qvel: Array) -> State:
    return layout.state(model, state, qpos, qvel)


def note_open_keyframes(
    model: Model,
    state: State,
    layout: Coordinates,
    keys: dict[str, Keyframe],
    report: ImportReport,
) -> None:
    """Note the keyframes whose coordinates leave loops open.

    Args:
        model: the model of the file.
        state: any state of the model.
        layout: layout of the file's coordinates.
        keys: the keyframes by name.
        report: the report.
    """
    if not len(row_order(model.topology.linkage).loop_rows):
        return
    for name, key in keys.items():
        try:
            with_checked_joint_coordinates(model, keyframe_state(model, state, layout, key))
        except LoopClosureError as error:
            report.approximate(
                f"keyframe {name!r}",
                f"{error.what} is {error.error:.3g} m or rad open there; closed in its state",
            )
