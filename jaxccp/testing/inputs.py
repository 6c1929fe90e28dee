"""Inputs of a motion, by name: the numbers whose derivatives are checked.

An input is a vector of changes, zero at the motion as it is. Each entry is measured in a unit that
is natural for it (a length in the size of its body, a mass in itself), so that one sequence of step
lengths suits all.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Array, Float

from jaxccp.content import ByContent
from jaxccp.model import SHAPES
from jaxccp.names import unknown
from jaxccp.testing import input_kinds as kinds
from jaxccp.testing.input_kinds import Numbers
from jaxccp.testing.input_tables import Table
from jaxccp.testing.setup import Setup


@dataclass(frozen=True, eq=False)
class Input(ByContent):
    """Numbers of one kind that a motion depends on; static."""

    name: str
    """Name of the input."""
    count: int
    """Number of its entries."""
    entries: np.ndarray
    """Indices of the model's numbers; empty where these are all of a kind."""
    group: np.ndarray
    """Entry that changes each of these numbers."""

    def apply(self, setup: Setup, x: Float[Array, " k"]) -> Setup:
        """Return the setup with changes ``x``, in SI units or relative."""
        return INPUTS[self.name].apply(setup, self.entries, x[self.group])


@dataclass(frozen=True)
class Inputs:
    """The inputs of a motion side by side."""

    parts: tuple[Input, ...]
    """The inputs."""
    labels: tuple[tuple[str, ...], ...]
    """Labels of the entries of each input."""
    unit: np.ndarray = field(repr=False)
    """A natural change of each of the p entries, in SI units; 1 where changes are relative."""


def inputs_of(setup: Setup, names: str | tuple[str, ...] | None = None) -> Inputs:
    """Return the inputs of a setup, all of them or those of ``names``.

    Args:
        setup: the setup.
        names: names of :data:`INPUTS`, or a single one; None: all.

    Raises:
        ValueError: ``names`` is empty, or a name is none of :data:`INPUTS`, or not in the setup.
    """
    names = (names,) if isinstance(names, str) else names
    if names is not None and not names:
        raise ValueError("inputs is empty: name some, or give None for all")
    for name in names or ():
        if name not in INPUTS:
            raise ValueError(unknown(name, INPUTS))
    parts, labelled, units = [], [], [np.zeros(0)]
    for name, kind in INPUTS.items():
        if names is not None and name not in names:
            continue
        labels, unit, entries, group = kind.find(setup)
        if len(labels):
            parts.append(Input(name, len(labels), entries, group))
            labelled.append(labels)
            units.append(unit)
        elif names is not None:
            raise ValueError(
                f"inputs: the model has no {name}, or all are 0 or infinite: leave {name!r} out"
            )
    return Inputs(tuple(parts), tuple(labelled), np.concatenate(units))


@dataclass(frozen=True)
class Kind:
    """Functions that find the numbers of an input, and that change them."""

    find: Callable[[Setup], Numbers]
    """Finds the numbers of a setup."""
    apply: Callable[[Setup, np.ndarray, Array], Setup]
    """Changes them."""


def _table(part: str, number: str, **how) -> Kind:
    table = Table(part, number, **how)
    return Kind(table.find, table.apply)


_SCALED = ("convex", "height_field")
_SOLID = tuple(kind for kind in SHAPES if kind not in _SCALED)

INPUTS: dict[str, Kind] = {
    "pose": Kind(kinds.pose_entries, kinds.change_pose),
    "velocity": Kind(kinds.velocity_entries, kinds.change_velocity),
    "activation": Kind(kinds.activation_entries, kinds.change_activation),
    "control": Kind(kinds.control_entries, kinds.change_control),
    "force": Kind(kinds.force_entries, kinds.change_force),
    "mass": Kind(kinds.mass_entries, kinds.change_mass),
    "centre_of_mass": Kind(kinds.centre_entries, kinds.change_centre),
    "inertia": Kind(kinds.inertia_entries, kinds.change_inertia),
    "friction": _table("shapes", "friction", together=True),
    "impact_friction": _table("shapes", "impact_friction", together=True),
    "pair_friction": _table("shapes", "pair_friction", together=True),
    "rolling": _table("shapes", "rolling", together=True),
    "restitution": _table("shapes", "restitution", together=True),
    "compliance": _table("shapes", "compliance", together=True),
    "contact_damping": _table("shapes", "damping", together=True),
    "young_modulus": _table("smooth", "young_modulus", together=True),
    "poisson_ratio": _table("smooth", "poisson_ratio", together=True),
    "contact_coefficients": _table("smooth", "coefficients", together=True),
    "adhesion": _table("smooth", "adhesion", together=True),
    "size": _table("shapes", "size", shapes=_SOLID),
    "radius": _table("shapes", "radius"),
    "mesh_scale": _table("shapes", "size", shapes=_SCALED),
    "anchors": Kind(kinds.anchor_entries, kinds.change_anchor),
    "stiffness": _table("axes", "stiffness"),
    "damping": _table("axes", "damping"),
    "rest": _table("axes", "rest"),
    "armature": _table("axes", "armature"),
    "damping_polynomial": _table("axes", "damping_polynomial"),
    "power_damping": _table("axes", "power_damping"),
    "damping_power": _table("axes", "damping_power", of="power_damping"),
    "dry_friction": _table("axes", "friction"),
    "stribeck_friction": _table("axes", "stribeck_friction"),
    "stribeck_velocity": _table("axes", "stribeck_velocity", of="stribeck_friction"),
    "lower_limit": _table("axes", "lower"),
    "upper_limit": _table("axes", "upper"),
    "gain": _table("actuators", "gain"),
    "actuator_offset": _table("actuators", "offset"),
    "servo_stiffness": _table("actuators", "stiffness"),
    "servo_damping": _table("actuators", "damping"),
    "gear": _table("actuators", "gear"),
    "time_constant": _table("activations", "time_constant"),
    "gravity": Kind(kinds.gravity_entries, kinds.change_gravity),
    "step": Kind(kinds.step_entries, kinds.change_step),
}
"""Every input by name. Coefficients of surfaces that are equal change together: the smaller of two
equal ones has a kink. Numbers that are 0 or infinite are no inputs: what they stand for is not
there."""


def change_inputs(setup: Setup, parts: tuple[Input, ...], x: Float[Array, " p"]) -> Setup:
    """Return the setup with several inputs changed.

    Args:
        setup: the setup.
        parts: the inputs.
        x: changes of all their entries, in SI units or relative.
    """
    at = 0
    for part in parts:
        setup = part.apply(setup, x[at : at + part.count])
        at += part.count
    return setup
