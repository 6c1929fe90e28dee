"""What ``jaxccp simulate`` reads for a model file, and writes of its motion."""

from dataclasses import dataclass, replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np

from jaxccp.cli.simulation import Run
from jaxccp.io import InputError, Loaded, load, write_npz
from jaxccp.io.arrays import Arrays
from jaxccp.io.mjcf.loop_closing import settled
from jaxccp.model import State


@dataclass(frozen=True)
class Opened:
    """A model file with its initial state and controls."""

    loaded: Loaded
    state: State
    controls: jax.Array | None
    """[steps nm]"""


def open_model(
    path: Path, init: Path | None, ctrl: Path | None, steps: int, allow_unsupported: bool
) -> Opened:
    """Read all of it.

    Raises:
        InputError: a file is missing, damaged or does not fit the others.
    """
    loaded = load(path, allow_unsupported=allow_unsupported)
    places, state = loaded.layout.places, loaded.state
    if init is not None:
        with Arrays(init) as arrays:
            qpos = arrays.floats("qpos", places.nq)
            qvel = arrays.floats("qvel", places.nv) if "qvel" in arrays else np.zeros(places.nv)
            act = arrays.floats("act", places.na) if "act" in arrays else np.zeros(places.na)
        move = jax.jit(loaded.layout.state)
        state = move(loaded.model, state, jnp.asarray(qpos, float), jnp.asarray(qvel, float))
        state = loaded.layout.activated(state, jnp.asarray(act, float))
        try:
            state, was_open = settled(loaded.model, state)
        except ValueError as error:
            raise InputError(init, str(error), "see the model's equality constraints") from None
        if was_open is not None:
            size = f"{was_open.error:.3g} m or rad"
            line = f"{init}: {was_open.what} is {size} open at qpos; closed in the initial state"
            loaded = replace(loaded, approximated=(*loaded.approximated, line))
    controls = None
    if ctrl is not None:
        with Arrays(ctrl) as arrays:
            given = arrays.floats("ctrl", None, places.nu)
            if len(given) != steps:
                raise arrays.fault(
                    "ctrl",
                    f"has {len(given)} rows, not one for each of the {steps} steps",
                    "give other controls, --dt or --duration",
                )
        controls = loaded.layout.control(jnp.asarray(given, float))
    return Opened(loaded, state, controls)


def write_motion(out: Path, source: str, loaded: Loaded, run: Run) -> dict[str, str]:
    """Write time, qpos, qvel and, if there is any, act, the initial state first, and the model
    file's path."""
    qpos, qvel = jax.jit(jax.vmap(lambda s: loaded.layout.coordinates(loaded.model, s)))(run.states)
    motion = {"time": run.recording.time, "qpos": np.asarray(qpos), "qvel": np.asarray(qvel)}
    if loaded.layout.places.na:
        motion["act"] = np.asarray(jax.vmap(loaded.layout.activation)(run.states))
    write_npz(out, **motion, source=np.array(source))
    return {"trajectory": str(out)}
