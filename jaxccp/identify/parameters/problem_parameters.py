"""Parameters of a problem: defaults for a path alone, and one vector for several cases."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from jaxccp.identify.case import Case
from jaxccp.identify.parameters.parameter import Parameter, ParameterSet, Scalar
from jaxccp.identify.recordings.recording import Recording

POSITIVE = """damping friction armature stiffness mass compliance restitution rolling radius size
impact_friction stribeck_friction damping_polynomial power_damping"""
"""Leaves of the model that cannot be negative."""
ABOVE_ZERO = "stribeck_velocity damping_power time_constant"
"""Leaves of the model that must be greater than 0."""
RECOVERY = "contact.recovery_speed"
"""Path of the largest speed at which penetration is removed [m/s]."""
SMALLEST = 1e-6
"""Lower bound of numbers that must be greater than 0, in their units."""


def parameter_of(parameter: Parameter | str) -> Parameter:
    """Return a parameter; from a path, one with the model's value and, if it cannot be negative,
    the lower bound 0, or :data:`SMALLEST` if it cannot be 0 either."""
    return (
        Parameter(parameter, lower=_lower_bound(parameter))
        if isinstance(parameter, str)
        else parameter
    )


def _lower_bound(path: str) -> float:
    """Return the lower bound of a number, by the name of its leaf; −∞ if it may be negative."""
    leaf = path.rsplit(".", 1)[-1].split("[")[0]
    if leaf in ABOVE_ZERO.split():
        return SMALLEST
    return 0.0 if leaf in POSITIVE.split() else -np.inf


def inertial_of(name: str = "*", prior: float | None = 0.3) -> Parameter:
    """Return the parameter for the ten inertial numbers of bodies with this name (``*``: of all
    bodies that are not fixed).

    Args:
        name: name of a body; ``*`` and ``?`` are wildcards.
        prior: standard deviation of each of the ten numbers about the nominal body: 0.3 lets a mass
            change by about 60 %, and a centre of mass by 0.3 of the body's root-mean-square extent.
            None: no prior.
    """
    return Parameter(f'bodies["{name}"].inertial', prior=prior)


def check_recording_names(cases: Sequence[Case]) -> None:
    """Check that names tell recordings apart; several cases may have the same recording.

    Raises:
        ValueError: two recordings have the same name.
    """
    recordings: dict[str, Recording] = {}
    for case in cases:
        names = [recording.name for recording in case.recordings]
        for recording in case.recordings:
            same = _same(recordings.setdefault(recording.name, recording), recording)
            if not same or names.count(recording.name) > 1:
                raise ValueError(
                    "parameters of each recording its own (per_sequence) need recordings of "
                    f"different names, and several are called {recording.name!r}: name them, "
                    "recording(time, name, …), or rename their files; or give both cases the same "
                    "recording"
                )


def check_parameters_act(sets: Sequence[ParameterSet], cases: Sequence[Case]) -> None:
    """Check that comparisons do not set what is to be identified.

    Args:
        sets: parameters of each case.
        cases: the cases.

    Raises:
        ValueError: all have a recovery speed of their own, and that is a parameter.
    """
    speeds = [getattr(case.residual, "recovery_speed", None) for case in cases]
    if None not in speeds and any(
        RECOVERY in (leaf.path for leaf in found.leaves) for found in sets
    ):
        raise ValueError(
            f"{RECOVERY} has no effect: simulations of recordings set it to {speeds[0]:g} m/s. "
            "Give Simulate(recovery_speed=None) to identify it, or leave it out"
        )


def _same(first: Recording, second: Recording) -> bool:
    """Tell whether two recordings are of the same file or, where one has no file, have the same
    times and the same values of the channels that they have in common."""
    if first.source and second.source:
        return Path(first.source).resolve() == Path(second.source).resolve()
    common = first.index.keys() & second.index.keys()
    return first is second or (
        np.array_equal(first.time, second.time)
        and bool(common)
        and all(np.array_equal(first[c].values, second[c].values, equal_nan=True) for c in common)
    )


def combine_parameters(
    sets: Sequence[ParameterSet], cases: Sequence[Case]
) -> tuple[tuple[Scalar, ...], list[list[np.ndarray]]]:
    """Return the parameters of all cases, those of the same name once, and for each case and
    recording the indices of its parameters among them [p].

    Args:
        sets: parameters of each case.
        cases: the cases.
    """
    scalars: dict[str, Scalar] = {}
    index: list[list[np.ndarray]] = []
    for parameters, case in zip(sets, cases, strict=True):
        places = []
        for recording in case.recordings:
            row = []
            for scalar in parameters.scalars:
                name = f"{scalar.name} of {recording.name}" if scalar.per_sequence else scalar.name
                scalars.setdefault(name, replace(scalar, name=name))
                row.append(list(scalars).index(name))
            places.append(np.array(row))
        index.append(places)
    return tuple(scalars.values()), index
