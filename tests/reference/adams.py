"""Read ADAMS trajectories of one body on one joint, rebuild them in one model, and compare.

The records are described in ../shared/data/multibody/README.md. Their bodies stand side by side in
the model.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from jaxccp.dynamics import Stepper
from jaxccp.model import Model
from jaxccp.scene import ModelBuilder
from jaxccp.scene.frames import to_matrix
from tests.reference.runs import Samples, check_order, errors, extrapolated, rms, sampled

STATE = ("pos", "quat", "vel", "angvel")


class Case(dict):
    """One record: a dictionary of its arrays by the README's names."""

    def __init__(self, folder: Path, name: str) -> None:
        super().__init__(np.load(folder / "multibody" / "joints" / f"{name}.npz"))
        self.name = name

    def number(self, key: str) -> float:
        return float(self[key])

    def reference(self, key: str, count: int) -> np.ndarray:
        """Return the record from its second row on; every run starts at the first."""
        return self[key][1 : 1 + count]

    def add_body(self, builder: ModelBuilder) -> int:
        keys = ("inertia", "pos0", "quat0", "vel0", "angvel0")
        return builder.add_body(self.number("mass"), *(self[key] for key in keys), name=self.name)


@dataclass(frozen=True)
class Runs:
    """Runs of all cases of a file under one stepper, at several step lengths."""

    model: Model
    cases: dict[str, Case]
    samples: Samples
    count: int

    def of(self, name: str) -> dict[str, np.ndarray]:
        """Return the body's states, with quaternions of the same sign as the record's."""
        states = self.samples.body(self.model, name)
        side = np.sum(states["quat"] * self.cases[name].reference("quat", self.count), axis=-1)
        return {**states, "quat": states["quat"] * np.sign(side)[..., None]}

    @cached_property
    def reactions(self) -> dict[str, np.ndarray]:
        """Reaction of each joint on its second body [levels samples 6], by name."""
        names, values = self.model.topology.linkage.joints, self.samples.reactions
        return {name: np.asarray(values[:, :, j]) for j, name in enumerate(names)}

    @cached_property
    def tendon_forces(self) -> dict[str, np.ndarray]:
        """Force along each tendon [levels samples], by name."""
        names = self.model.topology.linkage.routing.tendons
        values = self.samples.tendon_forces
        return {name: np.asarray(values[:, :, j]) for j, name in enumerate(names)}

    def body_point(self, name: str, point: np.ndarray) -> np.ndarray:
        """Return world positions of a point that is given in body axes from the centre of mass."""
        states = self.of(name)
        return states["pos"] + rotated(states["quat"], point)

    def mechanical_energy(self, name: str) -> np.ndarray:
        """Return the energy of motion and gravity by the record's own numbers [levels samples]."""
        case, states = self.cases[name], self.of(name)
        local = np.einsum("...ji,...j->...i", rotations(states["quat"]), states["angvel"])
        spin = np.einsum("...i,ij,...j->...", local, case["inertia"], local)
        mass = case.number("mass")
        kinetic = 0.5 * (mass * np.sum(states["vel"] ** 2, axis=-1) + spin)
        return kinetic - mass * states["pos"] @ case["gravity"]


def run(
    folder: Path,
    names: Iterable[str],
    add: Callable[[ModelBuilder, Case, int], None],
    stepper: Stepper,
    h: float,
    seconds: float = 5.0,
) -> Runs:
    """Run the named cases in one model.

    Args:
        folder: folder of the shared data.
        names: names of the cases.
        add: function of the builder, a case and its body, which adds the body's joints and forces.
        stepper: the stepper.
        h: the longest step [s].
        seconds: duration of the run [s].
    """
    cases = {name: Case(folder, name) for name in names}
    gravity = next(iter(cases.values()))["gravity"]
    builder = ModelBuilder(gravity=gravity)
    for case in cases.values():
        assert np.array_equal(case["gravity"], gravity)
        add(builder, case, case.add_body(builder))
    model, state = builder.build()
    every, count = round(0.01 / h), round(seconds / 0.01)
    return Runs(model, cases, sampled(model, state, stepper, h, every, count), count)


def rotations(quaternions: np.ndarray) -> np.ndarray:
    flat = [to_matrix(q) for q in quaternions.reshape(-1, 4)]
    return np.reshape(flat, (*quaternions.shape[:-1], 3, 3))


def rotated(quaternions: np.ndarray, vector: np.ndarray) -> np.ndarray:
    return rotations(quaternions) @ vector


def check_states(runs: Runs, name: str, floor: float = 1e-6) -> None:
    """Check that states are of first order in h, and in the limit as near as the record is exact.

    Args:
        runs: runs at several step lengths.
        name: the case.
        floor: error that the extrapolation itself leaves, where the record is better than that.
    """
    case, states = runs.cases[name], runs.of(name)
    check_order(states["pos"])
    for key in STATE:
        left = rms(extrapolated(states[key]) - case.reference(key, runs.count))
        allowed = max(1.2 * case.number(f"ref_err_{key}"), floor)
        assert left < allowed, f"{key}: {left:.2g} for {allowed:.2g}"


def check_force(runs: Runs, name: str, values: np.ndarray, key: str, tol: str = "") -> None:
    """Check that an extrapolated reaction is within the record's tolerance.

    The step lengths by themselves must approach it.

    Args:
        runs: runs at several step lengths.
        name: the case.
        values: the reaction [levels samples 3].
        key: name of the reaction in the record.
        tol: name of the tolerance in the record, if it is not that of the reaction.
    """
    case = runs.cases[name]
    reference = case.reference(key, runs.count)
    allowed = max(case.number(tol or f"tol_{key}"), 1e-6)
    left = rms(extrapolated(values) - reference)
    assert left < allowed, f"{key}: {left:.2g} for {allowed:.2g}"
    by_step = errors(values, reference)
    assert by_step[-1] <= max(0.6 * by_step[0], allowed), f"{key}: {by_step}"


def check_energy(runs: Runs, name: str, energy: np.ndarray) -> None:
    """Check that energy is kept to the record's tolerance at the finest step, to first order in h.

    Args:
        runs: runs at several step lengths.
        name: the case.
        energy: the energy [levels samples].
    """
    change = [rms((level - level[0])[:, None]) for level in energy]
    assert change[-1] < runs.cases[name].number("tol_energy")
    assert change[-1] < 0.3 * change[0]
    limit = extrapolated(energy)
    assert rms((limit - limit[0])[:, None]) < 0.01 * runs.cases[name].number("tol_energy")
