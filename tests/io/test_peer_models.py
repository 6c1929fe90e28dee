"""Check that models of MuJoCo's own packages accelerate as in MuJoCo, where no difference is
listed."""

import numpy as np
import pytest

from jaxccp import load
from jaxccp.io import InputError
from tests.io.smooth_accelerations import smooth_accelerations
from tests.io.test_equalities import files

mujoco = pytest.importorskip("mujoco")
MOST = 60
"""Number of degrees of freedom of the largest model that is compared."""


@pytest.mark.long
@pytest.mark.parametrize("path", files(), ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_accelerations_are_mujocos(path):
    try:
        loaded = load(path)
    except InputError as error:
        pytest.skip(f"is refused: {error}")
    m = mujoco.MjModel.from_xml_path(str(path))
    if not 0 < m.nv <= MOST or m.neq or loaded.approximated:
        pytest.skip("has equality constraints, differs as listed, or is too large")
    data, random = mujoco.MjData(m), np.random.default_rng(0)
    data.qvel = 0.1 * random.standard_normal(m.nv)
    data.ctrl = random.uniform(-0.5, 0.5, m.nu)
    mujoco.mj_forward(m, data)
    qacc = smooth_accelerations(loaded)(data.qpos, data.qvel, data.ctrl)
    largest = max(1.0, np.abs(data.qacc_smooth).max())
    np.testing.assert_allclose(qacc, data.qacc_smooth, rtol=0, atol=1e-6 * largest)
