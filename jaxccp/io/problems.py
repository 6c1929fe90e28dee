"""Contact problems from npz files; each layout is a module."""

from pathlib import Path

import jax.numpy as jnp
from jax.typing import DTypeLike

from jaxccp.io.arrays import Arrays
from jaxccp.io.bodies_layout import read_bodies
from jaxccp.io.delassus_layout import read_delassus
from jaxccp.io.named import NamedProblem
from jaxccp.io.system_layout import read_system, read_velocities

LAYOUTS = {
    "delassus": read_delassus,
    "bodies": read_bodies,
    "system": read_system,
    "velocities": read_velocities,
}
"""Functions that read a layout, by the value of the file's array ``layout``."""

COEFFICIENTS = ("E", "lo", "hi", "cohesion", "spinning", "rolling")
"""Arrays that change the solution, but that not every layout has."""


def read_problem(path: str | Path, dtype: DTypeLike | None = None) -> NamedProblem:
    """Read a contact problem from an npz file.

    Args:
        path: an npz file.
        dtype: dtype of the problem's arrays; None: JAX's default float.

    Raises:
        InputError: the file is missing, damaged, incomplete or describes no such problem, or an
            array of another layout would be without effect.
    """
    with Arrays(path) as arrays:
        layout = arrays.text("layout")
        if layout not in LAYOUTS:
            names = " or ".join(map(repr, LAYOUTS))
            raise arrays.fault("layout", f"{layout!r} is unknown", f"use {names}")
        problem = LAYOUTS[layout](arrays, jnp.zeros((), dtype).dtype)
        arrays.refuse_unread(f"{layout!r} problem", *COEFFICIENTS)
        return problem
