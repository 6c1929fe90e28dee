"""Model files given to a command: initial state, controls and the written motion."""

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxccp.cli.commands.scene_argument import FileOptions
from jaxccp.cli.simulation import Run, of_each_state
from jaxccp.io import InputError, Loaded, load, write_npz
from jaxccp.io.arrays import Arrays
from jaxccp.io.mjcf.loop_closing import close_state_loops
from jaxccp.model import State


@dataclass(frozen=True)
class OpenedModel:
    """A model file with its initial state and its constant control."""

    loaded: Loaded
    """The loaded file."""
    state: State
    """The initial state."""
    control: Float[Array, " nm"] | None
    """Controls of the keyframe with the initial state; None without a keyframe."""

    def controls(self, steps: int) -> Float[Array, "steps nm"] | None:
        """Return the control in each step; None without a keyframe: then all are 0."""
        if self.control is None:
            return None
        return jnp.broadcast_to(self.control, (steps, *self.control.shape))


def open_model(path: Path, options: FileOptions) -> OpenedModel:
    """Read a model file and make its initial state.

    Args:
        path: the model file.
        options: how the file is read, and the initial state.

    Raises:
        InputError: a file is missing or damaged, the two files do not match, or the keyframe does
            not exist.
    """
    loaded = load(path, **options.load)
    if options.keyframe is not None:
        try:
            state = loaded.keyframe(options.keyframe)
        except ValueError as error:
            raise InputError(path, str(error), "choose another --keyframe") from None
        ctrl = loaded.keyframes[options.keyframe].ctrl
        return OpenedModel(loaded, state, loaded.layout.control(jnp.asarray(ctrl, float)))
    if options.init is None:
        return OpenedModel(loaded, loaded.state, None)
    places = loaded.layout.places
    with Arrays(options.init) as arrays:
        qpos = arrays.floats("qpos", places.nq)
        qvel = arrays.floats("qvel", places.nv) if "qvel" in arrays else np.zeros(places.nv)
        act = arrays.floats("act", places.na) if "act" in arrays else np.zeros(places.na)
        captured = captured_poses(arrays, places.mocap_bodies, loaded.state)
    state = loaded.state
    if len(places.mocap_bodies):
        state = loaded.layout.with_mocap(loaded.model, state, *captured)
    move = jax.jit(loaded.layout.state)
    state = move(loaded.model, state, jnp.asarray(qpos, float), jnp.asarray(qvel, float))
    state = loaded.layout.with_activation(state, jnp.asarray(act, float))
    try:
        state, was_open = close_state_loops(loaded.model, state)
    except ValueError as error:
        raise InputError(options.init, str(error), "see the model's equality constraints") from None
    if was_open is not None:
        size = f"{was_open.error:.3g} m or rad"
        what = f"{was_open.what} is {size} open at qpos; closed in the initial state"
        lines = (*loaded.approximated, f"{options.init}: {what}")
        loaded = replace(loaded, approximated=lines)
    return OpenedModel(loaded, state, None)


def captured_poses(
    arrays: Arrays, bodies: np.ndarray, state: State, *samples: int
) -> tuple[np.ndarray, np.ndarray]:
    """Read the positions [m] and orientations of the n bodies of motion capture.

    Args:
        arrays: the npz file, with ``mocap_pos`` and ``mocap_quat`` (*samples, n, 3 and 4).
        bodies: indices of the bodies.
        state: the state whose poses take the place of an array that the file does not have.
        samples: leading dimensions of the arrays.

    Raises:
        InputError: an array does not fit the model, or has numbers that are not finite.
    """
    poses = (("mocap_pos", state.position), ("mocap_quat", state.quaternion))
    position, orientation = (
        arrays.floats(name, *samples, len(bodies), still.shape[1])
        if name in arrays
        else np.broadcast_to(still[bodies], (*samples, len(bodies), still.shape[1]))
        for name, still in poses
    )
    return position, orientation


def read_controls(ctrl: Path, loaded: Loaded, steps: int) -> Float[Array, "steps nm"]:
    """Read the controls of each step.

    Args:
        ctrl: the npz file, with MuJoCo's controls as ``ctrl`` (steps, nu).
        loaded: the model.
        steps: number of rows that the controls must have.

    Raises:
        InputError: the file is missing or damaged, or its controls do not fit the model or the
            steps.
    """
    with Arrays(ctrl) as arrays:
        rows = arrays.floats("ctrl", None, loaded.layout.places.nu)
        if len(rows) != steps:
            raise arrays.fault(
                "ctrl",
                f"has {len(rows)} rows, not one for each of the {steps} steps",
                "give other controls, --dt or --duration",
            )
    return loaded.layout.control(jnp.asarray(rows, float))


def write_motion(
    out: Path,
    source: str,
    loaded: Loaded,
    run: Run,
    controls: Float[Array, "steps nm"] | None,
) -> dict[str, str]:
    """Write a motion in MuJoCo's coordinates to an npz file, beginning with the initial state.

    Args:
        out: the npz file; it gets time, qpos, qvel, act if there are activations, ctrl if there are
            actuators (each row holds until the next time, and the last is repeated), mocap_pos and
            mocap_quat if there are bodies of motion capture, and the path of the model file.
        source: path of the model file.
        loaded: the model file.
        run: the motion.
        controls: controls of each step; None: 0.

    Returns:
        The file that was written, as ``trajectory``.
    """
    places = loaded.layout.places
    coordinates = partial(loaded.layout.coordinates, loaded.model)
    qpos, qvel = of_each_state(coordinates, run.states)
    motion = {"time": run.recording.time, "qpos": np.asarray(qpos), "qvel": np.asarray(qvel)}
    if places.na:
        motion["act"] = np.asarray(jax.vmap(loaded.layout.activation)(run.states))
    if places.nu:
        ctrl = np.zeros((len(run.recording.time), places.nu))
        if controls is not None:
            ctrl[:-1, places.control] = controls
            ctrl[-1] = ctrl[-2]
        motion["ctrl"] = ctrl
    if len(places.mocap_bodies):
        motion["mocap_pos"] = np.asarray(run.states.position)[:, places.mocap_bodies]
        motion["mocap_quat"] = np.asarray(run.states.quaternion)[:, places.mocap_bodies]
    write_npz(out, **motion, source=np.array(source))
    return {"trajectory": str(out)}
