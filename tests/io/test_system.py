"""Check that matrices written to a folder are read back as the same problem, and are text for other
programs."""

from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import scipy.io

from jaxccp.ccp import BodyDelassus, Cones, CoupledDelassus
from jaxccp.dynamics import Descriptor
from jaxccp.io import InputError, read_problem, write_system
from tests.dynamics.descriptor.test_descriptor import dense, random_descriptor, with_coupling
from tests.io import problem_files as files


def descriptor(coupled: bool) -> Descriptor:
    """Return a system with an equality, a box row and three contacts."""
    case = random_descriptor(0, 2, 3)
    lo, hi = jnp.asarray([-jnp.inf, -0.5]), jnp.asarray([jnp.inf, 2.0])
    cones = Cones(lo, hi, jnp.asarray([0.2, 0.0, 1.5]), "pyramid")
    return replace(with_coupling(case, float(coupled)), cones=cones)


def read(folder: Path, name: str) -> np.ndarray:
    matrix = scipy.io.mmread(folder / f"{name}.mtx", spmatrix=False)
    return matrix if isinstance(matrix, np.ndarray) else np.asarray(matrix.todense())


@pytest.mark.parametrize("coupled", [False, True])
def test_round_trip(tmp_path: Path, coupled: bool) -> None:
    case = descriptor(coupled)
    item = read_problem(write_system(tmp_path / "new", case))
    z, d = dense(case)
    h, j, e = z[:18, :18], z[18:, :18], -z[18:, 18:]
    kind = CoupledDelassus if coupled else BodyDelassus
    assert isinstance(item.problem.delassus, kind)
    n, r = j @ np.linalg.solve(h, j.T) + e, j @ np.linalg.solve(h, d[:18]) - d[18:]
    np.testing.assert_allclose(jax.jit(lambda p: p.delassus.dense())(item.problem), n, atol=1e-12)
    np.testing.assert_allclose(item.problem.r, r, atol=1e-12)
    for field in ("lo", "hi", "mu"):
        value = getattr(item.problem.cones, field)
        np.testing.assert_array_equal(value, getattr(case.cones, field))
    assert item.problem.cones.cone_type == "pyramid"
    assert item.name == "system"


def test_text_is_what_other_programs_read(tmp_path: Path) -> None:
    write_system(tmp_path, descriptor(True))
    z, d = dense(descriptor(True))
    parts = {"Z": z, "H": z[:18, :18], "J": z[18:, :18], "E": -z[18:, 18:]}
    for name, matrix in parts.items():
        np.testing.assert_allclose(read(tmp_path, name), matrix, rtol=1e-15, atol=1e-15)
    for name, vector in {"rhs": d, "f": d[:18], "b": -d[18:]}.items():
        np.testing.assert_array_equal(read(tmp_path, name)[:, 0], vector)


FAULTS: dict[str, tuple[dict, str]] = {
    "heavy": ({"H_data": -1}, "H_data: is not positive definite"),
    "f": ({"f": np.zeros(5)}, "f: has 5 numbers; store six per body"),
    "lower": ({"lo": np.array([0.0, 3.0])}, "lo: 1 of 2 numbers are above hi, first at"),
    "nan": ({"hi": np.array([0.0, np.nan])}, "hi: 1 of 2 numbers are NaN or -inf, first at"),
    "friction": ({"friction": np.array("square")}, "friction: 'square' is unknown; use one of"),
    "cohesion": ({"cohesion": np.ones(3)}, "cohesion: is not zero, but no row of this 'system'"),
    "bodies": ({"f": np.zeros(12)}, "J_shape: is .* need"),
}


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("coupled", [False, True])
def test_what_is_wrong_is_said(tmp_path: Path, fault: str, coupled: bool) -> None:
    path = write_system(tmp_path, descriptor(coupled))
    change, message = FAULTS[fault]
    with np.load(path) as archive:
        fields = dict(archive)
    if fault == "heavy":
        change = {"H_data": -fields["H_data"]}
    with pytest.raises(InputError, match=message):
        read_problem(files.write(path, fields | change))
